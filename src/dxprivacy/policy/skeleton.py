"""`dxp init`: write a policy to fill in, from column names and types only.  No row is read; curators fill in values.

The exception is a column whose values the curator declares public: they are listed, and marked as read from the data.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dxprivacy.policy.tables.place_files import LATITUDE, LONGITUDE
from dxprivacy.universe.file_format import PLAIN, FileFormat
from dxprivacy.wording import UNPRINTABLE

# -- Whether a column looks like a key of people: by its name and declared type alone ----------------------------------


_WORDS = (
    *("id", "ids", "key", "uuid", "guid", "uid", "pid", "ssn", "nr", "no", "num", "number", "seqn", "seqno", "code"),
    *("patient", "person", "customer", "client", "user", "member", "subject", "respondent", "participant", "student"),
    *("employee", "household", "account", "card", "device", "phone", "email", "passport", "plate", "vehicle", "name"),
)
_TYPES = ("text", "untyped", "whole")


def looks_like_key(column: str, kind: str) -> bool:
    """Guess whether a column is a key of people, from the words of its name or its ending; `kind` as in `skeleton`.

    >>> [looks_like_key(c, "text") for c in ("tailnum", "PatientID", "customer_nr", "sex", "valid", "income")]
    [True, True, True, False, False, False]
    >>> looks_like_key("patient", "number")
    False
    """
    if kind not in _TYPES:
        return False
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", column)
    ends = re.search(r"(?:[a-z]ID|_id|Id|num|uuid)$", column)
    return bool(ends) or any(word.lower() in _WORDS for word in words)


# -- `dxp init` --------------------------------------------------------------------------------------------------------


OPEN = "…"
"""The placeholder that a person must replace; a policy that still contains it is refused."""

_HEAD = """\
# How distinguishable may answers make any two records?  Fill in every “…”, and remove what you do not publish.
# docs/policy.md explains every key; dxp check explains what the finished file means.
{types}title = "{title}"
dataset = "{dataset}"
{neighbors}"""
_RECORDS = """\
neighbors = "replace"                  # one record is replaced by another; the number of records is public
"""
_PEOPLE = """\
neighbors = "replace"                  # one person with all their rows is replaced by another; their number is public

[people]
key = {key}
max_rows = "…"                     # max_rows = 10: at most 10 rows of each person count, and share every ε
"""
_UNTYPED = """\
# The data has no types, so every column has values; for numbers: integers = [0, 120], per = 10; also numbers, dates.
"""
_KINDS = {
    "whole": """\
integers = ["…", "…"]             # the least and the largest number that may occur, as [0, 120]; others are “other”
epsilon = 1.0
per = "…"                         # per = 10: ε 1 for every 10 apart
""",
    "number": """\
numbers = ["…", "…"]              # the least and the largest number that may occur, as [0, 1000]; others are “other”
step = "…"                        # step = 10: the width of a bin; numbers are counted, and summed, by bins
epsilon = 1.0
per = "…"                         # per = 100: ε 1 for every 100 apart
""",
    "date": """\
dates = ["…", "…"]                # the first and the last day that may occur, as ["2026-01-01", "2026-12-31"]
# step = "1 month"                # for dates of birth: weeks, months or years, with per = "1 year"; or weekdays = true
epsilon = 1.0
per = "…"                         # per = "7 days": ε 1 for every 7 days apart
""",
    "instant": """\
dates = ["…", "…"]                # the first and the last day that may occur, as ["2026-01-01", "2026-12-31"]
# step = "1 month"                # weeks, months or years, with per = "1 year"; or weekdays = true, or hours = [0, 24]
timezone = "UTC"                  # the time zone of the days
epsilon = 1.0
per = "…"                         # per = "7 days": ε 1 for every 7 days apart
""",
    "time": """\
hours = [0, 24]                   # times of day; also step = "15 minutes", and circle = true if 23:00 is next to 0:00
epsilon = 1.0
per = "…"                         # per = "1 hour": ε 1 for every hour apart
""",
    "truth": """\
values = [true, false]
epsilon = 1.0
""",
    "text": """\
values = ["…", "…"]               # every value that may occur, exactly as written; or a file of them, "zips.csv"
epsilon = 1.0                     # for values of different sensitivity: {{ yes = 0.1, no = 1.0 }}
# order = ["…", "…"]              # instead of values: in their order, with per = 1: ε 1 for every step apart
""",
}
_KINDS["untyped"] = _KINDS["text"]
_PUBLIC = """\
# Declared public: which values occur was read from the data, and everyone who sees this file knows it.
# Entries that no policy can list (empty ones, the word “other”) count as “other”.
values = {values}
declared_public = true
epsilon = 1.0                     # the ε between any two of these values
"""
_PLACES = """\
[attributes.place]
coordinates = {columns}
grid = "…"                        # grid = "5 km": each row in a grid cell of the box; instead of grid and box,
box = ["…", "…", "…", "…"]        # points = "places.csv": at the nearest listed place.  South, west, north, east
epsilon = 1.0
per = "…"                         # per = "100 km": ε 1 for every 100 km apart
"""
_WIDTH = 100
_UNSUPPORTED = "# column “{column}” is {words}: not supported yet\n"
_UNSEEN = "# column “{column}” has a character in its name that cannot be seen: rename it to read it\n"


@dataclass(frozen=True)
class WrittenPolicy:
    """The declared formats of the data's lines, numbers and dates; empty if not declared."""

    file: FileFormat = PLAIN
    numbers: str = ""  # the number 1234.5 in the format of the data
    dates: str = ""


