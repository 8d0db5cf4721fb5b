"""Panels of answers: which answers share a panel, their axis, and their layout in rows or in a strip.

Up to `ROWS` answers of a query are drawn in rows. More are drawn side by side in their order (a strip), with a label
under every few of them.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dxprivacy.output.charts.chart_style import (
    INK,
    PALE,
    WIDTH,
    Spec,
    clean,
    distinct,
    itself,
    nominal,
    pointed_at,
    quantitative,
    span,
)
from dxprivacy.output.charts.layers import heading, layer, mark, view, with_values
from dxprivacy.output.charts.shades import SHADES
from dxprivacy.output.text.release_text import number
from dxprivacy.releases.answer_tables import AnswerTable, Crosstab, tables_of
from dxprivacy.releases.release import TOO_FEW, Row

PANELS = 8
_TALL = 200
ROWS = 52
STRIP = WIDTH - 20
_LABELED = 16  # largest number of labels under a strip
_TURNED = 14  # width of a vertical label in pixels
_PER_CHARACTER = 6.0


@dataclass(frozen=True)
class AnswerPanel:
    """Answers on one axis: a table of a query, or several queries for one number each."""

    name: str
    labels: tuple[str, ...]
    rows: tuple[Row, ...]
    table: AnswerTable[Row] | None = None


def panels_of(answers: Sequence[Row]) -> list[AnswerPanel]:
    """Return a panel for each table; queries for one number share one if unit and order of magnitude agree."""
    out: dict[tuple[int, str], AnswerPanel] = {}
    tables = tables_of(answers)
    of_query = Counter(table.query for table in tables)
    for k, table in enumerate(tables):
        if table.lone:
            key = (-1 - _size(table.answers[0]), table.answers[0].unit)
            before = out.get(key, AnswerPanel("", (), ()))
            out[key] = AnswerPanel("", (*before.labels, *table.labels), (*before.rows, *table.answers))
            continue
        name = table.query if of_query[table.query] == 1 else table.title
        out[k, ""] = AnswerPanel(name, table.labels, table.answers, table)
    return list(out.values())


def _size(row: Row) -> int:
    """Return the order of magnitude in powers of 100: an interval of a proportion is invisible next to thousands."""
    largest = max(abs(row.low), abs(row.high), abs(row.value))
    return max(math.floor(math.log10(largest)) // 2, -1) + 1 if 0 < largest < math.inf else 0


def number_channel(rows: Sequence[Row]) -> Spec:
    """Return a channel for intervals, in the unit of the answers."""
    low, high = _domain(rows)
    unit = next((r.unit for r in rows if r.unit), "")
    axis = {"title": clean(unit) or None, "format": _number_format(low, high), "tickCount": 5}
    return quantitative(scale=span(low, high, zero=False), axis=axis)


def _domain(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the domain of the intervals; it includes 0 unless the intervals would be too narrow to see."""
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
    """Return a panel of answers below each other, with labels on the left."""
    tall = (20 if many <= 24 else 17) * many
    return {**view(WIDTH - 80, tall, with_values(layers)), **heading(clean(name, 70))}


