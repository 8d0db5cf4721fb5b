"""Ordered attributes beyond whole numbers: numbers in cells, dates, and series of ordered entries."""

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.attributes.base import OTHER, Attribute, Integers, Property
from dxprivacy.attributes.text_formats import DateFormat, NumberFormat
from dxprivacy.errors import PolicyError, QuestionError, UsageError
from dxprivacy.exact.numbers import exact, number_text

_MOST_CELLS = 1 << 26
CELL_VALUES = {"low": Fraction(0), "middle": Fraction(1, 2), "high": Fraction(1)}
"""What a cell may count as in sums: how far from its start, in steps."""
_MOST_SERIES = 1 << 18
_EXACT_IN_FLOATS = 1 << 50


@dataclass(frozen=True, kw_only=True)
class Numbers(Attribute):
    """Numbers from `low` to `high` in half-open cells of width `step`; `high` itself belongs to the last one.

    A number is rounded to float64 and compared with the cells' ends, rounded likewise: 0.3 lies at the start of the
    cell from 0.3 to 0.4, whether it comes as text, as a decimal or as a float.  In sums it counts as the middle of its
    cell, or as the lower or upper end (`cell_value`).

    >>> income = Numbers(name="income", low=0, high=3000, step=1000)
    >>> income.encode([0, 999.99, "1000", 3000, -1]).tolist(), [str(x) for x in income.numbers]
    ([0, 0, 1, 2, 3], ['500', '1500', '2500'])
    """

    low: Fraction
    high: Fraction
    step: Fraction
    clamp: bool = False
    cell_value: str = "middle"
    kind: str = field(init=False, default="numbers")

    def __post_init__(self) -> None:
        for key in ("low", "high", "step"):
            try:
                value = Fraction(exact(getattr(self, key), what=f"{self.name}'s {key}"))
            except UsageError as error:
                raise PolicyError(error.what, hints=["numbers = [0, 200000]", "step = 1000"]) from None
            object.__setattr__(self, key, value)
        if self.high <= self.low:
            raise PolicyError(
                f"{self.name} runs from {number_text(self.low)} to {number_text(self.high)}, which is empty"
            )
        if self.cell_value not in CELL_VALUES:
            raise PolicyError(f"{self.name}: a cell counts as its {', '.join(CELL_VALUES)}, not {self.cell_value!r}")
        cells = (self.high - self.low) / self.step if self.step > 0 else Fraction(0)
        if cells < 1 or cells.denominator != 1:
            raise PolicyError(
                f"{self.name} from {number_text(self.low)} to {number_text(self.high)} cannot be cut into steps of "
                f"{number_text(self.step)}",
                hints=["the range must be a whole number of steps"],
            )
        start, width, whole = self.grid
        end = start + int(cells) * width
        if cells >= _MOST_CELLS or max(abs(start), abs(end), whole) >= _EXACT_IN_FLOATS:
            raise PolicyError(f"{self.name} has more values than we can hold", hints=["use fewer, wider steps"])
        NumberFormat.of(self.format)
        super().__post_init__()

    @cached_property
    def grid(self) -> tuple[int, int, int]:
        """Whole numbers (a, b, c): cell k starts at (a + k b) / c, in float64 one correctly rounded division."""
        common = math.lcm(self.low.denominator, self.step.denominator)
        return int(self.low * common), int(self.step * common), common

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The ends of the cells as float64 numbers, one more than there are cells."""
        start, width, common = self.grid
        return tuple((start + k * width) / common for k in range(self.listed + 1))

    @property
    def listed(self) -> int:
        """How many cells there are."""
        return int((self.high - self.low) / self.step)

    def start(self, index: int) -> Fraction:
        """Where a cell starts."""
        return self.low + index * self.step

    def label(self, index: int) -> str:
        """From where to where."""
        if index >= self.listed:
            return OTHER
        return f"{number_text(self.start(index))} to {number_text(self.start(index + 1))}"

    def place(self, number: float) -> int:
        """The cell of a number, which must not be NaN."""
        if not math.isfinite(number):
            return self.listed
        if self.clamp:
            number = min(max(number, self.edges[0]), self.edges[-1])
        if not self.edges[0] <= number <= self.edges[-1]:
            return self.listed
        return min(bisect_right(self.edges, number) - 1, self.listed - 1)

    def find(self, value: object) -> int:
        """The cell of a number."""
        if value == OTHER:
            index = self.listed
        else:
            try:
                index = self.place(float(exact(value)))
            except (UsageError, OverflowError):
                raise self._unknown(value) from None
            if index == self.listed:
                raise self._unknown(value)
        if index == self.listed and not self.has_other:
            raise self._unknown(value)
        return index

    @cached_property
    def numbers(self) -> tuple[Fraction, ...]:
        """What each cell counts as: its middle, or one of its ends."""
        return tuple(self.start(k) + self.step * CELL_VALUES[self.cell_value] for k in range(self.listed))

    def hides(self, fact: Property | None = None) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """From where a cell counts to its ends."""
        below = self.step * CELL_VALUES[self.cell_value]
        return below, self.step - below

    @property
    def clamps(self) -> bool:
        """As declared."""
        return self.clamp

    def beyond(self, value: object) -> bool:
        """A number outside the range, if those are clamped."""
        if not self.clamp or value == OTHER:
            return False
        try:
            return not self.edges[0] <= float(exact(value)) <= self.edges[-1]
        except (UsageError, OverflowError):
            return False  # no number at all

    def spec(self) -> dict[str, Any]:
        """Range, step, and what happens outside."""
        return self._base_spec() | {
            "range": [str(self.low), str(self.high)],
            "step": str(self.step),
            "outside": "clamp" if self.clamp else OTHER,
            **({} if self.cell_value == "middle" else {"cell_value": self.cell_value}),
        }


@dataclass(frozen=True, kw_only=True)
class Dates(Attribute):
    """Days from `first` to `last`, both included; a point in time counts as its day.

    `timezone` says in which zone a column of instants is read; wall-clock times are taken as they are written.

    >>> visit = Dates(name="visit", first="2026-01-01", last="2026-12-31")
    >>> visit.listed, visit.encode(["2026-01-03", "2025-12-31", "3 Jan"]).tolist()
    (365, [2, 365, 365])
    """

    first: date
    last: date
    timezone: str = ""
    kind: str = field(init=False, default="dates")

    def __post_init__(self) -> None:
        for key in ("first", "last"):
            day = as_date(getattr(self, key))
            if day is None:
                raise PolicyError(
                    f"{self.name}: {str(getattr(self, key))[:40]!r} is no date",
                    hints=['dates = ["2026-01-01", "2026-12-31"]'],
                )
            object.__setattr__(self, key, day)
        if self.last < self.first:
            raise PolicyError(f"{self.name} runs from {self.first} to {self.last}, which is empty")
        if self.timezone:
            _require_zone(self.name, self.timezone)
        DateFormat.of(self.format)
        super().__post_init__()

    @property
    def listed(self) -> int:
        """How many days there are."""
        return (self.last - self.first).days + 1

    def day(self, index: int) -> date:
        """The day at an index."""
        return self.first + timedelta(days=int(index))

    def label(self, index: int) -> str:
        """The day, as 2026-01-31."""
        return self.day(index).isoformat() if index < self.listed else OTHER

    def find(self, value: object) -> int:
        """The index of a day."""
        if self.has_other and value == OTHER:
            return self.listed
        day = as_date(value) or DateFormat.of(self.format).read(str(value))
        if day is None or not self.first <= day <= self.last:
            raise self._unknown(value)
        return (day - self.first).days

    def spec(self) -> dict[str, Any]:
        """First and last day."""
        return self._base_spec() | {
            "range": [self.first.isoformat(), self.last.isoformat()],
            "timezone": self.timezone,
        }


def as_date(value: object) -> date | None:
    """A day from a date, a point in time or text such as 2026-01-31; None for anything else.

    >>> as_date("2026-01-31"), as_date("31.1.2026"), as_date("20260131")
    (datetime.date(2026, 1, 31), None, None)
    """
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def _require_zone(name: str, zone: str) -> None:
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = sorted(zoneinfo.available_timezones())
        close = [z for z in known if z.lower().endswith(zone.lower())][:3]
        raise PolicyError(
            f"{name}: no time zone “{zone[:40]}”", hints=close or ['timezone = "Europe/Berlin"']
        ) from None


def _entries_given(value: object) -> Sequence[object]:
    """The entries of a series that was given as a list or as text with commas."""
    return value if isinstance(value, (list, tuple)) else [x.strip() for x in str(value).strip("[]()").split(",")]


@dataclass(frozen=True, kw_only=True)
class Series(Attribute):
    """Several columns of one ordered kind, as one attribute: a value is a whole series.

    Its entries are public properties: `usage.jan` is the number in the first column, `usage.total` the sum.  A series
    with an invalid entry is `other` as a whole.

    >>> usage = Series(name="usage", columns=("jan", "feb"), entry=Integers(name="usage", low=0, high=2))
    >>> usage.listed, usage.label(5), usage.properties["feb"].entries[5], usage.find("1, 2")
    (9, '1, 2', '2', 5)
    """

    columns: tuple[str, ...]
    entry: Integers | Numbers
    kind: str = field(init=False, default="series")

    @property
    def reads(self) -> tuple[str, ...]:
        """All its columns."""
        return self.columns

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns or any(not isinstance(c, str) or not c.strip() for c in self.columns):
            raise PolicyError(f"{self.name}: a series needs named columns", hints=['columns = ["jan", "feb"]'])
        if len(set(self.columns)) != len(self.columns):
            raise PolicyError(f"{self.name} lists a column twice")
        if self.listed > _MOST_SERIES:
            raise PolicyError(
                f"{self.name}: {self.entry.listed:,} values in each of {len(self.columns)} columns make "
                f"{self.listed:,} series, more than the {_MOST_SERIES:,} we can hold",
                hints=["fewer columns", "wider steps"],
            )
        super().__post_init__()

    @property
    def listed(self) -> int:
        """How many series there are."""
        return int(self.entry.listed ** len(self.columns))

    def entries(self, index: int) -> tuple[int, ...]:
        """The index of each entry; the last column fastest."""
        out = []
        for _ in self.columns:
            index, k = divmod(index, self.entry.listed)
            out.append(k)
        return tuple(reversed(out))

    def label(self, index: int) -> str:
        """The entries, with commas."""
        if index >= self.listed:
            return OTHER
        return ", ".join(self.entry.label(k) for k in self.entries(index))

    def find(self, value: object) -> int:
        """The index of a series, given as a list or as text with commas."""
        if self.has_other and value == OTHER:
            return self.listed
        given = _entries_given(value)
        if len(given) != len(self.columns):
            raise self._unknown(value)
        index = 0
        for entry in given:
            try:
                k = self.entry.find(entry)
            except QuestionError:
                raise self._unknown(value) from None
            if k == self.entry.listed:
                raise self._unknown(value)
            index = index * self.entry.listed + k
        return index

    @cached_property
    def _properties(self) -> dict[str, Property]:
        numbers = self.entry.numbers
        indices = [self.entries(k) for k in range(self.listed)]
        out = {}
        if "total" not in self.columns:
            totals = tuple(number_text(sum((numbers[k] for k in ks), Fraction(0))) for ks in indices)
            out["total"] = Property("total", totals, self.unit)
        for position, column in enumerate(self.columns):
            out[column] = Property(column, tuple(number_text(numbers[ks[position]]) for ks in indices), self.unit)
        return out

    @property
    def properties(self) -> Mapping[str, Property]:
        """Each entry, and their total."""
        return self._properties

    def entry_of(self, fact: Property | None) -> Attribute | None:
        """Of a column, its entries; the total is nobody's entry."""
        if fact is None:
            return self
        return self.entry if fact.name in self.columns else None

    def places_of(self, fact: Property) -> list[int]:
        """Which of the possible entries each series has in one of its columns."""
        position = self.columns.index(fact.name)
        return [self.entries(k)[position] for k in range(self.listed)]

    def hides(self, fact: Property | None = None) -> tuple[Fraction, Fraction]:
        """What an entry hides, or all of them together."""
        below, above = self.entry.hides()
        parts = len(self.columns) if fact is not None and fact.name == "total" and "total" not in self.columns else 1
        return below * parts, above * parts

    @property
    def clamps(self) -> bool:
        """Where its entries do."""
        return self.entry.clamps

    def beyond(self, value: object) -> bool:
        """If one of its entries is."""
        return any(map(self.entry.beyond, _entries_given(value)))

    def spec(self) -> dict[str, Any]:
        """Columns and entries."""
        return self._base_spec() | {"columns": list(self.columns), "entry": self.entry.spec()}
