"""What a reader of a plan or a release must know besides the numbers; from public facts only."""

from dxprivacy.model.attributes import Integers
from dxprivacy.model.binding import resolve
from dxprivacy.model.numbers import number_text
from dxprivacy.model.questions import Question
from dxprivacy.model.workload import Ratio
from dxprivacy.planning.expected import groups_per_question
from dxprivacy.planning.plan import Plan


def notes(plan: Plan) -> list[str]:
    """Sentences, none twice."""
    found: dict[str, None] = {}
    for asked in plan.questions.questions:
        if isinstance(asked, Question) and asked.ask in ("sum", "mean"):
            found |= dict.fromkeys(_imputed(plan, asked))
    groups = groups_per_question(plan.workload)
    sizes = {groups[a.question] for a in plan.workload.answers if isinstance(a.recipe, Ratio)}
    if sizes and plan.rows:
        size = plan.rows // max(sizes)
        found[
            f"means by group or condition: errors are for groups of {size:,} records, whose sizes are private; half as "
            "many records mean twice the error"
        ] = None
    return list(found)


def _imputed(plan: Plan, asked: Question) -> list[str]:
    """How missing numbers count, unless a condition leaves them out."""
    ref = resolve(asked.of, plan.metric.universe)
    attribute = ref.attribute
    conditioned = any(resolve(name, plan.metric.universe).axis == ref.axis for name, _ in asked.where)
    grouped = any(
        resolve(spec.partition("/")[0].partition("[")[0], plan.metric.universe).axis == ref.axis for spec in asked.by
    )
    if not attribute.has_other or conditioned or grouped or ref.numbers is None:
        return []
    value = number_text(attribute.values_in_sums(ref.numbers)[-1])
    text = f"a missing or invalid {attribute.name} counts as {value} {ref.unit}".rstrip() + " in sums and means"
    if isinstance(attribute, Integers):
        text += (
            f"; for valid ones only: {asked.ask} {asked.of} where {attribute.name}={attribute.low}..{attribute.high}"
        )
    return [text]
