"""Whether something tells more than a guess, in words: warnings that a person reads before anything is spent."""

from collections.abc import Sequence

from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.mechanisms.linear.planning.guesses import errors_with, guesses, no_better, useless_questions
from dxprivacy.mechanisms.linear.planning.noisy_maps import poor_maps
from dxprivacy.mechanisms.selection.chance_of_best import chance_of_the_best
from dxprivacy.mechanisms.selection.selection_facts import ChoiceFacts
from dxprivacy.releases.answer_names import names
from dxprivacy.universe.blocks import Blurred
from dxprivacy.wording import digits, plural, short

_WORDS = 60


def plan_warning(plan: PlanFacts, records: int | None = None) -> tuple[str, bool]:
    """In words what is no better than a guess, nothing where all is; and whether a whole question is."""
    useless = no_better(plan, records)
    whole = useless_questions(plan, useless)
    answers = plan.workload.answers
    useless = [k for k in useless if answers[k].question in whole or not _in_map(plan, k)]
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
        return f"no better than a guess: {which} {figures([worst])}", False
    titles = plan.workload.titles
    told = [
        f"{short(titles[q], _WORDS)} {figures([k for k in useless if answers[k].question == q])}" for q in whole[:2]
    ]
    more = [f"{len(whole) - 2} more"] if len(whole) > 2 else []
    return f"no better than a guess: {'; '.join([*told, *more])}", True


def _in_map(plan: PlanFacts, answer: int) -> bool:
    """Most cells of a map hold next to nobody, and are drawn as such."""
    row = plan.workload.answers[answer].rows[0]
    return isinstance(plan.workload.blocks[int(plan.workload.block_of[row])], Blurred)


def map_warnings(plan: PlanFacts) -> list[str]:
    """In words which maps are mostly noise at the width asked for, with the width to write instead."""
    out = []
    for poor in poor_maps(plan):
        guessed = "" if plan.records else " (--rows N says how many there are)"
        what = f"write “{poor.instead}”"
        if poor.instead is None:
            what = "no width helps: it takes more records, a larger --share or a larger ε"
        many = f"at most {poor.clear:,}" if poor.clear else "none"
        out.append(
            f"mostly noise: {short(str(poor.question), _WORDS)}: ± {digits(poor.half_width)} a cell, and with "
            f"{poor.records:,} records{guessed} {many} of {plural(poor.cells, 'cell')} can hold enough to stand out of "
            f"it; {what}"
        )
    return out


def choice_warning(choice: ChoiceFacts, records: int | None = None) -> str:
    """In words that a choice is no better than a guess; nothing where it is, or where nobody knows."""
    known = choice.records if records is None else records
    if known is None:
        return ""
    most = choice.candidates.largest(known) * float(choice.candidates.unit)
    if choice.shortfall() <= most:
        return ""
    return (
        f"no better than a guess: short of the best by up to {digits(choice.shortfall())}, and no candidate can be by "
        f"more than {digits(most)}; if all {known:,} records spoke for one of {len(choice.candidates):,}, it would be "
        f"chosen with probability {digits(chance_of_the_best(choice, known))}"
    )
