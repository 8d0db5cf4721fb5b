"""Answers in panels: which share one, on which axis they stand, in rows or in a strip.

Up to some fifty answers of a question stand in rows; more stand side by side in their order.
"""

from collections.abc import Sequence

from dxprivacy.plots.channels import Spec, quantitative, span
from dxprivacy.plots.layers import heading, view, with_values, written
from dxprivacy.plots.style import WIDTH, clean
from dxprivacy.release.release import Row

PANELS = 8
_TALL = 200
ROWS = 52
STRIP = WIDTH - 20


def panels_of(answers: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Answers of one question together; questions for one number each share a panel if they share a unit."""
    questions: dict[str, list[Row]] = {}
    for row in answers:
        questions.setdefault(row.question, []).append(row)
    out: dict[tuple[str, str], list[Row]] = {}
    for name, rows in questions.items():
        key = (name, "") if len(rows) > 1 else ("", rows[0].unit)
        out.setdefault(key, []).extend(rows)
    return [(name, rows) for (name, _), rows in out.items()]


def number_channel(rows: Sequence[Row]) -> Spec:
    """Intervals along an axis, in the unit of the answers."""
    low, high = _domain(rows)
    unit = next((r.unit for r in rows if r.unit), "")
    axis = {"title": clean(unit) or None, "format": _number_format(low, high), "tickCount": 5}
    return quantitative(scale=span(low, high, zero=False), axis=axis)


def _domain(rows: Sequence[Row]) -> tuple[float, float]:
    """What the intervals need; with 0 unless they would be too narrow to see then."""
    low, high = min(min(r.low, r.value) for r in rows), max(max(r.high, r.value) for r in rows)
    widest = max(r.high - r.low for r in rows)
    if widest == 0 or widest > 0.04 * max(abs(low), abs(high)):
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return low - 1.0, high + 1.0
    room = 0.03 * (high - low)
    return low - room * (low != 0), high + room * (high != 0)


def _number_format(low: float, high: float) -> str:
    big = max(abs(low), abs(high))
    return "~s" if big >= 1e7 else "~e" if big < 1e-4 else ",~r"


def row_view(name: str, many: int, layers: Sequence[Spec]) -> Spec:
    """Answers below each other, each with its label at the left."""
    tall = (20 if many <= 24 else 17) * many
    return {**view(WIDTH - 80, tall, with_values(layers)), **heading(clean(name, 70))}


def strip_view(name: str, rows: Sequence[Row], layers: Sequence[Spec], data: Spec) -> Spec:
    """Answers side by side; the first, the middle and the last label stand under them.  `data` is what layers share."""
    places = ((0.0, "left", 0), (0.5, "center", len(rows) // 2), (1.0, "right", len(rows) - 1))
    ends = [
        written(clean(rows[k].label, 26), at * STRIP, _TALL + 8, align=side, baseline="top") for at, side, k in places
    ]
    title = clean(f"{name or 'answers'}: {len(rows):,} in order", 70)
    return {"width": STRIP, "height": _TALL, **data, "layer": [*layers, *ends], **heading(title)}
