"""The order of named values such as `never`, `rarely`, `often`, and labels for groups of neighbors.

The positions of values are their ranks 0, 1, 2, …, whatever their distances; groups are labeled by the names at their
ends.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QueryError, UsageError, did_you_mean
from dxprivacy.exact.answer_grid import Evenly
from dxprivacy.exact.rounding import exact, number_text
from dxprivacy.universe.ordering.order import End, Places, Scale

# -- Groups of neighboring values of an ordered attribute: their starts and labels -------------------------------------


Span = tuple[Fraction, Fraction]


def range_words(wanted: Span, span: Span, *, clamp: bool, half_open: bool = False) -> str:
    """Describe a range: `0 to below 2`; the last bin includes its end, and with `clamp` all beyond: `8 or more`."""
    low, high = (max(min(end, span[1]), span[0]) for end in wanted)
    last, below = high >= span[1], "below " if half_open else ""
    if clamp and last:
        return f"{number_text(low)} or more" if low > span[0] else "any number"
    if clamp and low <= span[0]:
        return f"{below}{number_text(high)}" if below else f"{number_text(high)} or less"
    if low == high:
        return number_text(low)
    return f"{number_text(low)} to {'' if last else below}{number_text(high)}"


def round_starts(low: float, step: float, n: int, most: int) -> list[int]:
    """Return the starts of at most `most` groups at round numbers; an empty list if no round width fits.

    >>> round_starts(0.0, 1.0, 101, 11)
    [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    for size in _round_sizes(n * step / most):
        # Rounded to whole steps of the attribute, so that no bin is cut.
        span = range(math.floor(low / size), math.ceil((low + n * step) / size) + 1)
        edges = {math.ceil((k * size - low) / step - 1e-9) for k in span}
        starts = sorted({0, *(e for e in edges if 0 < e < n)})
        if len(starts) <= most:
            return starts
    return []


def _round_sizes(least: float) -> list[float]:
    """Return increasing round numbers, starting with the first that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return [m * power for m in (1, 2, 5, 10, 20, 50, 100) if m * power >= least * (1 - 1e-9)]


def calendar_starts(days: list[date], most: int) -> list[int]:
    """Return the starts of groups by months, quarters or years, the finest that fits; an empty list if none does."""
    for months in (1, 3, 12):
        keys = [(12 * d.year + d.month - 1) // months for d in days]
        starts = [k for k, key in enumerate(keys) if not k or key != keys[k - 1]]
        if len(starts) <= most:
            return starts
    return []


def days_words(a: date, b: date) -> str:
    """Return a label for a range of days: a month, a quarter, a year, or from one month to another.

    >>> days_words(date(2026, 1, 1), date(2026, 3, 31))
    '2026 Q1'
    """
    if (a.year, a.month) == (b.year, b.month):
        return f"{a:%Y-%m}"
    if a.year == b.year and (a.month - 1) // 3 == (b.month - 1) // 3:
        return f"{a.year} Q{(a.month - 1) // 3 + 1}"
    return f"{a.year}" if a.year == b.year else f"{a:%Y-%m} – {b:%Y-%m}"


def short_number(x: float) -> str:
    """Return a number in few characters.

    >>> short_number(20000.0)
    '20k'
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= 10 * size or (abs(x) >= size and x % (size / 10) == 0):
            return f"{x / size:.4g}{letter}"
    return f"{x:.4g}"


# -- The order of named values -----------------------------------------------------------------------------------------


def from_to(first: str, last: str) -> str:
    """Return the label of the values from one name to another.

    >>> from_to("never", "often"), from_to("never", "never")
    ('never to often', 'never')
    """
    return first if first == last else f"{first} to {last}"


@dataclass(frozen=True)
class Ranks(Scale):
    """Named values in an order.

    >>> ranks = Ranks("smoking", ("never", "rarely", "often"))
    >>> list(ranks.inside("rarely", "often")), ranks.steps("2")[1]
    ([1, 2], ['never to rarely', 'often'])
    """

    name: str
    values: tuple[str, ...]

    @property
    def example(self) -> str:  # type: ignore[override]
        return ",".join(dict.fromkeys((self.values[0], self.values[len(self.values) // 2])))

    @cached_property
    def starts(self) -> Evenly:  # type: ignore[override]
        return Evenly(Fraction(0), Fraction(1), len(self.values))

    @cached_property
    def _rank(self) -> dict[str, int]:
        return {value: k for k, value in enumerate(self.values)}

    @cached_property
    def _rank_of_number(self) -> dict[Fraction, list[int]]:
        """The ranks of values that are numbers, by number."""
        found: dict[Fraction, list[int]] = {}
        for k, value in enumerate(self.values):
            try:
                found.setdefault(Fraction(exact(value)), []).append(k)
            except UsageError:
                continue
        return found

    def read(self, written: End) -> Fraction:
        """Return the rank of a name; a number stands for the value with this text, or the only one with this number."""
        text = number_text(written) if isinstance(written, Fraction) else str(written)
        rank = self._rank.get(text)
        if rank is None and isinstance(written, Fraction) and len(alike := self._rank_of_number.get(written, [])) == 1:
            rank = alike[0]
        if rank is None:
            hints = did_you_mean(text, self.values) or [(f"{self.name}={self.values[0]}..{self.values[-1]}", "")]
            if isinstance(written, date):
                hints = [(f"{self.name}=…|…", "lists values that look like days one by one")]
            raise QueryError(f"{self.name} has no value {text[:60]!r}", hints=hints)
        return Fraction(rank)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return from_to(self.values[int(low)], self.values[-1 if high is None else int(high) - 1])

    def inside(self, low: End, high: End) -> Sequence[int]:
        """Return the two values and all between them, in either order."""
        first, last = sorted((self.read(low), self.read(high)))
        return range(int(first), int(last) + 1)

    def steps(self, width: str) -> tuple[Places, list[str]]:
        """Return groups of a number of neighbors, from the first value on."""
        size = int(width) if re.fullmatch("[0-9]{1,9}", width) else 0
        if size < 1:
            raise QueryError(
                f"cannot group {self.name} by “{width}”",
                hints=[(f"{self.name}/2", "two neighbors together"), f"{self.name}[{self.example}]"],
            )
        listed = len(self.values)
        starts = range(0, listed, size)
        labels = [from_to(self.values[k], self.values[min(k + size, listed) - 1]) for k in starts]
        return np.arange(listed, dtype=np.int64) // size, labels
