"""A table of all pairs of groups as shaded cells: for ε, for the budget, for anything that two values have in common.

The table is symmetric and both halves are drawn, so that a pair is found from either side.  A cell for several pairs
shows their worst one; it is named when pointed at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.plots.ramp import FILL, NOTHING, Ramp
from dxprivacy.plots.style import INK, PALE, clean

_NUMBERED = 14  # groups up to which cells have room for a number
_PER_CHARACTER = 6.0


@dataclass(frozen=True)
class Cell:
    """The worst pair of two groups: what it has, how that is written, whether to outline it, and which pair it is."""

    a: int
    b: int
    value: float
    text: str
    outlined: bool = False
    pair: str = ""


@dataclass(frozen=True)
class Panel:
    """A part of a picture, with the width that it takes up, labels included."""

    view: dict[str, Any]
    width: float


def heat(name: str, labels: Sequence[str], cells: Sequence[Cell], ramp: Ramp, *, about: str = "") -> Panel:
    """One panel; `about` follows the name."""
    many = len(labels)
    size = 46 if many <= 4 else 34 if many <= 8 else 24 if many <= _NUMBERED else 19
    longest = max((len(label) for label in labels), default=0)
    flat = longest * _PER_CHARACTER <= size + 2
    both = [c for c in cells if c.a != c.b]
    rows = [_row(c.a, c.b, c, labels, ramp) for c in cells] + [_row(c.b, c.a, c, labels, ramp) for c in both]
    order = list(labels)
    x = {
        "field": "a",
        "type": "nominal",
        "sort": order,
        "scale": {"domain": order},
        "axis": {
            "orient": "top",
            "title": None,
            "labelAngle": 0 if flat else -90,
            "grid": False,
            **({} if flat else {"labelAlign": "left", "labelBaseline": "middle"}),
        },
    }
    y = {
        "field": "b",
        "type": "nominal",
        "sort": order,
        "scale": {"domain": order},
        "axis": {"title": None, "grid": False},
    }
    tooltip = [{"field": "pair", "type": "nominal"}, {"field": "v", "type": "nominal"}]
    square = {"type": "rect", "strokeWidth": 1.2}
    border = {"field": "s", "type": "nominal", "scale": None}
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": rows},
            "mark": square,
            "encoding": {"x": x, "y": y, "fill": FILL, "stroke": border, "tooltip": tooltip},
        }
    ]
    if outlined := [row for row in rows if row["o"]]:
        frame = {"type": "rect", "fill": None, "stroke": INK, "strokeWidth": 1.8}
        layers.append({"data": {"values": outlined}, "mark": frame, "encoding": {"x": x, "y": y}})
    if many <= _NUMBERED:
        ink = {"field": "i", "type": "nominal", "scale": None}
        text = {"field": "v", "type": "nominal"}
        mark = {"type": "text", "fontSize": 11 if size > 30 else 10, "baseline": "middle"}
        layers.append(
            {"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": y, "text": text, "color": ink}}
        )
    title = clean(name) + (f"  {about}" if about else "")
    view = {
        "title": {"text": title, "fontSize": 12, "offset": 6},
        "width": size * many,
        "height": size * many,
        "layer": layers,
    }
    return Panel(view, size * many + longest * _PER_CHARACTER + 10)


def _row(a: int, b: int, cell: Cell, labels: Sequence[str], ramp: Ramp) -> dict[str, Any]:
    return {
        "a": labels[a],
        "b": labels[b],
        "v": cell.text,
        "c": ramp.shade(cell.value),
        "i": ramp.ink(cell.value),
        "s": PALE if ramp.shade(cell.value) == NOTHING else "white",
        "o": cell.outlined,
        "pair": cell.pair,
    }


def packed(panels: Sequence[Panel], wide: float = 690) -> list[dict[str, Any]]:
    """Panels side by side as long as they fit, then in the next row."""
    rows: list[list[dict[str, Any]]] = []
    room = 0.0
    for panel in panels:
        if not rows or panel.width > room:
            rows.append([])
            room = wide
        rows[-1].append(panel.view)
        room -= panel.width + 30
    return [row[0] if len(row) == 1 else {"hconcat": row, "spacing": 30} for row in rows]