_AS_USUAL = WrittenPolicy()
_RECORDS_OF_VIEWS = "rows_are_records = true           # of a view: you declared that each row comes from one record"


_ROLE = "# The records are the rows that this role sees; whether it sees a row depends on that row alone."


def _declared(file: FileFormat) -> list[str]:
    """Return the lines that declare properties of the tables of a server."""
    found = [_RECORDS_OF_VIEWS] if file.rows_are_records else []
    return found + (
        [_ROLE, f'row_security_role = "{_escaped(file.row_security_role)}"'] if file.row_security_role else []
    )


def skeleton(
    title: str,
    dataset: str,
    columns: Sequence[tuple[str, str, str]],
    public: Mapping[str, Sequence[str | int]] | None = None,
    written: WrittenPolicy = _AS_USUAL,
    key: Sequence[str] = (),
) -> str:
    """Return the text of a policy for columns given as (name, kind, words).

    Kinds are whole, number, date, instant, time, truth, text and untyped; others are not supported, and `words` says
    what they are.  `public` has the values of columns that were declared public, `written` the declared formats, and
    `key` the columns that identify people.

    >>> print(skeleton("Survey", "survey", [("age", "whole", "")]).splitlines()[-4])
    # [attributes.age]
    """
    public = public or {}
    untyped = any(kind == "untyped" and column not in public for column, kind, _ in columns)
    neighbors = _PEOPLE.format(key=_names(key)) if key else _RECORDS
    types = _UNTYPED if untyped else ""
    parts = [_HEAD.format(title=_plain(title), dataset=_plain(dataset), types=types, neighbors=neighbors)]
    declared = _declared(written.file)
    parts[0] = re.sub("(?m)^(dataset = .*)$", lambda found: "\n".join([found[0], *declared]), parts[0], count=1)
    if written.file.of_lines:
        parts.append(_file_table(written.file))
    for column, kind, words in columns:
        if column in key:
            continue
        if UNPRINTABLE.search(column):
            parts.append(_UNSEEN.format(column=_escaped(column)))
            continue
        if kind not in _KINDS:
            parts.append(_UNSUPPORTED.format(column=_plain(column), words=words or "of an unknown type"))
            continue
        name = re.sub(r"[^\w-]+", "_", column).strip("_") or "column"
        lines = [f"[attributes.{_key(name)}]"]
        if name != column:
            lines.append(f'column = "{_escaped(column)}"')
        filled = _PUBLIC.format(values=_list(public[column])) if column in public else _KINDS[kind].format()
        lines += filled.splitlines()
        if kind in ("text", "untyped") and column not in public:
            lines += _formats(written)
        parts.append("".join(f"# {line}\n" for line in lines))
    if (
        pair := _coordinates([c for c, kind, _ in columns if kind in ("number", "untyped") and c not in key])
    ) is not None:
        parts.append("".join(f"# {line}\n" for line in _PLACES.format(columns=_list(pair)).splitlines()))
    return "\n".join(parts)


def _coordinates(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns named latitude and longitude, if there is exactly one of each."""
    pair = [[name for name in names if name.lower() in known] for known in (LATITUDE, LONGITUDE)]
    return (pair[0][0], pair[1][0]) if len(pair[0]) == len(pair[1]) == 1 else None


def _file_table(file: FileFormat) -> str:
    """Write `[file]`, as `policy.tables.file_table` reads it."""
    lines = [("[file]", "the format of the data's lines; sheets and Parquet need none")]
    if file.delimiter:
        lines.append((f'delimiter = "{_escaped(file.delimiter)}"', "the character between fields"))
    if file.encoding != PLAIN.encoding:
        lines.append((f'encoding = "{file.encoding}"', "bytes that are invalid in it count as “other”"))
    if file.quoted_line_breaks:
        lines.append(("quoted_line_breaks = true", "a quoted field may continue on the next line"))
    if not file.has_header:
        lines.append(("header = false", "the first line is a record; its columns are, in order:"))
    text = "".join(f"{line.ljust(33)} # {why}\n" for line, why in lines)
    return text + (f"columns = {_list(file.columns)}\n" if file.columns else "")


def _formats(written: WrittenPolicy) -> list[str]:
    """Return commented-out formats for a text column that may contain numbers or dates."""
    lines = []
    if written.numbers:
        lines.append(f'# format = "{_plain(written.numbers)}"'.ljust(33) + " # with integers = […] or numbers = […]")
    if written.dates:
        lines.append(f'# format = "{_plain(written.dates)}"'.ljust(33) + " # with dates = […]")
    return lines


def _list(values: Sequence[str | int]) -> str:
    """Write a TOML list, over several lines if it is long."""
    texts = [str(v) if isinstance(v, int) and v.bit_length() < 63 else f'"{_plain(str(v))}"' for v in values]
    short = f"[{', '.join(texts)}]"
    if len(short) <= _WIDTH:
        return short
    lines = [""]
    for text in texts:
        if lines[-1] and len(lines[-1]) + len(text) > _WIDTH:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{text},"
    return "\n".join(["[", *(f"  {line}" for line in lines), "]"])


def _names(columns: Sequence[str]) -> str:
    texts = [f'"{_escaped(column)}"' for column in columns]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def _plain(text: str) -> str:
    """Escape text for display inside quotes; unprintable characters become spaces."""
    return _escaped(UNPRINTABLE.sub(" ", text))


def _escaped(text: str) -> str:
    """Escape text inside quotes so that it is read back unchanged.

    >>> print(_escaped('a"b' + chr(9) + chr(7)))
    a\\"b\\t\\u0007
    """
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
