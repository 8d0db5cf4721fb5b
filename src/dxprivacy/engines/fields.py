"""The columns that records of a universe have, and how each entry is written: the inverse of `entries`.

What is written here is read back, with the same policy, as exactly the cell it came from: values and ids as their
texts, whole numbers as they are, numbers by the middle of their cell, dates as the policy's format writes them, and
`other` as nothing, or as a text that is not listed where nothing is.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import assert_never

import numpy as np

from dxprivacy.engines.entries import A_MONDAY, entry_reader
from dxprivacy.errors import PolicyError
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import number_text
from dxprivacy.histogram import Histogram
from dxprivacy.universe.attributes.attribute import OTHER, Attribute, as_text
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.reading.calendar import zone_of
from dxprivacy.universe.reading.codecs import (
    Codec,
    Coordinate,
    Days,
    DaysOfTheWeek,
    ListedTexts,
    NumbersInCells,
    TimesOfDay,
    WholeNumbers,
)
from dxprivacy.universe.reading.text_formats import ISO, KNOWN_INSTANTS, NumberFormat, Written
from dxprivacy.universe.universe import Universe


@dataclass(frozen=True)
class Field:
    """One column: its name, what stands in it, and where the index of its entry is found in the number of a cell.

    The attribute's index is cell // stride % size; the entry's is that // step % (number of entries), unless the
    attribute's is `other`, the last one.
    """

    name: str
    entry: Attribute
    stride: int
    size: int
    step: int = 1
    other: int = -1  # the attribute's index of `other`; -1 where it has none

    def places(self, cells: Ints) -> Ints:
        """The index of the entry in each of these cells; `entry.listed` where it is `other`."""
        whole = cells // self.stride % self.size
        return np.where(whole == self.other, self.entry.listed, whole // self.step % self.entry.listed)


def fields_of(universe: Universe) -> tuple[Field, ...]:
    """The columns of the records of a universe, in the order of its attributes.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> from dxprivacy.universe.attributes.series_of_numbers import Series
    >>> usage = Series(name="usage", columns=("jan", "feb"), entry=Integers(name="usage", low=0, high=2))
    >>> jan, feb = fields_of(Universe([usage]))
    >>> cells = np.array([0, 5, 9])
    >>> jan.places(cells).tolist(), feb.places(cells).tolist()
    ([0, 1, 3], [0, 2, 3])
    """
    out: list[Field] = []
    for attribute, stride in zip(universe.attributes, universe.strides, strict=True):
        other = attribute.listed if attribute.has_other else -1
        entries = attribute.entries_read
        for k, (column, entry) in enumerate(zip(attribute.reads, entries, strict=True), 1):
            step = 1 if attribute.surroundings else math.prod(later.listed for later in entries[k:])
            out.append(Field(column, entry, stride, attribute.size, step, other))
    names = [field.name for field in out]
    for name in names:
        if names.count(name) > 1:
            readers = [a.name for a in universe.attributes if name in a.reads]
            raise PolicyError(
                f"column {name} is read by {' and '.join(readers)}: records that are not people's could not hold both",
                hints=[("a policy with one of them", "is enough for synthetic records")],
            )
    return tuple(out)


def texts_of(entry: Attribute, places: Iterable[int]) -> list[str]:
    """How entries are written as text.

    >>> from dxprivacy.universe.attributes.dates import Dates
    >>> from dxprivacy.universe.attributes.binned_numbers import Numbers
    >>> texts_of(Numbers(name="income", low=0, high=3, step=1, format="1.234,5"), [0, 2, 3])
    ['0,5', '2,5', '']
    >>> texts_of(Dates(name="visit", first="2026-01-01", last="2026-12-31", format="%d.%m.%Y"), [2, 365])
    ['03.01.2026', '']
    """
    nothing, write = _nothing(entry), _writer(entry.codec)
    return [write(k) if k < entry.listed else nothing for k in places]


def _writer(codec: Codec) -> Callable[[int], str]:
    match codec:
        case WholeNumbers():
            return lambda k: str(codec.low + k)
        case NumbersInCells():
            mark = NumberFormat.of(codec.format).decimal
            return lambda k: _decimal(codec.start(k) + codec.step / 2).replace(".", mark)  # the middle of the cell
        case Days():
            return lambda k: _day(codec.day(k), _first(codec.format), codec.timezone)
        case DaysOfTheWeek():
            return lambda k: _day(A_MONDAY + timedelta(days=k), _first(codec.format), codec.timezone)
        case TimesOfDay():
            return lambda k: _time(codec.low + k * codec.step, _first(codec.format), codec.timezone)
        case Coordinate():
            point = NumberFormat.of(codec.format).decimal
            return lambda k: as_text(codec.along[k]).replace(".", point)
        case ListedTexts():
            return codec.texts.__getitem__
        case _:
            assert_never(codec)


def whole_texts(entry: Attribute) -> list[int] | None:
    """The listed texts as whole numbers, if all are such and 64 bits hold them; 007 is a text, since 7 is another.

    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> whole_texts(Values(name="wave", values=("1", "2"))), whole_texts(Values(name="code", values=("07",)))
    ([1, 2], None)
    """
    texts = entry.texts
    if not texts or not all(re.fullmatch("0|-?[1-9][0-9]{0,17}", text) for text in texts):
        return None
    return [int(text) for text in texts]


def _nothing(entry: Attribute) -> str:
    """What counts as `other`: an empty text, or another one that is not listed."""
    text, place = "", entry_reader(entry.codec)
    while entry.texts and place(text) < entry.listed:
        text = OTHER if not text else f"{text}?"
    return text


def _decimal(number: Fraction) -> str:
    """A number without exponent; where it has no end, as near as its float64."""
    text = number_text(number)
    return text if "/" not in text else format(Decimal(repr(float(number))), "f")


def _first(written: Written) -> str:
    """The format in which entries are written: the first of several."""
    first = written if isinstance(written, str) else written[0]
    return "" if first == ISO else first


def _day(day: date, written: str, timezone: str) -> str:
    if not written:
        return day.isoformat()
    # The time of day is left out when it is read: any will do, where an offset is read one in the middle of the day.
    return _filled(written, datetime.combine(day, time(12 if "%z" in written else 0), zone_of(timezone)))


def _time(seconds: int, written: str, timezone: str) -> str:
    clock = time(seconds // 3600, seconds // 60 % 60, seconds % 60)
    if not written:
        return f"{clock:%H:%M:%S}" if clock.second else f"{clock:%H:%M}"
    # The day is left out when it is read, unless an offset is: any will do.
    return _filled(written, datetime.combine(date(2024, 1, 1), clock, zone_of(timezone)))


def _filled(written: str, moment: datetime) -> str:
    """A moment in a format: where it has an offset in UTC, since %z has no seconds, and offsets long ago have some."""
    has_zone = KNOWN_INSTANTS[0] <= moment.date() <= KNOWN_INSTANTS[1]  # other days are read from no instant
    at = moment.astimezone(UTC) if "%z" in written and has_zone else moment
    pieces = {"%Y": f"{at.year:04d}", "%m": f"{at.month:02d}", "%d": f"{at.day:02d}", "%f": "0", "%z": "Z"}
    pieces |= {"%H": f"{at.hour:02d}", "%M": f"{at.minute:02d}", "%S": f"{at.second:02d}"}
    return re.sub("%.", lambda found: pieces[found[0]], written, flags=re.DOTALL)


# -- How the cells of a histogram travel: attributes packed into as few 64-bit numbers as hold them --------------------
# One number is enough for all but the largest universes; rows are grouped by it, which is faster than by many columns.


_MOST = 1 << 62


@dataclass(frozen=True, eq=False)
class Packing:
    """The attributes of a universe, dealt out to numbers.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> wide = Universe([Integers(name=f"a{k}", low=1, high=2**20, has_other=False) for k in range(4)])
    >>> Packing(wide).numbers
    (((0, 1099511627776), (1, 1048576), (2, 1)), ((3, 1),))
    """

    universe: Universe

    @cached_property
    def numbers(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each number the attributes that it holds, with their strides; the last one fastest."""
        groups: list[list[int]] = [[]]
        product = 1
        for axis, size in enumerate(self.universe.shape):
            if product * size >= _MOST:
                groups.append([])
                product = 1
            groups[-1].append(axis)
            product *= size
        out = []
        for axes in groups:
            stride, held = 1, []
            for axis in reversed(axes):
                held.append((axis, stride))
                stride *= self.universe.shape[axis]
            out.append(tuple(reversed(held)))
        return tuple(out)

    def pack(self, indices: Sequence[Ints]) -> list[Ints]:
        """The numbers of many rows, from the value of each attribute."""
        return [
            np.asarray(sum((indices[axis] * np.int64(stride) for axis, stride in held)), dtype=np.int64)
            for held in self.numbers
        ]

    def histogram(self, numbers: Sequence[Ints], counts: Ints) -> Histogram:
        """From the numbers of some cells, and how many rows stand in each; a cell may occur several times."""
        return Histogram(self.universe, (Occupied(self.universe, self.columns(numbers), counts),))

    def columns(self, numbers: Sequence[Ints]) -> dict[int, Ints]:
        """The value of each attribute, from the numbers of many rows."""
        shape = self.universe.shape
        return {
            axis: packed // stride % shape[axis]
            for held, packed in zip(self.numbers, numbers, strict=True)
            for axis, stride in held
        }

    def unfold(self, histogram: Histogram) -> tuple[list[Ints], Ints]:
        """The other way round."""
        table = histogram.over(range(len(self.universe.shape)))
        return self.pack([table.along(axis) for axis in range(len(self.universe.shape))]), table.counts


def together(universe: Universe, parts: Sequence[Histogram]) -> Histogram:
    """The sum of histograms of different rows."""
    packing = Packing(universe)
    unfolded = [packing.unfold(part) for part in parts]
    numbers = [np.concatenate([held[k] for held, _ in unfolded]) for k in range(len(packing.numbers))]
    return packing.histogram(*merged(numbers, np.concatenate([counts for _, counts in unfolded])))


def merged(numbers: Sequence[Ints], counts: Ints) -> tuple[list[Ints], Ints]:
    """Each cell once."""
    if len(numbers) == 1:
        cells, place = np.unique(numbers[0], return_inverse=True)
        found = [cells]
    else:
        rows, place = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
        found = [np.ascontiguousarray(column) for column in rows.T]
    total = np.zeros(len(found[0]), dtype=np.int64)
    np.add.at(total, place.reshape(-1), counts)
    return found, total
