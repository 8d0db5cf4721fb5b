"""Shades for classes of numbers, which darken in one direction so that gray print works, and a key that names them.

Dark means strict in every picture: a small ε, or little of it left.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dxprivacy.output.charts.chart_style import GRAY, INK, Spec, itself, nominal, on, quantitative, span
from dxprivacy.output.charts.layers import layer, mark, view

SHADES = ("#06325a", "#0b5fa5", "#4b8bc4", "#8fb6da", "#c9dcee", "#eef3f8")
NOTHING = "#ffffff"
_SWATCH = 14


@dataclass(frozen=True)
class Ramp:
    """Upper limits of the classes, their shades and names; numbers above all limits have the last shade.

    >>> EPSILON.shade(0.05), EPSILON.shade(0.5) == EPSILON.shade(0.2), EPSILON.shade(float("inf"))
    ('#06325a', True, '#ffffff')
    """

    limits: tuple[float, ...]
    shades: tuple[str, ...]
    names: tuple[str, ...]
    what: str
    beyond: str = NOTHING

    def shade(self, x: float) -> str:
        if math.isinf(x):
            return self.beyond
        return self.shades[sum(x > limit * (1 + 1e-9) for limit in self.limits)]

    def ink(self, x: float) -> str:
        """Return a color for text that is readable on the shade."""
        return "white" if self.shade(x) in SHADES[:3] else INK

    def key(self, found: Sequence[float]) -> Spec | None:
        """Return a view of the classes that occur, with their names, in one line; None if there are none."""
        shades = {self.shade(x) for x in found}
        entries = [(s, n) for s, n in zip((*self.shades, self.beyond), self.names, strict=False) if s in shades]
        if not entries:
            return None
        x, swatches, words = 6.0 * len(self.what) + 10, [], [{"x": 0.0, "t": self.what}]
        for shade, name in entries:
            swatches.append({"x": x, "x2": x + _SWATCH, "c": shade})
            words.append({"x": x + _SWATCH + 5, "t": name})
            x += _SWATCH + 20 + 6.0 * len(name)
        across = quantitative(axis=None, scale=span(0, x))
        high = {"y": {"value": 0}, "y2": {"value": _SWATCH}}
        square = mark("rect", stroke=GRAY, strokeWidth=0.6)
        text = mark("text", align="left", baseline="middle", color=INK)
        drawn = [
            layer(swatches, square, x=on(across, "x"), x2={"field": "x2"}, **high, color=FILL),
            layer(words, text, x=on(across, "x"), y={"value": _SWATCH / 2}, text=nominal("t")),
        ]
        return view(x, _SWATCH, drawn)


FILL = itself("c")
"""A channel: the field `c` is the color itself."""

EPSILON = Ramp(
    (0.1, 0.5, 1, 3, 6),
    SHADES,
    ("≤ 0.1", "0.1 – 0.5", "0.5 – 1", "1 – 3", "3 – 6", "> 6, easy to distinguish", "public, no limit"),
    "ε",
)
USED = Ramp(
    (0.0, 0.1, 0.25, 0.5, 0.9),
    SHADES[::-1],
    ("0", "≤ 10 %", "10 – 25 %", "25 – 50 %", "50 – 90 %", "> 90 %, used up or nearly"),
    "used",
)
