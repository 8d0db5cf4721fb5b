"""How pictures look: one accent for what is ours, grey for plain DP, labels on the marks, no legends (UX section 3).

The title states the finding, the subtitle the reading rule.  A log axis says so and is given its ticks, since the usual
ones crowd.  Zero has no place on a log axis: `Log.at` puts it on the left edge, and the caller says so in words.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import one_line
from dxprivacy.wording import short, wrap

ACCENT, INK, GREY, PALE, TINT = "#0b5fa5", "#222222", "#767676", "#d4d4d4", "#c9dcee"
WIDTH = 560
LABEL = 40
_TITLE, _SUBTITLE = 84, 116  # characters that fit on one line above a picture of this width
_PER_CHARACTER = 5.7  # pixels, at the size of marks' labels

CONFIG: dict[str, Any] = {
    "font": "Liberation Sans, Helvetica, Arial, sans-serif",
    "background": "white",
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "fontSize": 14,
        "fontWeight": "bold",
        "color": INK,
        "subtitleFontSize": 11.5,
        "subtitleColor": GREY,
        "subtitlePadding": 4,
        "offset": 12,
        "frame": "group",
    },
    "axis": {
        "labelColor": INK,
        "titleColor": GREY,
        "titleFontWeight": "normal",
        "titleFontSize": 11.5,
        "labelFontSize": 11,
        "gridColor": "#ececec",
        "domain": False,
        "ticks": False,
        "labelPadding": 5,
        "labelLimit": 320,
        "titleLimit": 600,
    },
    "text": {"fontSize": 11, "color": INK},
    "legend": {"disable": True},
}


def clean(text: str, width: int = LABEL) -> str:
    """A name as a label: on one line, not too long.

    >>> clean("a\\nb"), clean("Llanfairpwllgwyngyllgogerych", 12)
    ('a�b', 'Llanfairpwl…')
    """
    return short(one_line(text), width)


def distinct(labels: Iterable[str]) -> list[str]:
    """The same labels, told apart where they are the same: rows of a picture are found by their label.

    >>> distinct(["M", "F", "M"])
    ['M', 'F', 'M (2)']
    """
    seen: dict[str, int] = {}
    out: list[str] = []
    taken = set()
    for label in labels:
        candidate = label
        while candidate in taken:
            seen[label] = seen.get(label, 1) + 1
            candidate = f"{label} ({seen[label]})"
        taken.add(candidate)
        out.append(candidate)
    return out


def headed(title: str, subtitle: str) -> dict[str, Any]:
    """Finding and reading rule, in lines that fit."""
    text = one_line(title)
    return {"text": wrap(text, _TITLE) or [""], "subtitle": wrap(one_line(subtitle), _SUBTITLE)}


@dataclass(frozen=True)
class Log:
    """A log axis over positive numbers, with room at both ends.

    >>> log = Log.over([10, 1500], WIDTH)
    >>> log.ticks
    (10.0, 30.0, 100.0, 300.0, 1000.0)
    >>> Log.over([], WIDTH).ticks
    (0.5, 1.0, 2.0)
    """

    low: float
    high: float
    pixels: float
    apart: float = 58  # pixels between ticks, at least: labels side by side need more than labels above each other

    @classmethod
    def over(cls, values: Iterable[float], pixels: float, *, room: float = 0.06, apart: float = 58) -> "Log":
        """Around these values; those without a logarithm are passed over."""
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
    def scale(self) -> dict[str, Any]:
        """For an encoding."""
        return {"type": "log", "domain": [self.low, self.high], "nice": False}

    def axis(self, title: str | None) -> dict[str, Any]:
        """For an encoding; `title` says already that it is log."""
        plain = self.low >= 1e-5 and self.high <= 1e8
        return {"title": title, "values": list(self.ticks), "format": ",~r" if plain else "~e"}

    def at(self, x: float) -> float:
        """Where a number is drawn: inside, whatever it is."""
        return min(max(x, self.low), self.high) if x == x else self.low

    def pixel(self, x: float) -> float:
        """How far from the left."""
        return float(self.pixels * math.log(self.at(x) / self.low) / math.log(self.high / self.low))

    def below_top(self, x: float) -> float:
        """How far from the top, for an axis that stands."""
        return self.pixels - self.pixel(x)


def _power(step: int, k: int) -> float:
    return float(step * 10**k if k >= 0 else step / 10**-k)


@dataclass(frozen=True)
class Tip:
    """A label above a mark: text, where, colour."""

    text: str
    pixel: float
    color: str


def tips(labels: Sequence[Tip], width: float) -> list[dict[str, Any]]:
    """Text layers above a panel, on as many lines as it takes that none touches another."""
    ends: list[float] = []  # how far each line is filled
    layers = []
    for tip in sorted(labels, key=lambda t: t.pixel):
        long = len(tip.text) * _PER_CHARACTER
        left = min(max(tip.pixel - long / 2, -20), width + 40 - long)
        level = next((k for k, end in enumerate(ends) if left > end + 6), len(ends))
        ends[level : level + 1] = [left + long]
        layers.append(written(tip.text, left, -8 - level * 14, color=tip.color, baseline="bottom"))
    return layers


def written(text: str, x: float | dict[str, Any], y: float | dict[str, Any], **mark: Any) -> dict[str, Any]:
    """A layer of one text: at pixels, or where encodings say."""
    return {
        "data": {"values": [{"t": text}]},
        "mark": {"type": "text", "align": "left", **mark},
        "encoding": {
            "x": x if isinstance(x, dict) else {"value": x},
            "y": y if isinstance(y, dict) else {"value": y},
            "text": {"field": "t", "type": "nominal"},
        },
    }
