"""What the figures have in common: panels of lines with their labels at the end, bars of quantiles, histograms.

In the style of `plots`: one accent for ours, grey for others, labels on the marks, no legends; readable in grey.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.plots.axes import Log
from dxprivacy.plots.layers import headed, written
from dxprivacy.plots.picture import Picture
from dxprivacy.plots.style import ACCENT, CONFIG, GREY, INK

RAMP = ("#9fc3e3", "#5e9bcf", "#0b5fa5", "#06325a")  # darkens, so that grey print works
_APART = 13.0  # pixels between labels above each other


@dataclass(frozen=True)
class Straight:
    """A linear axis, with the same face as `Log`."""

    low: float
    high: float
    pixels: float
    count: int = 5
    style: str = ",~r"
    grid: bool = True
    values: tuple[float, ...] = ()

    @property
    def scale(self) -> dict[str, Any]:
        """For an encoding."""
        return {"type": "linear", "domain": [self.low, self.high], "nice": False, "zero": False}

    def axis(self, title: str | None) -> dict[str, Any]:
        """For an encoding."""
        given = {"values": list(self.values)} if self.values else {"tickCount": self.count}
        return {"title": title, **given, "format": self.style, "grid": self.grid}

    def at(self, x: float) -> float:
        """Where a number is drawn: inside, whatever it is."""
        return min(max(x, self.low), self.high) if x == x else self.low

    def pixel(self, x: float) -> float:
        """How far from the left."""
        return self.pixels * (self.at(x) - self.low) / (self.high - self.low)

    def below_top(self, x: float) -> float:
        """How far from the top, for an axis that stands."""
        return self.pixels - self.pixel(x)


@dataclass(frozen=True)
class Ticked(Log):
    """A log axis with ticks at these numbers, from the first to the last with little room."""

    given: tuple[float, ...] = ()

    @classmethod
    def at_each(cls, numbers: Sequence[float], pixels: float) -> "Ticked":
        """Around these numbers."""
        return cls(min(numbers) / 1.05, max(numbers) * 1.05, pixels, given=tuple(float(x) for x in numbers))

    @property
    def ticks(self) -> tuple[float, ...]:
        """Those given."""
        return self.given


Axis = Log | Straight


@dataclass(frozen=True)
class Line:
    """A line with a label at its end, and perhaps a band around it: (x, from, to)."""

    label: str
    points: Sequence[tuple[float, float]]
    color: str = ACCENT
    dash: tuple[int, ...] = (1, 0)
    width: float = 2.0
    band: Sequence[tuple[float, float, float]] = ()
    dots: bool = False


def encoded(axis: Axis, title: str | None, field: str) -> dict[str, Any]:
    """An encoding on an axis."""
    return {"field": field, "type": "quantitative", "scale": axis.scale, "axis": axis.axis(title)}


def line_panel(
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    x_title: str,
    y_title: str | None,
    title: str = "",
    more: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Lines, labelled where they end, bands below them; `more` layers on top."""
    across, up = encoded(x, x_title, "x"), encoded(y, y_title, "y")
    layers: list[dict[str, Any]] = []
    for line in lines:
        if line.band:
            values = [{"x": a, "y": y.at(low), "y2": y.at(high)} for a, low, high in line.band]
            layers.append(
                {
                    "data": {"values": values},
                    "mark": {"type": "area", "color": line.color, "opacity": 0.16},
                    "encoding": {"x": across, "y": up, "y2": {"field": "y2"}},
                }
            )
    for line in lines:
        mark: dict[str, Any] = {
            "type": "line",
            "color": line.color,
            "strokeWidth": line.width,
            "strokeDash": list(line.dash),
        }
        if line.dots:
            mark["point"] = {"size": 22, "filled": True, "color": line.color}
        values = [{"x": a, "y": y.at(b)} for a, b in line.points]
        layers.append({"data": {"values": values}, "mark": mark, "encoding": {"x": across, "y": up}})
    ends = [y.below_top(line.points[-1][1]) for line in lines]
    last = max((x.pixel(line.points[-1][0]) for line in lines), default=0.0)
    for line, place in zip(lines, spread(ends, y.pixels), strict=True):
        if line.label:
            layers.append(written(line.label, last + 8, place, color=_text(line.color), baseline="middle"))
    return view(title, x.pixels, y.pixels, [*layers, *more])


def _text(color: str) -> str:
    """Pale marks have labels that can be read."""
    return INK if color in RAMP[:2] else color


