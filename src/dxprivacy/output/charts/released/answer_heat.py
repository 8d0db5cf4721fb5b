"""A two-way table of released answers as shaded cells: the darker, the larger; the numbers are those released."""

from collections.abc import Sequence

from dxprivacy.output.charts.channels import Spec, itself, nominal, pointed_at
from dxprivacy.output.charts.chart_style import INK, PALE, WIDTH, clean, distinct
from dxprivacy.output.charts.layers import heading, layer, mark, view
from dxprivacy.output.charts.released.answer_panels import AnswerPanel
from dxprivacy.output.charts.shades import SHADES
from dxprivacy.output.text.release_text import number
from dxprivacy.releases.answer_tables import Crosstab
from dxprivacy.releases.release import TOO_FEW, Row

ACROSS, DOWN = 24, 40
_PER_CHARACTER = 6.2
_TALL = 24
_LIGHT_FIRST = SHADES[::-1]


def heat_of(panel: AnswerPanel) -> Crosstab[Row] | None:
    """The table in two directions, where it fits a picture; the longer direction goes down."""
    crosstab = None if panel.table is None else panel.table.crosstab
    if crosstab is None:
        return None
    if len(crosstab.across) > max(len(crosstab.down), 12):
        crosstab = crosstab.turned
    return crosstab if len(crosstab.across) <= ACROSS and len(crosstab.down) <= DOWN else None


def classes(rows: Sequence[Row]) -> list[int | None]:
    """The shade of each answer, from the lightest; None where there is too little to say."""
    known = [row.value for row in rows if not row.vague]
    low, high = min(known, default=0.0), max(known, default=0.0)
    step = (high - low) / len(_LIGHT_FIRST) or 1.0
    last = len(_LIGHT_FIRST) - 1
    return [None if row.vague else min(int((row.value - low) / step), last) for row in rows]


def heat_view(name: str, crosstab: Crosstab[Row]) -> Spec:
    """One panel: groups down and across, each cell with its number."""
    rows = [row for line in crosstab.cells for row in line]
    down, across = (distinct(clean(text, 24) for text in texts) for texts in (crosstab.down, crosstab.across))
    said = [TOO_FEW if row.vague else number(row.value, row.low, row.high) for row in rows]
    widest = max([len(text) for text in ["0" * 5, *(s for s in said if s != TOO_FEW), *across]])
    wide = min(max(widest * _PER_CHARACTER + 8, 30), WIDTH / len(across) if len(across) <= 12 else 60)
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
    flat = {"labelAngle": 0} if max(map(len, across)) * _PER_CHARACTER <= wide + 2 else {"labelAngle": -90}
    square = {
        "x": nominal("a", sort=list(across), scale={"domain": list(across)}, axis={**axis, "orient": "top", **flat}),
        "y": nominal("b", sort=list(down), scale={"domain": list(down)}, axis=axis),
    }
    told = pointed_at("b", "a", "v", "lo", "hi")
    layers = [
        layer(values, mark("rect", stroke=PALE, strokeWidth=0.6), **square, fill=itself("c"), tooltip=told),
        layer(values, mark("text", baseline="middle", fontSize=10), **square, text=nominal("t"), color=itself("i")),
    ]
    return {**heading(clean(name, 70), 10), **view(wide * len(across), _TALL * len(down), layers)}
