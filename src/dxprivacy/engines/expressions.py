"""Expression tree that maps an entry to an index; the queries of all engines are rendered from it.

`placement` builds the expressions, for each codec and column type. A dialect renders them as SQL (`duckdb_dialect`,
`postgres_dialect`, `spark_dialect`). The nodes are independent of any engine. Every rendering must keep these rules:

- nothing fails: if an operand is NULL, or an operation has no result, the result is NULL;
- whole numbers are exact (64 bits, with `wide` at least 81); `Real` numbers are float64, and each operation on them is
  rounded once, to nearest;
- patterns use the common part of Python's `re` and RE2, and match whole texts; digits are ASCII;
- a text is inspected only after its length was checked: a pattern inside a `When` sees no other text.

The set of nodes is closed: a dialect refuses any other node.
"""

from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

# -- inputs and constants ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """The argument of a step: the entry as stored in its column, or the result of the previous step.

    `native` is the engine's own type of the column; only its dialect interprets it.
    """

    native: str = ""


@dataclass(frozen=True)
class Nothing:
    """NULL of the type that the expression would have: `whole` (also for times, in seconds) or `day`."""

    of: str


@dataclass(frozen=True)
class WholeLiteral:
    """A whole number."""

    number: int
    wide: bool = False


@dataclass(frozen=True)
class Real:
    """An exact float64 constant; whole numbers may be given as int."""

    number: float | int


@dataclass(frozen=True)
class Day:
    """A day."""

    day: date


# -- text --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AsText:
    """The text of a decimal number, with all digits of its type and a decimal point."""

    value: "Value"


@dataclass(frozen=True)
class AsBytes:
    """The UTF-8 bytes of a text, of the shortest text of a whole number, or of `true` or `false`."""

    value: "Value"


@dataclass(frozen=True)
class OwnText:
    """The engine's own shortest text that identifies a floating-point number within its type.

    The same engine writes the listed numbers that it is compared with, so the form of exponents does not matter.
    """

    number: Input


@dataclass(frozen=True)
class Stripped:
    """A text without blanks and tabs, or other marks, at its ends; the text was checked to be valid Unicode."""

    text: "Value"
    marks: str = " \t"


@dataclass(frozen=True)
class Folded:
    """A text with each character of `old` replaced by the one at its position in `new`; checked to be valid Unicode."""

    text: "Value"
    old: str
    new: str


@dataclass(frozen=True)
class Replaced:
    """A text with every `old` replaced by `new`."""

    text: "Value"
    old: str
    new: str


@dataclass(frozen=True)
class FirstGroup:
    """The match of the first group of a pattern; an empty text or NULL if the whole text does not match."""

    text: "Value"
    pattern: str


# -- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToWhole:
    """The whole number that a text or a number equals; NULL if it is not whole or does not fit."""

    value: "Value"
    wide: bool = False


@dataclass(frozen=True)
class ToReal:
    """The float64 nearest to a number or to its decimal text; NULL on overflow."""

    value: "Value"


@dataclass(frozen=True)
class Sound:
    """A decimal number with no more digits than its type, else NULL: the stored bits can hold more."""

    value: Input


@dataclass(frozen=True)
class WrittenDay:
    """The day that a text names by a pattern with groups for year, month and day; NULL if there is no such day."""

    text: "Value"
    pattern: str
    year: int
    month: int
    day: int


@dataclass(frozen=True)
class WrittenTime:
    """The seconds since midnight that a text names by a pattern; NULL if the text does not match.

    The groups hour, minute and second are numbers that a clock can show. A group number of 0, or a group that matches
    nothing, counts as 0.
    """

    text: "Value"
    pattern: str
    hour: int
    minute: int
    second: int


@dataclass(frozen=True)
class Microseconds:
    """Microseconds from 1970 to a point in time, or from midnight to a time of day, rounded down.

    Instants are counted in UTC, all others as the clock shows.
    """

    moment: Input


@dataclass(frozen=True)
class OffsetAt:
    """A time zone's offset in microseconds at an instant, from a sorted table of (from, offset) in seconds.

    The first pair also applies before its start.  Time-zone data differ between databases, so they are not used.
    """

    instant: Input
    table: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class OffsetAtSecond:
    """The offset in seconds at a number of seconds; `table` has pairs (from, offset), the first also applies before."""

    seconds: "Value"
    table: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class DayOf:
    """The day of a clock that shows this number of microseconds since 1970."""

    microseconds: "Value"


@dataclass(frozen=True)
class SecondOfDay:
    """The whole seconds since midnight of a clock that shows this number of microseconds since 1970 (or before it)."""

    microseconds: "Value"


@dataclass(frozen=True)
class TimeAt:
    """The point in time this number of seconds after a day begins."""

    day: date
    seconds: "Value"


@dataclass(frozen=True)
class MonthOf:
    """The number of months from year 0 to a day: 12 times its year, plus the months before its own."""

    day: "Value"


@dataclass(frozen=True)
class FirstOfMonth:
    """The first day of the month with this number, numbered as in `MonthOf`."""

    month: "Value"


# -- arithmetic and conditions -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arithmetic:
    """`+`, `-`, `*` of two numbers, `/` of two reals, `-` of two days (in days), `+` of a day and days."""

    left: "Value"
    sign: str
    right: "Value"


@dataclass(frozen=True)
class Floor:
    """The largest whole number not above a real, as a real."""

    number: "Value"


@dataclass(frozen=True)
class Quotient:
    """A non-negative whole number divided by a positive one, rounded down."""

    number: "Value"
    by: int


@dataclass(frozen=True)
class Remainder:
    """The remainder of a non-negative whole number modulo a positive one."""

    number: "Value"
    by: int


@dataclass(frozen=True)
class Clamped:
    """A number or a day, clamped to a range."""

    number: "Value"
    low: WholeLiteral | Real | Day
    high: WholeLiteral | Real | Day


@dataclass(frozen=True)
class OneIf:
    """1 where a condition holds, else 0."""

    condition: "Condition"


@dataclass(frozen=True)
class Unless:
    """A whole number, or NULL if it equals `excluded`."""

    number: "Value"
    excluded: int


@dataclass(frozen=True)
class Otherwise:
    """A value, or another one if it is NULL."""

    value: "Value"
    other: "Value"


@dataclass(frozen=True)
class When:
    """A value if a condition holds, else NULL; the value is not computed if the condition does not hold."""

    condition: "Condition"
    value: "Value"


@dataclass(frozen=True)
class NoLonger:
    """Whether a text has at most `most` bytes."""

    text: "Value"
    most: int


@dataclass(frozen=True)
class Matches:
    """Whether the whole of a text matches a pattern."""

    text: "Value"
    pattern: str


@dataclass(frozen=True)
class IsUnicode:
    """Whether a text is valid UTF-8: stored bytes can be anything."""

    text: "Value"


@dataclass(frozen=True)
class IsFinite:
    """Whether a real is neither infinite nor NaN."""

    number: "Value"


@dataclass(frozen=True)
class IsWhole:
    """Whether a real has no fraction; the result for infinities and NaN does not matter."""

    number: "Value"


@dataclass(frozen=True)
class ComparedEntry:
    """A comparison of two numbers: `<`, `>=` or `=`."""

    left: "Value"
    sign: str
    right: "Value"


@dataclass(frozen=True)
class Between:
    """Whether a value lies in a range, both ends included."""

    value: "Value"
    low: WholeLiteral | Real | Day
    high: WholeLiteral | Real | Day


@dataclass(frozen=True)
class InDays:
    """Whether a point in time lies in the days from `first` to `last`, in UTC or on its clock.

    It is compared in its own type, because no other type may be able to hold it.
    """

    moment: Input
    first: date
    last: date


@dataclass(frozen=True)
class Both:
    """Whether two conditions hold; the first is evaluated first."""

    first: "Condition"
    second: "Condition"


Condition: TypeAlias = NoLonger | Matches | IsUnicode | IsFinite | IsWhole | ComparedEntry | Between | InDays | Both
Value: TypeAlias = (
    Input
    | Nothing
    | WholeLiteral
    | Real
    | Day
    | AsText
    | AsBytes
    | OwnText
    | Stripped
    | Folded
    | Replaced
    | FirstGroup
    | ToWhole
    | ToReal
    | Sound
    | WrittenDay
    | WrittenTime
    | Microseconds
    | OffsetAt
    | OffsetAtSecond
    | DayOf
    | SecondOfDay
    | TimeAt
    | MonthOf
    | FirstOfMonth
    | Arithmetic
    | Floor
    | Quotient
    | Remainder
    | Clamped
    | OneIf
    | Unless
    | Otherwise
    | When
)