def spread(places: Sequence[float], height: float) -> list[float]:
    """The same places, moved as little as needed to stand apart.

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
class Spread:
    """One row of quantile bars: 5 to 95 % thin, the middle half thick, the median a tick with its value in words."""

    label: str
    quantiles: tuple[float, float, float, float, float]
    words: str
    color: str = ACCENT


def spread_panel(
    rows: Sequence[Spread], x: Axis, *, x_title: str, title: str = "", step: float = 26, rule: float | None = 1.0
) -> dict[str, Any]:
    """Quantiles in rows; a rule where nothing is gained."""
    order = [row.label for row in rows]
    values = [
        {"q": r.label, "c": r.color, "t": r.words, **{k: x.at(v) for k, v in zip("abmde", r.quantiles, strict=True)}}
        for r in rows
    ]
    down = {"field": "q", "type": "nominal", "sort": order, "axis": {"title": None, "grid": False}}

    def across(field: str) -> dict[str, Any]:
        return encoded(x, x_title, field)

    color = {"field": "c", "type": "nominal", "scale": None}
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.2},
            "encoding": {"y": down, "x": across("a"), "x2": {"field": "e"}, "color": color},
        },
        {
            "mark": {"type": "bar", "height": 9},
            "encoding": {"y": down, "x": across("b"), "x2": {"field": "d"}, "color": color},
        },
        {
            "mark": {"type": "tick", "thickness": 2.5, "size": 16, "color": INK},
            "encoding": {"y": down, "x": across("m")},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 7, "color": INK},
            "encoding": {"y": down, "x": across("e"), "text": {"field": "t", "type": "nominal"}},
        },
    ]
    panel = view(title, x.pixels, step * len(rows), layers)
    panel["data"] = {"values": values}
    if rule is not None:
        panel["layer"].insert(0, upright(x, rule, color=INK, strokeWidth=1.2))
    return panel


def upright(x: Axis, at: float, **mark: Any) -> dict[str, Any]:
    """A rule from top to bottom."""
    return {
        "data": {"values": [{"x": at}]},
        "mark": {"type": "rule", **mark},
        "encoding": {"x": {"field": "x", "type": "quantitative", "scale": x.scale}},
    }


def view(title: str, width: float, height: float, layers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A panel with a small title of its own."""
    panel: dict[str, Any] = {"width": width, "height": height, "layer": list(layers)}
    if title:
        panel["title"] = {"text": title, "fontSize": 12, "offset": 6}
    return panel


def beside(title: str, subtitle: str, panels: Sequence[dict[str, Any]], *, spacing: int = 80) -> Picture:
    """Panels side by side under one finding."""
    return _composed("hconcat", title, subtitle, panels, spacing)


def stacked(title: str, subtitle: str, panels: Sequence[dict[str, Any]], *, spacing: int = 22) -> Picture:
    """Panels below each other under one finding."""
    return _composed("vconcat", title, subtitle, panels, spacing)


def _composed(how: str, title: str, subtitle: str, panels: Sequence[dict[str, Any]], spacing: int) -> Picture:
    return Picture.of(
        {
            "title": headed(title, subtitle),
            "spacing": spacing,
            how: list(panels),
            "resolve": {"scale": {"x": "independent", "y": "independent"}},
            "config": CONFIG,
        }
    )


def histogram(counts: Sequence[tuple[float, float, float]], x: Axis, y: Axis, *, x_title: str | None, y_title: str,
              color: str = "#b3b3b3") -> dict[str, Any]:  # fmt: skip
    """Bars from (from, to, how many)."""
    return {
        "data": {"values": [{"lo": x.at(a), "hi": x.at(b), "n": n} for a, b, n in counts if n]},
        "mark": {"type": "bar", "color": color, "stroke": "white", "strokeWidth": 0.6},
        "encoding": {
            "x": encoded(x, x_title, "lo"),
            "x2": {"field": "hi"},
            "y": encoded(y, y_title, "n"),
            "y2": {"datum": 0},
        },
    }


def dots(values: Sequence[tuple[float, float]], x: Axis, y: Axis, *, x_title: str | None, y_title: str | None,
         color: str = GREY, size: int = 22, **mark: Any) -> dict[str, Any]:  # fmt: skip
    """Points."""
    return {
        "data": {"values": [{"x": a, "y": b} for a, b in values]},
        "mark": {"type": "circle", "color": color, "size": size, "opacity": 1, **mark},
        "encoding": {"x": encoded(x, x_title, "x"), "y": encoded(y, y_title, "y")},
    }
