"""Axes of numbers: which of them are drawn, where each of them is in pixels, and the ticks.

A log axis says so and is given its ticks, since the usual ones crowd.  Zero has no place on it: `at` puts it on the
left edge, and the caller says so in words.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dxprivacy.output.charts.channels import Spec, quantitative


@dataclass(frozen=True)
class Axis(ABC):
    """Numbers from `low` to `high` over so many pixels."""

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
        """How far a number is from the left."""

    def channel(self, title: str | None, field: str = "") -> Spec:
        """Numbers of a field along this axis."""
        return quantitative(field, scale=self.scale, axis=self.axis(title))

    def at(self, x: float) -> float:
        """Where a number is drawn: inside, whatever it is."""
        return min(max(x, self.low), self.high) if x == x else self.low

    def below_top(self, x: float) -> float:
        """How far from the top, for an axis that stands."""
        return self.pixels - self.pixel(x)


@dataclass(frozen=True)
class Log(Axis):
    """A log axis over positive numbers, with room at both ends.

    >>> Log.over([10, 1500], 560).ticks
    (10.0, 30.0, 100.0, 300.0, 1000.0)
    >>> Log.over([], 560).ticks
    (0.5, 1.0, 2.0)
    """

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
    def scale(self) -> Spec:
        return {"type": "log", "domain": [self.low, self.high], "nice": False}

    def axis(self, title: str | None) -> Spec:
        plain = self.low >= 1e-5 and self.high <= 1e8
        return {"title": title, "values": list(self.ticks), "format": ",~r" if plain else "~e"}

    def pixel(self, x: float) -> float:
        return self.pixels * math.log(self.at(x) / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True)
class Straight(Axis):
    """A linear axis, with about so many ticks or with those given."""

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
