"""The parts of a picture: marks, layers of marks, texts, views, and pictures of several views.

Each part is a Vega-Lite dictionary.  Keys keep the order in which they are given: a page names the parts of a picture
by a digest of its text (`page.drawn`), so equal pictures must have equal texts.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import one_line
from dxprivacy.output.charts.chart_style import CONFIG, GRAY, Spec, nominal, quantitative
from dxprivacy.output.charts.picture import Picture
from dxprivacy.wording import wrap

# -- Axes of numbers: domain, position in pixels, and ticks ------------------------------------------------------------
# A log axis is titled as such and has explicit ticks, because the default ones overlap.  It has no zero: `at` moves
# zero to the left edge, and the caller adds a label.


@dataclass(frozen=True)
class ChartAxis(ABC):
    """An axis from `low` to `high` over a length of `pixels`."""

    low: float
    high: float
    pixels: float

    @property
    @abstractmethod
    def scale(self) -> Spec: ...

    @abstractmethod
    def axis(self, title: str | None) -> Spec: ...

    @abstractmethod
    def pixel(self, x: float) -> float:
        """Return the distance of a number from the left end, in pixels."""

    def channel(self, title: str | None, field: str = "") -> Spec:
        """Return a channel that places the numbers of a field along this axis."""
        return quantitative(field, scale=self.scale, axis=self.axis(title))

    def at(self, x: float) -> float:
        """Clip a number to the axis; NaN becomes `low`."""
        return min(max(x, self.low), self.high) if x == x else self.low

    def below_top(self, x: float) -> float:
        """Return the distance of a number from the top, in pixels, for a vertical axis."""
        return self.pixels - self.pixel(x)


@dataclass(frozen=True)
class LogScale(ChartAxis):
    """A log axis over positive numbers, with room at both ends.

    >>> LogScale.over([10, 1500], 560).ticks
    (10.0, 30.0, 100.0, 300.0, 1000.0)
    >>> LogScale.over([], 560).ticks
    (0.5, 1.0, 2.0)
    """

    apart: float = 58  # least number of pixels between ticks: a horizontal axis needs more than a vertical one

    @classmethod
    def over(cls, values: Iterable[float], pixels: float, *, room: float = 0.06, apart: float = 58) -> "LogScale":
        """Return an axis that contains these values; values without a logarithm are ignored."""
        usable = [x for x in values if 1e-300 < x < 1e300]
        low, high = (min(usable), max(usable)) if usable else (1.0, 1.0)
        if high / low < 4:
            low, high = low / 2, high * 2
        margin = (high / low) ** room
        return cls(low / margin, high * margin, pixels, apart)

    @property
    def ticks(self) -> tuple[float, ...]:
        """1, 3, 10, 30 … over few decades, powers of ten over many."""
        decades = math.log10(self.high / self.low)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        per = self.pixels / max(decades, 1e-9)
        if decades < 1.3:
            steps: Sequence[int] = (1, 2, 3, 5)
        else:
            steps = (1, 3) if per > 1.6 * self.apart else (1,)
        stride = max(1, math.ceil(self.apart / per)) if len(steps) == 1 else 1
        found = [_power(s, k) for k in range(first, last + 1) if k % stride == 0 for s in steps]
        return tuple(x for x in found if self.low <= x <= self.high)

    @property
    def scale(self) -> Spec:
        return {"type": "log", "domain": [self.low, self.high], "nice": False}

    def axis(self, title: str | None) -> Spec:
        plain = self.low >= 1e-5 and self.high <= 1e8
        return {"title": title, "values": list(self.ticks), "format": ",~r" if plain else "~e"}

    def pixel(self, x: float) -> float:
        return self.pixels * math.log(self.at(x) / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True)
class Straight(ChartAxis):
    """A linear axis with about `count` ticks, or with the ticks `values`."""

    count: int = 5
    style: str = ",~r"
    grid: bool = True
    values: tuple[float, ...] = ()

    @property
    def scale(self) -> Spec:
        return {"type": "linear", "domain": [self.low, self.high], "nice": False, "zero": False}

    def axis(self, title: str | None) -> Spec:
        given = {"values": list(self.values)} if self.values else {"tickCount": self.count}
        return {"title": title, **given, "format": self.style, "grid": self.grid}

    def pixel(self, x: float) -> float:
        return self.pixels * (self.at(x) - self.low) / (self.high - self.low)


def _power(step: int, k: int) -> float:
    return float(step * 10**k if k >= 0 else step / 10**-k)


# -- Marks, layers, views and pictures ---------------------------------------------------------------------------------


_TITLE, _SUBTITLE = 84, 116  # characters that fit on one line above a picture of the usual width
_PER_CHARACTER = 5.7  # pixels, at the size of marks' labels


def mark(kind: str, **look: Any) -> Spec:
    """Return a Vega-Lite mark."""
    return {"type": kind, **look}


def layer(values: Sequence[Spec], drawn: Spec, **channels: Any) -> Spec:
    """Return a layer with one mark for each of the values.

    >>> layer([{"e": 2}], mark("rule", color="black"), x={"field": "e"})["encoding"]
    {'x': {'field': 'e'}}
    """
    return {"data": {"values": list(values)}, **shared(drawn, **channels)}


def shared(drawn: Spec, **channels: Any) -> Spec:
    """Return a layer that draws the values of its view."""
    return {"mark": drawn, "encoding": channels}


def with_values(layers: Iterable[Spec]) -> list[Spec]:
    """Drop layers without values."""
    return [each for each in layers if each["data"]["values"]]


def written(text: str, x: float | Spec, y: float | Spec, **look: Any) -> Spec:
    """Return a layer with one text, at a position in pixels or given by channels."""
    places = {key: place if isinstance(place, dict) else {"value": place} for key, place in (("x", x), ("y", y))}
    return layer([{"t": text}], mark("text", **{"align": "left", **look}), **places, text=nominal("t"))


def bordered(values: Sequence[Spec], look: Spec, *, width: float = 3, **channels: Any) -> list[Spec]:
    """Return layers with the texts of the field `t` and a white border, readable above dots and lines."""
    border = {**look, "stroke": "white", "strokeWidth": width, "strokeJoin": "round", "color": "white"}
    return [layer(values, mark("text", **each), **channels, text=nominal("t")) for each in (border, look)]


@dataclass(frozen=True)
class Tip:
    """A label above a mark: text, horizontal position, color."""

    text: str
    pixel: float
    color: str


def tips(labels: Sequence[Tip], width: float) -> list[Spec]:
    """Return labels above a panel, on as many lines as needed so that no two overlap (greedy, from the left)."""
    ends: list[float] = []  # the right end of the last label on each line
    layers = []
    for tip in sorted(labels, key=lambda t: t.pixel):
        long = len(tip.text) * _PER_CHARACTER
        left = min(max(tip.pixel - long / 2, -20), width + 40 - long)
        level = next((k for k, end in enumerate(ends) if left > end + 6), len(ends))
        ends[level : level + 1] = [left + long]
        layers.append(written(tip.text, left, -8 - level * 14, color=tip.color, baseline="bottom"))
    return layers


def view(width: float, height: float, layers: Sequence[Spec]) -> Spec:
    """Return a panel of layers."""
    return {"width": width, "height": height, "layer": list(layers)}


def empty(text: str, width: float) -> Spec:
    """Return a panel that holds only a text."""
    return view(width, 40, [written(text, 8, 20, color=GRAY)])


def heading(text: str, offset: int = 6) -> Spec:
    """Return the small title of a panel, to be merged into its view; empty without a text."""
    return {"title": {"text": text, "fontSize": 12, "offset": offset}} if text else {}


def pictured(description: str, title: str, subtitle: str, views: Spec) -> Picture:
    """Return a picture of one view, or of views that are arranged already."""
    return Picture.of({"description": description, "title": _headed(title, subtitle), "config": CONFIG, **views})


def several(views: Sequence[Spec | None], title: str, subtitle: str, *, description: str = "", how: str = "vconcat",
            spacing: int = 24, own_axes: bool = True) -> Picture:  # fmt: skip
    """Return a picture of views below each other (`hconcat`: side by side), with independent or shared axes."""
    return Picture.of(
        {
            **({"description": description} if description else {}),
            **({"title": _headed(title, subtitle)} if title or subtitle else {}),  # an empty title takes up space
            "spacing": spacing,
            how: [each for each in views if each is not None],
            **({"resolve": {"scale": {"x": "independent", "y": "independent"}}} if own_axes else {}),
            "config": CONFIG,
        }
    )


def _headed(title: str, subtitle: str) -> Spec:
    # Vega-Lite does not wrap titles.
    return {"text": wrap(one_line(title), _TITLE) or [""], "subtitle": wrap(one_line(subtitle), _SUBTITLE)}
