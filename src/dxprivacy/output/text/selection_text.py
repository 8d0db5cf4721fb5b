"""Selections in the terminal: how far from the best they may be, and the pair that determines the noise."""

import math

from dxprivacy.mechanisms.selection.plan import Selection
from dxprivacy.mechanisms.selection.selection_release import SelectionRelease
from dxprivacy.mechanisms.uninformative import selection_warning
from dxprivacy.output.text.plan_text import budget_words, pair_words, warning_lines
from dxprivacy.wording import columns, digits, percent, short, short_pair, tag, times, wrap

# -- A released selection ----------------------------------------------------------------------------------------------


def selection_release_lines(release: SelectionRelease) -> list[str]:
    """Return the selected candidate, how far from the best it may be, and the guarantee."""
    lines = columns([[release.title, tag("accent", release.chosen), tag("dim", how_far(release))]], "lll")
    lines += ["", tag("bold", "Guarantee")]
    for k, sentence in enumerate(release.guarantee, 1):
        lines += [f"  {line}" for line in wrap(f"{k}. {sentence}", 94, "   ")]
    return lines


def how_far(release: SelectionRelease) -> str:
    """Return how far the selected candidate may be from the best, as text."""
    off = float(release.facts["short_by_at_most_95"])
    return f"at most {digits(off)} {release.facts['short_in']}, 95 % of the time" if off else "the best, exactly"


# -- A planned selection -----------------------------------------------------------------------------------------------


_SHOWN = 3
_WIDTH = 60
_NEVER = "the score itself is never shown"


def selection_lines(selection: Selection, *, in_ledger: bool = False) -> list[str]:
    """Return the lines of a planned selection."""
    name = tag("bold", f"Selection {selection.name}")
    budget = percent(float(selection.budget))
    head = f"{name} · {selection.pick} · {budget} of the policy · {tag('good', 'nothing spent, no data read')}"
    table = columns(selection_rows(selection, in_ledger=in_ledger), "lrl")
    lines = [*warning_lines(selection_warning(selection)), head, "", *table, ""]
    lines += [tag("dim", line) for line in wrap(f"certified for every pair, exact arithmetic; {_NEVER}", 96)]
    return lines


def selection_rows(selection: Selection, *, in_ledger: bool = False) -> list[list[str]]:
    """Return rows of (name, value, explanation)."""
    budget = percent(float(selection.budget))
    count = len(selection.candidates)
    rows = [
        ["candidates", tag("bold", f"{count:,}"), short(_some(selection.candidates.labels), _WIDTH)],
        [
            "short of the best by",
            tag("accent", _at_most(selection)),
            f"{selection.candidates.measure}, 95 % of the time",
        ],
        [
            "chosen by",
            selection_mechanism(selection),
            f"score scale {digits(selection.scale * float(selection.candidates.unit))}",
        ],
    ]
    if math.isfinite(selection.gain):
        near = selection.plain
        part = float(selection.budget) * selection.metric.universe.rows_each
        epsilon = f", ε {digits(near.distance * part)}" if near else ""
        rows.append(
            [
                "standard DP",
                times(selection.gain),
                f"the score scale{epsilon}: the closest pair that it separates",
            ]
        )
    worst = "no limit" if math.isinf(selection.worst_epsilon) else f"ε {digits(selection.worst_epsilon)}"
    same = (
        ""
        if math.isinf(selection.worst_epsilon) or not selection.scale
        else ", where standard DP has the same score scale"
    )
    rows.append(["worst case", tag("bold", worst), f"in standard-DP terms{same}"])
    pair = short_pair(pair_words(selection.metric, selection.certificate.witness), _WIDTH)
    if selection.certificate.witness is not None:
        rows.append(["limited by", percent(float(selection.certificate.ratio)), f"of the ε of {pair}"])
    rows.append(["budget", budget, budget_words(selection.budget, in_ledger=in_ledger)])
    return rows


def selection_mechanism(selection: Selection) -> str:
    """Return the name of the mechanism."""
    if selection.scale == 0:
        return "the best, exactly"
    return "permute-and-flip" if selection.flip else "exponential"


def _at_most(selection: Selection) -> str:
    return "nothing" if selection.scale == 0 else f"at most {digits(selection.shortfall())}"


def _some(labels: tuple[str, ...]) -> str:
    """Return the first few labels and the last.

    >>> _some(("a", "b", "c", "d", "e")), _some(("M", "F"))
    ('a, b, c, …, e', 'M, F')
    """
    if len(labels) <= _SHOWN + 1:
        return ", ".join(labels)
    return f"{', '.join(labels[:_SHOWN])}, …, {labels[-1]}"
