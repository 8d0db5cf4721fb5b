"""A planned small database on the screen."""

from dxprivacy.mechanisms.smalldb.plan import SmallDbPlan
from dxprivacy.wording import columns, digits, percent, plural, tag, wrap


def smalldb_lines(plan: SmallDbPlan) -> list[str]:
    """Its size, how it is drawn, and how wrong its answers may be."""
    head = f"{tag('bold', f'Small database {plan.name}')} · {tag('good', 'nothing spent, no data read')}"
    relative = plan.relative_bound / plan.records
    rows = [
        ["records", tag("bold", f"{plan.size:,}"), f"standing for {plan.records:,}"],
        ["candidates", plan.route.candidates, f"chosen exactly, by {plan.route.name}"],
        ["largest error", tag("accent", f"at most {digits(float(plan.bounds.max()))}"), _probability(plan)],
        ["", percent(relative), "of the largest possible one"],
        ["uses", percent(float(plan.certificate.ratio)), "of the policy on its most used pair"],
    ]
    remarks = [plan.rows.words]
    if plan.free:
        remarks.append("nothing depends on the data: it is not read, and nothing is spent")
    elif plan.says_nothing:
        remarks.append("the bound says nothing here: more records, fewer questions, or another method")
    if plan.route.name == "rejection":
        remarks.append("its time depends on the data: keep it to yourself")
    return [head, "", *columns(rows, "lrl"), "", *(tag("dim", line) for note in remarks for line in wrap(note, 96))]


def _probability(plan: SmallDbPlan) -> str:
    return f"over {plural(plan.workload.rows, 'answer')} together, {percent(1 - plan.beta)} of the time"
