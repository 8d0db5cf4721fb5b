"""Warnings about uninformative answers, for readers before anything is spent."""

from collections.abc import Sequence

from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.mechanisms.linear.planning.budget_remedies import errors_with, guesses, no_better, useless_queries
from dxprivacy.mechanisms.linear.planning.smoothing_widths import poor_maps
from dxprivacy.mechanisms.selection.selection_facts import SelectionFacts, chance_of_the_best
from dxprivacy.releases.answer_tables import names
from dxprivacy.universe.blocks import Blurred
from dxprivacy.wording import digits, plural, short

_WORDS = 60


def plan_warning(plan: PlanFacts, records: int | None = None) -> tuple[str, bool]:
    """Return a warning about uninformative answers (empty if there are none), and whether a whole query is
    uninformative.
    """
    useless = no_better(plan, records)
    whole = useless_queries(plan, useless)
    answers = plan.workload.answers
    useless = [k for k in useless if answers[k].query in whole or not _in_map(plan, k)]
    if not useless:
        return "", False
    known = plan.records if records is None else records
    guess, errors = guesses(plan.workload, known), errors_with(plan, known)

    def figures(members: Sequence[int]) -> str:
        worst = max(members, key=lambda k: errors[k].half_width)
        unit = f" {answers[worst].unit}" if answers[worst].unit else ""
        reach = digits(errors[worst].half_width)
        return f"(± {reach}{unit} where a constant errs by at most {digits(guess[worst])}{unit})"

    if not whole:
        worst = max(useless, key=lambda k: errors[k].half_width)
        which = f"{len(useless):,} of {plural(len(answers), 'answer')}, such as {short(names(answers)[worst], _WORDS)}"
        return f"uninformative: {which} {figures([worst])}", False
    titles = plan.workload.titles
    told = [f"{short(titles[q], _WORDS)} {figures([k for k in useless if answers[k].query == q])}" for q in whole[:2]]
    more = [f"{len(whole) - 2} more"] if len(whole) > 2 else []
    return f"uninformative: {'; '.join([*told, *more])}", True


def _in_map(plan: PlanFacts, answer: int) -> bool:
    """Whether an answer belongs to a map; most grid cells of a map hold almost no records, and are drawn as such."""
    row = plan.workload.answers[answer].rows[0]
    return isinstance(plan.workload.blocks[int(plan.workload.block_of[row])], Blurred)


def map_warnings(plan: PlanFacts) -> list[str]:
    """Return warnings about maps that are uninformative at their width, with the width to write instead."""
    out = []
    for poor in poor_maps(plan):
        guessed = "" if plan.records else " (--n-records N says how many there are)"
        what = f"write “{poor.instead}”"
        if poor.instead is None:
            what = "no width helps: it takes more records, a larger --budget or a larger ε"
        many = f"at most {poor.clear:,}" if poor.clear else "none"
        out.append(
            f"uninformative map: {short(str(poor.query), _WORDS)}: ± {digits(poor.half_width)} a grid cell, and with "
            f"{poor.records:,} records{guessed} {many} of {plural(poor.cells, 'grid cell')} can hold enough to stand "
            f"out of it; {what}"
        )
    return out


def selection_warning(selection: SelectionFacts, records: int | None = None) -> str:
    """Return a warning if a selection is uninformative; empty if not, or if the number of records is not known."""
    known = selection.records if records is None else records
    if known is None:
        return ""
    most = selection.candidates.largest(known) * float(selection.candidates.unit)
    if selection.shortfall() <= most:
        return ""
    return (
        f"uninformative: short of the best by up to {digits(selection.shortfall())}, and no candidate can be "
        f"by more than {digits(most)}; if all {known:,} records spoke for one of {len(selection.candidates):,}, it "
        f"would be chosen with probability {digits(chance_of_the_best(selection, known))}"
    )
