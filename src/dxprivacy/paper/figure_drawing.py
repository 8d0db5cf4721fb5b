"""Building blocks of the figures: panels of lines with labels at their ends, quantile bars, histograms.

They have the style of `plots`: one accent color for our plans, gray for others, labels on the marks, no legends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK, Spec, in_rows, itself, nominal, quantitative
from dxprivacy.output.charts.layers import (
    ChartAxis,
    LogScale,
    heading,
    layer,
    mark,
    several,
    shared,
    view,
    with_values,
    written,
)
from dxprivacy.output.charts.picture import Picture

RAMP = ("#9fc3e3", "#5e9bcf", "#0b5fa5", "#06325a")  # darkens, so that gray print works
_APART = 13.0  # vertical distance of labels in pixels


@dataclass(frozen=True)
class Ticked(LogScale):
    """A log axis with ticks at given numbers, and a small margin around them."""

    given: tuple[float, ...] = ()

    @classmethod
    def at_each(cls, numbers: Sequence[float], pixels: float) -> "Ticked":
        """Return an axis with ticks at these numbers."""
        return cls(min(numbers) / 1.05, max(numbers) * 1.05, pixels, given=tuple(float(x) for x in numbers))

    @property
    def ticks(self) -> tuple[float, ...]:
        return self.given


@dataclass(frozen=True)
class FigureLine:
    """A line with a label at its end, and optionally a band around it: (x, from, to)."""

    label: str
    points: Sequence[tuple[float, float]]
    color: str = ACCENT
    dash: tuple[int, ...] = (1, 0)
    width: float = 2.0
    band: Sequence[tuple[float, float, float]] = ()
    dots: bool = False


def line_panel(lines: Sequence[FigureLine], x: ChartAxis, y: ChartAxis, *,
               x_title: str, y_title: str | None, title: str = "",
               more: Sequence[Spec] = ()) -> Spec:  # fmt: skip
    """Return a panel of lines with labels at their ends, bands below them and `more` layers on top."""
    spot = {"x": x.channel(x_title, "x"), "y": y.channel(y_title, "y")}
    layers = []
    for line in lines:
        values = [{"x": a, "y": y.at(low), "y2": y.at(high)} for a, low, high in line.band]
        layers.append(layer(values, mark("area", color=line.color, opacity=0.16), **spot, y2={"field": "y2"}))
    for line in lines:
        look = mark("line", color=line.color, strokeWidth=line.width, strokeDash=list(line.dash))
        if line.dots:
            look["point"] = {"size": 22, "filled": True, "color": line.color}
        layers.append(layer([{"x": a, "y": y.at(b)} for a, b in line.points], look, **spot))
    ends = [y.below_top(line.points[-1][1]) for line in lines]
    last = max((x.pixel(line.points[-1][0]) for line in lines), default=0.0)
    words = [
        written(line.label, last + 8, place, color=_text(line.color), baseline="middle")
        for line, place in zip(lines, spread(ends, y.pixels), strict=True)
        if line.label
    ]
    return panel(title, x.pixels, y.pixels, [*with_values(layers), *words, *more])


def _text(color: str) -> str:
    # Labels of pale lines must be readable.
    return INK if color in RAMP[:2] else color


def spread(places: Sequence[float], height: float) -> list[float]:
    """Move positions of labels as little as needed so that they do not overlap.

    >>> spread([10.0, 11.0, 50.0], 100)
    [4.0, 17.0, 50.0]
    """
    groups: list[list[float]] = []  # middle, how many
    for place in sorted(places):
        groups.append([place, 1.0])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < _APART * (groups[-1][1] + groups[-2][1]) / 2:
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    found = []
    for middle, many in groups:
        half = _APART * (many - 1) / 2
        middle = max(min(middle, height - half), half)
        found += [middle - half + _APART * k for k in range(int(many))]
    order = sorted(range(len(places)), key=lambda k: places[k])
    out = [0.0] * len(places)
    for k, place in zip(order, found, strict=True):
        out[k] = place
    return out


@dataclass(frozen=True)
class FigureSpread:
    """One row of quantile bars: 5 to 95 % thin, the middle half thick, a tick at the median, and a text."""

    label: str
    quantiles: tuple[float, float, float, float, float]
    words: str
    color: str = ACCENT


def spread_panel(
    rows: Sequence[FigureSpread], x: ChartAxis, *, x_title: str, title: str, step: float, labeled: bool = True
) -> Spec:
    """Return a panel of quantile bars with a rule at factor 1; `labeled=False` omits the labels of the rows."""
    values = [
        {"q": r.label, "c": r.color, "t": r.words, **{k: x.at(v) for k, v in zip("abmde", r.quantiles, strict=True)}}
        for r in rows
    ]
    y, color = in_rows([row.label for row in rows]), itself("c")
    if not labeled:
        y["axis"] = None

    def across(field: str) -> Spec:
        return x.channel(x_title, field)

    layers = [
        upright(x, 1.0, color=INK, strokeWidth=1.2),
        shared(mark("rule", strokeWidth=1.2), y=y, x=across("a"), x2={"field": "e"}, color=color),
        shared(mark("bar", height=9), y=y, x=across("b"), x2={"field": "d"}, color=color),
        shared(mark("tick", thickness=2.5, size=16, color=INK), y=y, x=across("m")),
        shared(mark("text", align="left", dx=7, color=INK), y=y, x=across("e"), text=nominal("t")),
    ]
    return {**panel(title, x.pixels, step * len(rows), layers), "data": {"values": values}}


def upright(x: ChartAxis, at: float, **look: Any) -> Spec:
    """Return a vertical rule."""
    return layer([{"x": at}], mark("rule", **look), x=quantitative("x", scale=x.scale))


def panel(title: str, width: float, height: float, layers: Sequence[Spec]) -> Spec:
    """Return a view with a small title."""
    return {**view(width, height, layers), **heading(title)}


def beside(title: str, subtitle: str, panels: Sequence[Spec], *, spacing: int = 80) -> Picture:
    """Return a picture of panels side by side under one title."""
    return several(panels, title, subtitle, how="hconcat", spacing=spacing)


def histogram(counts: Sequence[tuple[float, float, float]], x: ChartAxis, y: ChartAxis, *, x_title: str | None,
              y_title: str) -> Spec:  # fmt: skip
    """Return bars from (from, to, number)."""
    values = [{"lo": x.at(a), "hi": x.at(b), "n": n} for a, b, n in counts if n]
    bar = mark("bar", color="#b3b3b3", stroke="white", strokeWidth=0.6)
    return layer(
        values, bar, x=x.channel(x_title, "lo"), x2={"field": "hi"}, y=y.channel(y_title, "n"), y2={"datum": 0}
    )


def dots(values: Sequence[Sequence[float]], spot: Spec, *, color: str = GRAY, size: int = 22, **look: Any) -> Spec:
    """Return points at the positions that the channels `x` and `y` give."""
    return layer(
        [{"x": a, "y": b} for a, b in values], mark("circle", color=color, size=size, opacity=1, **look), **spot
    )
