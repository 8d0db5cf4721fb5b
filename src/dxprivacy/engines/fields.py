"""Describe the columns of the records of a universe, and write their entries: the inverse of `entries`.

Reading a written record back with the same policy gives exactly the same possible record. Values and ids are written as
their texts, whole numbers unchanged, numbers as the middle of their bin, and dates in the policy's format. `other` is
written as an empty text, or as an unlisted text if the empty text is listed.
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
    NumbersInBins,
    TimesOfDay,
    WholeNumbers,
)
from dxprivacy.universe.reading.text_formats import ISO, KNOWN_INSTANTS, NumberFormat, Written
from dxprivacy.universe.universe import Universe


@dataclass(frozen=True)
class Field:
    """One column: its name, its entries, and how to find the entry's index in the number of a possible record.

    The attribute's index is cell // stride % size. The entry's index is that // step % (number of entries), unless the
    attribute's index is that of `other`, the last one.
    """

    name: str
    entry: Attribute
    stride: int
    size: int
    step: int = 1
    other: int = -1  # the attribute's index of `other`; -1 if it has none

    def places(self, cells: Ints) -> Ints:
        """Return the index of the entry in each possible record; `entry.listed` where it is `other`."""
        whole = cells // self.stride % self.size
        return np.where(whole == self.other, self.entry.listed, whole // self.step % self.entry.listed)


def fields_of(universe: Universe) -> tuple[Field, ...]:
    """Return the columns of the records of a universe, in the order of its attributes.

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
    """Write entries as text.

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
        case NumbersInBins():
            mark = NumberFormat.of(codec.format).decimal
            return lambda k: _decimal(codec.start(k) + codec.step / 2).replace(".", mark)  # the middle of the bin
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
    """Return the listed texts as whole numbers, or None if one is not whole or needs more than 64 bits.

    007 is a text, because 7 is another one.

    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> whole_texts(Values(name="wave", values=("1", "2"))), whole_texts(Values(name="code", values=("07",)))
    ([1, 2], None)
    """
    texts = entry.texts
    if not texts or not all(re.fullmatch("0|-?[1-9][0-9]{0,17}", text) for text in texts):
        return None
    return [int(text) for text in texts]


def _nothing(entry: Attribute) -> str:
    """Return a text that counts as `other`: empty, or else one that is not listed."""
    text, place = "", entry_reader(entry.codec)
    while entry.texts and place(text) < entry.listed:
        text = OTHER if not text else f"{text}?"
    return text


def _decimal(number: Fraction) -> str:
    """Write a number without exponent; if its decimals do not end, as the nearest float64."""
    text = number_text(number)
    return text if "/" not in text else format(Decimal(repr(float(number))), "f")


def _first(written: Written) -> str:
    """Return the format in which entries are written: the first of several, empty for ISO."""
    first = written if isinstance(written, str) else written[0]
    return "" if first == ISO else first


def _day(day: date, written: str, timezone: str) -> str:
    if not written:
        return day.isoformat()
    # Reading ignores the time of day, so any will do; with an offset, noon is used.
    return _filled(written, datetime.combine(day, time(12 if "%z" in written else 0), zone_of(timezone)))


def _time(seconds: int, written: str, timezone: str) -> str:
    clock = time(seconds // 3600, seconds // 60 % 60, seconds % 60)
    if not written:
        return f"{clock:%H:%M:%S}" if clock.second else f"{clock:%H:%M}"
    # Reading ignores the day unless it reads an offset, so any will do.
    return _filled(written, datetime.combine(date(2024, 1, 1), clock, zone_of(timezone)))


def _filled(written: str, moment: datetime) -> str:
    """Fill a format with a moment; with an offset, in UTC, because %z has no seconds and old offsets have some."""
    has_zone = KNOWN_INSTANTS[0] <= moment.date() <= KNOWN_INSTANTS[1]  # days outside are not read from instants
    at = moment.astimezone(UTC) if "%z" in written and has_zone else moment
    pieces = {"%Y": f"{at.year:04d}", "%m": f"{at.month:02d}", "%d": f"{at.day:02d}", "%f": "0", "%z": "Z"}
    pieces |= {"%H": f"{at.hour:02d}", "%M": f"{at.minute:02d}", "%S": f"{at.second:02d}"}
    return re.sub("%.", lambda found: pieces[found[0]], written, flags=re.DOTALL)


# -- Packing: the attributes of a possible record in as few 64-bit numbers as hold them --------------------------------
# One number is enough for all but the largest universes; grouping rows by it is faster than by many columns.


_MOST = 1 << 62


@dataclass(frozen=True, eq=False)
class Packing:
    """The assignment of the attributes of a universe to packed 64-bit numbers.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> wide = Universe([Integers(name=f"a{k}", low=1, high=2**20, has_other=False) for k in range(4)])
    >>> Packing(wide).numbers
    (((0, 1099511627776), (1, 1048576), (2, 1)), ((3, 1),))
    """

    universe: Universe

    @cached_property
    def numbers(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each number, the attributes that it holds with their strides; the last one varies fastest."""
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
        """Return the packed numbers of many rows, from the value of each attribute."""
        return [
            np.asarray(sum((indices[axis] * np.int64(stride) for axis, stride in held)), dtype=np.int64)
            for held in self.numbers
        ]

    def histogram(self, numbers: Sequence[Ints], counts: Ints) -> Histogram:
        """Build a histogram from packed possible records and their row counts; a record may occur several times."""
        return Histogram(self.universe, (Occupied(self.universe, self.columns(numbers), counts),))

    def columns(self, numbers: Sequence[Ints]) -> dict[int, Ints]:
        """Return the value of each attribute, from the packed numbers of many rows."""
        shape = self.universe.shape
        return {
            axis: packed // stride % shape[axis]
            for held, packed in zip(self.numbers, numbers, strict=True)
            for axis, stride in held
        }

    def unfold(self, histogram: Histogram) -> tuple[list[Ints], Ints]:
        """Return the packed numbers and row counts of a histogram: the inverse of `histogram`."""
        table = histogram.over(range(len(self.universe.shape)))
        return self.pack([table.along(axis) for axis in range(len(self.universe.shape))]), table.counts


def together(universe: Universe, parts: Sequence[Histogram]) -> Histogram:
    """Return the sum of histograms of different rows."""
    packing = Packing(universe)
    unfolded = [packing.unfold(part) for part in parts]
    numbers = [np.concatenate([held[k] for held, _ in unfolded]) for k in range(len(packing.numbers))]
    return packing.histogram(*merged(numbers, np.concatenate([counts for _, counts in unfolded])))


def merged(numbers: Sequence[Ints], counts: Ints) -> tuple[list[Ints], Ints]:
    """Merge equal possible records: return each once, with the sum of its counts."""
    if len(numbers) == 1:
        cells, place = np.unique(numbers[0], return_inverse=True)
        found = [cells]
    else:
        rows, place = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
        found = [np.ascontiguousarray(column) for column in rows.T]
    total = np.zeros(len(found[0]), dtype=np.int64)
    np.add.at(total, place.reshape(-1), counts)
    return found, total
