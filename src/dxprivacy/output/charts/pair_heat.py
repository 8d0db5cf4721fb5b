"""A heat map of all pairs of groups of values, for any number that belongs to a pair: ε, or the used fraction of it.

The table is symmetric and both halves are drawn, so that a pair is found from either side.  A field for several pairs
shows the worst of them, and its tooltip names that pair.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import SupportsInt

from dxprivacy.output.charts.chart_style import INK, PALE, Spec, clean, itself, nominal, pointed_at
from dxprivacy.output.charts.layers import heading, layer, mark, view
from dxprivacy.output.charts.shades import FILL, NOTHING, Ramp

_NUMBERED = 14  # up to this many groups, fields have room for a number
_PER_CHARACTER = 6.0


@dataclass(frozen=True)
class Cell:
    """The worst pair of two groups: its value, the text of the value, whether to outline it, and its name."""

    a: int
    b: int
    value: float
    text: str
    outlined: bool = False
    pair: str = ""


@dataclass(frozen=True)
class HeatPanel:
    """A part of a picture, and its width including labels."""

    view: Spec
    width: float


def heat(name: str, labels: Sequence[str], cells: Sequence[Cell], ramp: Ramp, *, about: str = "") -> HeatPanel:
    """Draw the table; `about` follows the name in its title."""
    many = len(labels)
    size = 46 if many <= 4 else 34 if many <= 8 else 24 if many <= _NUMBERED else 19
    longest = max((len(label) for label in labels), default=0)
    flat = longest * _PER_CHARACTER <= size + 2
    both = [c for c in cells if c.a != c.b]
    rows = [_row(c.a, c.b, c, labels, ramp) for c in cells] + [_row(c.b, c.a, c, labels, ramp) for c in both]
    order = list(labels)
    upright = {} if flat else {"labelAlign": "left", "labelBaseline": "middle"}
    above = {"orient": "top", "title": None, "labelAngle": 0 if flat else -90, "grid": False, **upright}
    square = {
        "x": nominal("a", sort=order, scale={"domain": order}, axis=above),
        "y": nominal("b", sort=order, scale={"domain": order}, axis={"title": None, "grid": False}),
    }
    tooltip = pointed_at("pair", "v")
    layers = [layer(rows, mark("rect", strokeWidth=1.2), **square, fill=FILL, stroke=itself("s"), tooltip=tooltip)]
    if outlined := [row for row in rows if row["o"]]:
        layers.append(layer(outlined, mark("rect", fill=None, stroke=INK, strokeWidth=1.8), **square))
    if many <= _NUMBERED:
        number = mark("text", fontSize=11 if size > 30 else 10, baseline="middle")
        layers.append(layer(rows, number, **square, text=nominal("v"), color=itself("i")))
    title = clean(name) + (f"  {about}" if about else "")
    drawn = {**heading(title), **view(size * many, size * many, layers)}
    return HeatPanel(drawn, size * many + longest * _PER_CHARACTER + 10)


def presence(value: float, text: str, ramp: Ramp) -> HeatPanel:
    """Draw the table of presence: one record and its absence."""
    return heat("presence", ("anyone", "absent"), [Cell(0, 1, value, text, pair="anyone – absent")], ramp)


def pair_of(label: Callable[[int], str], a: SupportsInt, b: SupportsInt) -> str:
    """Return the names of two values, shortened."""
    return clean(f"{label(int(a))} – {label(int(b))}", 80)


def _row(a: int, b: int, cell: Cell, labels: Sequence[str], ramp: Ramp) -> Spec:
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


def packed(panels: Sequence[HeatPanel], wide: float = 690) -> list[Spec]:
    """Arrange panels in rows of at most this width (first fit, in order)."""
    rows: list[list[Spec]] = []
    room = 0.0
    for panel in panels:
        if not rows or panel.width > room:
            rows.append([])
            room = wide
        rows[-1].append(panel.view)
        room -= panel.width + 30
    return [row[0] if len(row) == 1 else {"hconcat": row, "spacing": 30} for row in rows]
