"""Answers in panels: which share one, on which axis they stand, in rows or in a strip.

Up to some fifty answers of a question stand in rows; more stand side by side in their order, with a label under every
few of them.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dxprivacy.output.charts.channels import Spec, quantitative, span
from dxprivacy.output.charts.chart_style import INK, WIDTH, clean
from dxprivacy.output.charts.layers import heading, layer, mark, view, with_values
from dxprivacy.releases.answer_tables import AnswerTable, tables_of
from dxprivacy.releases.release import Row

PANELS = 8
_TALL = 200
ROWS = 52
STRIP = WIDTH - 20
_LABELED = 16  # marks of a strip, at most, that have their label under them
_TURNED = 14  # pixels that a label takes up when it stands upright
_PER_CHARACTER = 6.0


@dataclass(frozen=True)
class AnswerPanel:
    """Answers on one axis: a table of a question, or several questions that ask for one number each."""

    name: str
    labels: tuple[str, ...]
    rows: tuple[Row, ...]
    table: AnswerTable[Row] | None = None


def panels_of(answers: Sequence[Row]) -> list[AnswerPanel]:
    """A panel for each table; questions for one number each share one if they share a unit and are about as large."""
    out: dict[tuple[int, str], AnswerPanel] = {}
    tables = tables_of(answers)
    of_question = Counter(table.question for table in tables)
    for k, table in enumerate(tables):
        if table.lone:
            key = (-1 - _size(table.answers[0]), table.answers[0].unit)
            before = out.get(key, AnswerPanel("", (), ()))
            out[key] = AnswerPanel("", (*before.labels, *table.labels), (*before.rows, *table.answers))
            continue
        name = table.question if of_question[table.question] == 1 else table.title
        out[k, ""] = AnswerPanel(name, table.labels, table.answers, table)
    return list(out.values())


def _size(row: Row) -> int:
    """Hundreds of hundreds, so to speak: beside thousands the interval of a share could not be seen."""
    largest = max(abs(row.low), abs(row.high), abs(row.value))
    return max(math.floor(math.log10(largest)) // 2, -1) + 1 if 0 < largest < math.inf else 0


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


def strip_view(name: str, labels: Sequence[str], layers: Sequence[Spec], data: Spec) -> Spec:
    """Answers side by side, every few of them with their label underneath.  `data` is what layers share.

    Labels stand upright where they would touch side by side.
    """
    many = len(labels)
    longest = max(map(len, (clean(label, 26) for label in labels)), default=0) * _PER_CHARACTER
    flat = int(STRIP // (longest + 12))
    few = flat >= 5  # so many flat ones are enough to find one's way
    step = -(-many // max(min(_LABELED, flat if few else STRIP // _TURNED), 1))
    ticks = [{"x": (k + 0.5) / many * STRIP, "t": clean(labels[k], 26)} for k in range(0, many, step)]
    turned = {} if few else {"angle": -90, "align": "right", "baseline": "middle"}
    x = quantitative("x", scale=span(0, STRIP), axis=None)
    under = {"align": "center", "baseline": "top", "color": INK, **turned}
    words = layer(ticks, mark("text", **under), x=x, y={"value": _TALL + 8}, text={"field": "t", "type": "nominal"})
    marks = layer(ticks, mark("rule", color=INK, strokeWidth=0.8), x=x, y={"value": _TALL}, y2={"value": _TALL + 4})
    title = clean(f"{name}: {many:,} in order" if name else f"{many:,} answers in order", 70)
    scales = {"resolve": {"scale": {"x": "independent"}}}  # labels stand by pixels, marks by their place
    return {"width": STRIP, "height": _TALL, **data, "layer": [*layers, marks, words], **scales, **heading(title)}
