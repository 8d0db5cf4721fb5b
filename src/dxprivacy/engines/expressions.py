"""How an entry becomes a cell, as a value: the few kinds of expressions from which every engine's query is made.

`placement` writes them, once for each way of reading and each type of column; a dialect renders them (`duckdb_dialect`,
`postgres_dialect`, `spark_dialect`).  So they say what is meant, in no engine's words, and what every rendering has to
keep:

- nothing fails: where an operand is nothing (NULL), or an operation has no result, the result is nothing;
- whole numbers are exact (64 bits, where `wide` at least 81); `Real` numbers are float64, and each operation on them is
  rounded once, to the nearest;
- patterns are in the common part of Python's `re` and RE2, and match whole texts, ASCII digits only;
- a text is looked at only where its length was asked for before: a pattern behind a `When` sees no other text.

The set is closed: a dialect that meets another node refuses it.
"""

from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

# -- what is given, and constants --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """What a step is given: the entry as it stands in its column, or what the step before made of it.

    `native` is the engine's own type of the column, opaque to all but its dialect.
    """

    native: str = ""


@dataclass(frozen=True)
class Nothing:
    """NULL, of the type that the expression would have: `whole` (also of times, in seconds) or `day`."""

    of: str


@dataclass(frozen=True)
class WholeLiteral:
    """A whole number."""

    number: int
    wide: bool = False


@dataclass(frozen=True)
class Real:
    """A float64 number, exactly that one; whole ones may be given as such."""

    number: float | int


@dataclass(frozen=True)
class Day:
    """A day."""

    day: date


# -- text --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AsText:
    """The text of a decimal number, all digits of its type, with a point."""

    value: "Value"


@dataclass(frozen=True)
class AsBytes:
    """The UTF-8 bytes of a text, of a whole number's shortest text, of `true` or `false`."""

    value: "Value"


@dataclass(frozen=True)
class OwnText:
    """The engine's own text of a floating-point number, in the fewest digits that tell it from all others of its type.

    Listed numbers that it is compared with are written by the same engine, so that exponents may look as they like.
    """

    number: Input


@dataclass(frozen=True)
class Stripped:
    """A text without blanks and tabs, or other marks, at its ends; of sound Unicode, which was asked for before."""

    text: "Value"
    marks: str = " \t"


@dataclass(frozen=True)
class Folded:
    """A text with each of the characters `old` replaced by the one at the same place of `new`; of sound Unicode."""

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
    """What the first group of a pattern matches; where the whole text does not match, an empty text or nothing."""

    text: "Value"
    pattern: str


# -- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToWhole:
    """The whole number that a text or a number is; nothing where it is none, or does not fit."""

    value: "Value"
    wide: bool = False


@dataclass(frozen=True)
class ToReal:
    """The float64 that is nearest to a number or to the decimal text of one; nothing where it overflows."""

    value: "Value"


@dataclass(frozen=True)
class Sound:
    """A decimal number that has no more digits than its type, else nothing: bits can hold more."""

    value: Input


@dataclass(frozen=True)
class WrittenDay:
    """The day that a text names by a pattern with three groups, which are year, month and day; nothing for no day."""

    text: "Value"
    pattern: str
    year: int
    month: int
    day: int


@dataclass(frozen=True)
class WrittenTime:
    """The seconds since midnight that a text names by a pattern, whose groups hour, minute and second are numbers that
    a clock shows; a group that is 0 or matches nothing counts 0; nothing where the text does not match.
    """

    text: "Value"
    pattern: str
    hour: int
    minute: int
    second: int


@dataclass(frozen=True)
class Microseconds:
    """Those from 1970 to a point in time, or from midnight to a time of day, rounded down; an instant's in UTC, others'
    as the clock shows.
    """

    moment: Input


@dataclass(frozen=True)
class OffsetAt:
    """A time zone's offset in microseconds at an instant, from a table (from, offset) in seconds, in order.

    The first pair also holds before it.  A database's own time zones differ from one to the next: none is asked.
    """

    instant: Input
    table: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class OffsetAtSecond:
    """The offset in seconds at a number of seconds; `table` has pairs (from, offset), the first also before it."""

    seconds: "Value"
    table: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class DayOf:
    """The day of a clock that shows so many microseconds since 1970."""

    microseconds: "Value"


@dataclass(frozen=True)
class SecondOfDay:
    """The whole seconds since midnight of a clock that shows so many microseconds since 1970, or before it."""

    microseconds: "Value"


@dataclass(frozen=True)
class TimeAt:
    """The point in time so many seconds after a day begins."""

    day: date
    seconds: "Value"


@dataclass(frozen=True)
class MonthOf:
    """The months from the year 0 to a day: 12 times its year, and those before its own."""

    day: "Value"


@dataclass(frozen=True)
class FirstOfMonth:
    """The first day of the month with this number, as `MonthOf` counts them."""

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
    """The largest whole number below a real, as a real."""

    number: "Value"


@dataclass(frozen=True)
class Quotient:
    """How often a positive whole number goes into one that is not negative."""

    number: "Value"
    by: int


@dataclass(frozen=True)
class Remainder:
    """What a positive whole number leaves of one that is not negative."""

    number: "Value"
    by: int


@dataclass(frozen=True)
class Clamped:
    """A number or a day, or the end of the range that is nearest to it."""

    number: "Value"
    low: WholeLiteral | Real | Day
    high: WholeLiteral | Real | Day


@dataclass(frozen=True)
class OneIf:
    """1 where a condition holds, else 0."""

    condition: "Condition"


@dataclass(frozen=True)
class Unless:
    """A whole number, or nothing where it is the given one."""

    number: "Value"
    excluded: int


@dataclass(frozen=True)
class Otherwise:
    """A value; another one where it is nothing."""

    value: "Value"
    other: "Value"


@dataclass(frozen=True)
class When:
    """A value where a condition holds, else nothing; where it does not hold, the value is not computed."""

    condition: "Condition"
    value: "Value"


@dataclass(frozen=True)
class NoLonger:
    """Whether a text has at most so many bytes."""

    text: "Value"
    most: int


@dataclass(frozen=True)
class Matches:
    """Whether the whole of a text matches a pattern."""

    text: "Value"
    pattern: str


@dataclass(frozen=True)
class IsUnicode:
    """Whether a text is sound UTF-8: bytes can be anything."""

    text: "Value"


@dataclass(frozen=True)
class IsFinite:
    """Whether a real is neither infinite nor NaN."""

    number: "Value"


@dataclass(frozen=True)
class IsWhole:
    """Whether a real has no fraction; what infinite ones and NaN answer does not matter."""

    number: "Value"


@dataclass(frozen=True)
class ComparedEntry:
    """`<` or `>=` of two numbers."""

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
    """Whether a point in time lies in days from `first` to `last`, in UTC or on its clock; compared in its own type,
    since no other may hold it.
    """

    moment: Input
    first: date
    last: date


@dataclass(frozen=True)
class Both:
    """Whether two conditions hold; the first is asked first."""

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
