"""A planned choice on the screen: how far from the best it may be, before anything is spent, and the pair to blame."""

import math

from dxprivacy.mechanisms.selection.plan import Choice
from dxprivacy.mechanisms.uninformative import choice_warning
from dxprivacy.output.text.plan_text import pair_words, share_words, warning_lines
from dxprivacy.wording import columns, digits, percent, short, short_pair, tag, times, wrap

_SHOWN = 3
_WIDTH = 60
_NEVER = "the score itself is never shown"


def choice_lines(choice: Choice, *, in_ledger: bool = False) -> list[str]:
    """Candidates, how good the choice will be, and what it would use."""
    name = tag("bold", f"Choice {choice.name}")
    share = percent(float(choice.share))
    head = f"{name} · {choice.pick} · {share} of the policy · {tag('good', 'nothing spent, no data read')}"
    table = columns(choice_rows(choice, in_ledger=in_ledger), "lrl")
    lines = [*warning_lines(choice_warning(choice)), head, "", *table, ""]
    lines += [tag("dim", line) for line in wrap(f"certified for every pair, exact arithmetic; {_NEVER}", 96)]
    return lines


def choice_rows(choice: Choice, *, in_ledger: bool = False) -> list[list[str]]:
    """What is known of it: name, number, what that means."""
    share = percent(float(choice.share))
    count = len(choice.candidates)
    rows = [
        ["candidates", tag("bold", f"{count:,}"), short(_some(choice.candidates.labels), _WIDTH)],
        ["short of the best by", tag("accent", _at_most(choice)), f"{choice.candidates.measure}, 95 % of the time"],
        ["chosen by", choice_mechanism(choice), f"score scale {digits(choice.scale * float(choice.candidates.unit))}"],
    ]
    if math.isfinite(choice.gain):
        near = choice.plain
        part = float(choice.share) * choice.metric.universe.rows_each
        epsilon = f", ε {digits(near.distance * part)}" if near else ""
        rows.append(
            [
                "standard DP",
                times(choice.gain),
                f"the score scale{epsilon}: the closest pair it tells",
            ]
        )
    worst = "no limit" if math.isinf(choice.worst_epsilon) else f"ε {digits(choice.worst_epsilon)}"
    same = (
        "" if math.isinf(choice.worst_epsilon) or not choice.scale else ", where standard DP has the same score scale"
    )
    rows.append(["worst case", tag("bold", worst), f"in standard-DP terms{same}"])
    pair = short_pair(pair_words(choice.metric, choice.certificate.witness), _WIDTH)
    if choice.certificate.witness is not None:
        rows.append(["limited by", percent(float(choice.certificate.ratio)), f"of what {pair} may show"])
    rows.append(["budget", share, share_words(choice.share, in_ledger=in_ledger)])
    return rows


def choice_mechanism(choice: Choice) -> str:
    """Its name."""
    if choice.scale == 0:
        return "the best, exactly"
    return "permute-and-flip" if choice.flip else "exponential"


def _at_most(choice: Choice) -> str:
    return "nothing" if choice.scale == 0 else f"at most {digits(choice.shortfall())}"


def _some(labels: tuple[str, ...]) -> str:
    """The first few and the last.

    >>> _some(("a", "b", "c", "d", "e")), _some(("M", "F"))
    ('a, b, c, …, e', 'M, F')
    """
    if len(labels) <= _SHOWN + 1:
        return ", ".join(labels)
    return f"{', '.join(labels[:_SHOWN])}, …, {labels[-1]}"