def strip_view(name: str, labels: Sequence[str], layers: Sequence[Spec], data: Spec) -> Spec:
    """Return a panel of answers side by side, with a label under every few of them.

    `data` is shared by the layers.  Labels are vertical if horizontal ones would overlap.
    """
    many = len(labels)
    longest = max(map(len, (clean(label, 26) for label in labels)), default=0) * _PER_CHARACTER
    flat = int(STRIP // (longest + 12))
    few = flat >= 5  # five horizontal labels are enough for orientation
    step = -(-many // max(min(_LABELED, flat if few else STRIP // _TURNED), 1))
    ticks = [{"x": (k + 0.5) / many * STRIP, "t": clean(labels[k], 26)} for k in range(0, many, step)]
    turned = {} if few else {"angle": -90, "align": "right", "baseline": "middle"}
    x = quantitative("x", scale=span(0, STRIP), axis=None)
    under = {"align": "center", "baseline": "top", "color": INK, **turned}
    words = layer(ticks, mark("text", **under), x=x, y={"value": _TALL + 8}, text={"field": "t", "type": "nominal"})
    marks = layer(ticks, mark("rule", color=INK, strokeWidth=0.8), x=x, y={"value": _TALL}, y2={"value": _TALL + 4})
    title = clean(f"{name}: {many:,} in order" if name else f"{many:,} answers in order", 70)
    scales = {"resolve": {"scale": {"x": "independent"}}}  # labels are placed in pixels, marks by their index
    return {"width": STRIP, "height": _TALL, **data, "layer": [*layers, marks, words], **scales, **heading(title)}


# -- A two-way table of released answers as a heat map with numbers; darker for larger answers -------------------------


ACROSS, DOWN = 24, 40
_ANSWER_HEAT_PER_CHARACTER = 6.2
_ANSWER_HEAT_TALL = 24
_LIGHT_FIRST = SHADES[::-1]


def heat_of(panel: AnswerPanel) -> Crosstab[Row] | None:
    """Return the two-way table of a panel if it fits into a picture, with the longer direction down; otherwise None."""
    crosstab = None if panel.table is None else panel.table.crosstab
    if crosstab is None:
        return None
    if len(crosstab.across) > max(len(crosstab.down), 12):
        crosstab = crosstab.turned
    return crosstab if len(crosstab.across) <= ACROSS and len(crosstab.down) <= DOWN else None


def classes(rows: Sequence[Row]) -> list[int | None]:
    """Return the shade of each answer, counted from the lightest; None if there are too few records to say."""
    known = [row.value for row in rows if not row.vague]
    low, high = min(known, default=0.0), max(known, default=0.0)
    step = (high - low) / len(_LIGHT_FIRST) or 1.0
    last = len(_LIGHT_FIRST) - 1
    return [None if row.vague else min(int((row.value - low) / step), last) for row in rows]


def heat_view(name: str, crosstab: Crosstab[Row]) -> Spec:
    """Draw one panel: groups down and across, with a number in each field."""
    rows = [row for line in crosstab.cells for row in line]
    down, across = (distinct(clean(text, 24) for text in texts) for texts in (crosstab.down, crosstab.across))
    said = [TOO_FEW if row.vague else number(row.value, row.low, row.high) for row in rows]
    widest = max([len(text) for text in ["0" * 5, *(s for s in said if s != TOO_FEW), *across]])
    wide = min(max(widest * _ANSWER_HEAT_PER_CHARACTER + 8, 30), WIDTH / len(across) if len(across) <= 12 else 60)
    values = []
    for k, (row, shade) in enumerate(zip(rows, classes(rows), strict=True)):
        dark = shade is not None and _LIGHT_FIRST[shade] in SHADES[:3]
        values.append(
            {
                "a": across[k % len(across)],
                "b": down[k // len(across)],
                "v": row.value,
                "lo": row.low,
                "hi": row.high,
                "t": "–" if row.vague else said[k],
                "c": "white" if shade is None else _LIGHT_FIRST[shade],
                "i": "white" if dark else INK,
            }
        )
    axis = {"title": None, "grid": False}
    flat = {"labelAngle": 0} if max(map(len, across)) * _ANSWER_HEAT_PER_CHARACTER <= wide + 2 else {"labelAngle": -90}
    square = {
        "x": nominal("a", sort=list(across), scale={"domain": list(across)}, axis={**axis, "orient": "top", **flat}),
        "y": nominal("b", sort=list(down), scale={"domain": list(down)}, axis=axis),
    }
    tooltip = pointed_at("b", "a", "v", "lo", "hi")
    layers = [
        layer(values, mark("rect", stroke=PALE, strokeWidth=0.6), **square, fill=itself("c"), tooltip=tooltip),
        layer(values, mark("text", baseline="middle", fontSize=10), **square, text=nominal("t"), color=itself("i")),
    ]
    return {**heading(clean(name, 70), 10), **view(wide * len(across), _ANSWER_HEAT_TALL * len(down), layers)}
