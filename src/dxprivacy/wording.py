"""Formatting of numbers and terminal output: three significant digits, aligned columns, style tags.

Terminal output is built as lines with style tags, so that the same text can be printed by a library call and colored by
the command line.
"""

import json
import math
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, Protocol, TypeVar, runtime_checkable

from dxprivacy.errors import STEERING, DxError, one_line

# Characters that break a line, control a terminal or reverse the reading direction.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
STYLES = ("dim", "bold", "accent", "good", "warn", "bad")
_OURS = os.urandom(6).hex()  # random, part of every tag of this process: no name in a file can imitate a tag
TAG = re.compile(rf"⟦{_OURS}(/|{'|'.join(STYLES)})⟧")


def tag(style: str, text: str) -> str:
    """Mark text with one of the styles."""
    return f"⟦{_OURS}{style}⟧{text}⟦{_OURS}/⟧" if text else text


def plain(text: str) -> str:
    """Remove tags from a line, and replace characters that would break it.

    >>> plain(tag("bold", "x") + " y"), plain("a name\\n✓ verified"), plain("⟦good⟧ in a name")
    ('x y', 'a name�✓ verified', '⟦good⟧ in a name')
    """
    return TAG.sub("", one_line(text))


def quoted(word: str | os.PathLike[str]) -> str:
    """Quote a word for a shell, on one line.

    >>> quoted("plan.json"), quoted("count by sex"), quoted("$(id)"), quoted("a\\nb's")
    ('plan.json', "'count by sex'", "'$(id)'", "$'a\\\\nb\\\\'s'")
    """
    text = os.fspath(word)
    if isinstance(word, os.PathLike) and text.startswith("-"):
        text = f"./{text}"  # a path, not an option
    if not _UNQUOTABLE.search(text):
        return shlex.quote(text)
    escaped = _UNQUOTABLE.sub(_bytes_of, text.replace("\\", "\\\\").replace("'", "\\'"))
    return f"$'{escaped}'"


_UNQUOTABLE = re.compile(STEERING.pattern[:-1] + "⟦⟧]")  # our own tags would vanish from the line


def _bytes_of(found: re.Match[str]) -> str:
    if found.group() == "\n":
        return "\\n"
    return "".join(f"\\x{byte:02x}" for byte in found.group().encode("utf-8", "surrogateescape"))


def json_text(data: Any, *, allow_nan: bool = True, indent: int | None = 1) -> str:
    """Format JSON with letters as they are and control characters escaped.

    If a very long text has few letters beyond Latin-1, these are escaped too: they would double the memory that Python
    needs for the whole text.

    >>> json_text({"name": "é\\u202e"})
    '{\\n "name": "é\\\\u202e"\\n}'
    """
    pieces = [_ESCAPED.sub(_as_number, piece) for piece in _dumped(data, allow_nan=allow_nan, indent=indent)]
    length, wide = sum(map(len, pieces)), sum(len(_WIDE.findall(p)) for p in pieces if not p.isascii())
    if length > _LONG_TEXT and wide * _FEW < length:
        pieces = [p if p.isascii() else _WIDE.sub(_as_number, p) for p in pieces]
    return "".join(pieces)


def _as_number(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]


@runtime_checkable
class Written(Protocol):
    """A long list that formats itself as `json_text` would: each item on one line."""

    def written_pieces(self, before: str) -> Iterator[str]:
        """Yield the text in pieces; `before` is the indentation of an object's members."""


def _dumped(data: Any, *, allow_nan: bool, indent: int | None) -> Iterator[str]:
    """Yield indented JSON, each item of a very long list on one line: the indenting encoder is ten times slower."""
    if indent is None or not isinstance(data, dict) or not data:
        yield json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=allow_nan)
        return
    before, start = " " * indent, "{"
    for name, value in data.items():
        yield f"{start}\n{before}{json.dumps(name, ensure_ascii=False)}: "
        start = ","
        if isinstance(value, Written):
            yield from value.written_pieces(before)
        elif isinstance(value, list) and len(value) > LONG_LIST:
            yield from _line_by_line(value, before, allow_nan=allow_nan)
        else:
            text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=allow_nan)
            yield text.replace("\n", "\n" + before)
    yield "\n}"


def _line_by_line(items: list[Any], before: str, *, allow_nan: bool) -> Iterator[str]:
    start, between = f"[\n{before * 2}", f",\n{before * 2}"
    scalars = {str, int, float, bool, type(None)}
    for at in range(0, len(items), LONG_LIST):
        part = items[at : at + LONG_LIST]
        if scalars.issuperset(map(type, part)):  # no nested containers, so the separators are those of the list
            text = json.dumps(part, ensure_ascii=False, allow_nan=allow_nan, separators=(between, ": "))[1:-1]
        else:
            encode = json.JSONEncoder(ensure_ascii=False, allow_nan=allow_nan).encode
            text = between.join(map(encode, part))
        yield (between if at else start) + text
    yield f"\n{before}]"


_LONG_TEXT = 1 << 20
_FEW = 1_000  # escape wide letters if they are fewer than one in this many
_WIDE = re.compile("[\u0100-\U0010ffff]")
LONG_LIST = 2_000
"""Lists with more items have one item per line."""
_ESCAPED = re.compile(STEERING.pattern.replace("\x00-\x1f", ""))  # json escapes those; the remaining ones are ours


def digits(x: float) -> str:
    """Format a number with three significant digits and thousands separators.

    >>> digits(1498.7), digits(0.00831), digits(12.53), digits(float("inf")), digits(0)
    ('1,499', '0.00831', '12.5', '∞', '0')
    """
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if x != x:
        return "?"
    if x == 0:
        return "0"
    size = abs(x)
    if size < 1e-6 or size >= 1e15:
        return f"{x:.2e}"
    places = max(0, 2 - math.floor(math.log10(size)))
    text = f"{x:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def times(x: float) -> str:
    """Format a factor with two significant digits.

    >>> times(149.9), times(7.53), times(1.04), times(7.7e8)
    ('150×', '7.5×', '1×', 'over 100,000×')
    """
    if not math.isfinite(x):
        return "∞×" if x > 0 else "–"
    if x > 100_000:
        return "over 100,000×"
    if x >= 100:
        return f"{round(x, -1 if x < 1000 else -2):,.0f}×"
    if x >= 10:
        return f"{x:.0f}×"
    return f"{x:.2g}×"


def percent(x: float) -> str:
    """Format a fraction as per cent; fractions below 1e-6 become 0.

    >>> percent(0.25), percent(1e-12)
    ('25 %', '0 %')
    """
    return f"{digits(100 * x) if x >= 1e-6 else '0'} %"


def columns(rows: Iterable[Sequence[str]], align: str, *, indent: int = 2, gap: int = 2) -> list[str]:
    """Align the columns of a table: `l` left, `r` right.  A row with one field is a heading of any length.

    >>> columns([["a", "1"], ["bcd", "22"]], "lr")
    ['  a     1', '  bcd  22']
    """
    table = [list(row) for row in rows]
    aligned = [row for row in table if len(row) > 1 or len(align) == 1]
    widths = [max((len(plain(row[c])) for row in aligned), default=0) for c in range(len(align))]
    out = []
    for row in table:
        if len(row) == 1 < len(align):
            out.append(" " * indent + row[0])
            continue
        cells = []
        for cell, width, side in zip(row, widths, align, strict=True):
            pad = " " * (width - len(plain(cell)))
            cells.append(cell + pad if side == "l" else pad + cell)
        out.append((" " * indent + (" " * gap).join(cells)).rstrip())
    return out


def short(text: str, width: int) -> str:
    """Shorten a text to at most `width` characters, with an ellipsis.

    >>> short("Saint-Louis-du-Ha! Ha!", 12)
    'Saint-Louis…'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def short_pair(text: str, width: int) -> str:
    """Shorten `a – b` to at most `width` characters and keep a part of both names.

    >>> short_pair("A place with a long name – B", 20), short_pair("A – B", 20)
    ('A place with a … – B', 'A – B')
    """
    a, dash, b = text.partition(" – ")
    if len(text) <= width or not dash:
        return short(text, width)
    room = width - len(dash)
    first = min(len(a), max(room // 2, room - len(b)))
    return f"{short(a, first)}{dash}{short(b, room - first)}"


def wrap(text: str, width: int = 96, indent: str = "") -> list[str]:
    """Wrap text, with the lines after the first indented; a sign stays on one line with its number."""
    import textwrap

    lines = textwrap.wrap(tied(text), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


def tied(text: str) -> str:
    """Put no-break spaces between signs and their numbers.

    >>> tied("ε = 3, ± 2") == "ε\\u00a0=\\u00a03, ±\\u00a02"
    True
    """
    return re.sub(r"(±|ε|ε =|=|×) (?=[\d∞−-])", lambda m: m.group(0).replace(" ", "\u00a0"), text)


def plural(n: int, word: str) -> str:
    """Return a number with its noun in singular or plural.

    >>> plural(1, "answer"), plural(1200, "answer"), plural(2, "sex"), plural(3, "county"), plural(4, "survey day")
    ('1 answer', '1,200 answers', '2 sexes', '3 counties', '4 survey days')
    """
    if n == 1:
        many = word
    elif re.search(r"[^aeiou]y$", word):
        many = word[:-1] + "ies"
    else:
        many = word + ("es" if re.search(r"(s|x|z|ch|sh)$", word) else "s")
    return f"{n:,} {many}"


def numbered(numbers: Sequence[int], word: str = "entry") -> str:
    """List increasing numbers after a noun; runs of more than three are shortened to their ends.

    >>> numbered([2]), numbered([1, 3]), numbered([1, 3, 4, 5, 6])
    ('entry 2', 'entries 1, 3', 'entries 1, 3–6')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    written = [text for run in runs for text in ([span(run)] if len(run) > 3 else map(str, run))]
    return f"{word if len(numbers) == 1 else plural(2, word).removeprefix('2 ')} {', '.join(written)}"


def span(numbers: Sequence[int]) -> str:
    """Return the first and the last number as a range.

    >>> span([3, 4, 7]), span([3])
    ('3–7', '3')
    """
    return f"{numbers[0]}–{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


class OneLine:
    """A value whose `repr` is one line with its class and a summary; dataclasses that extend it inherit this `repr`.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Long(OneLine):
    ...     entries: tuple[int, ...]
    ...     def in_short(self):
    ...         return f"{len(self.entries)} entries"
    >>> Long((1, 2, 3))
    Long(3 entries)
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = OneLine.__repr__  # type: ignore[method-assign]  # or a dataclass would write its own

    def in_short(self) -> str:
        """Return a short summary for the `repr`; it must not contain private data."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({one_line(short(self.in_short(), _SUMMARY))})"


_SUMMARY = 160
C = TypeVar("C")


def repr_of_half_built(kind: type[C]) -> type[C]:
    """Make the `repr` of a class work if attributes are missing, because tracebacks may show incomplete objects.

    >>> @repr_of_half_built
    ... class Named:
    ...     def __repr__(self):
    ...         return f"Named({self.name})"
    >>> Named()
    Named(not complete)
    """
    complete = kind.__repr__

    @wraps(complete)
    def shown(self: C) -> str:
        try:
            return complete(self)
        except Exception:  # a missing attribute can raise any exception
            return f"{type(self).__name__}(not complete)"

    kind.__repr__ = shown  # type: ignore[method-assign, assignment]
    return kind


repr_of_half_built(OneLine)


class Displayed(OneLine):
    """A value that notebooks display as a table and a picture, offline."""

    def _repr_html_(self) -> str | None:
        """Return the HTML for notebooks, made by `dxprivacy.display_of`.

        None for an object whose construction failed and for a closed ledger: notebooks show their `repr` instead.
        """
        try:
            self.in_short()
            return str(sys.modules["dxprivacy"].display_of(type(self))(self))
        except (AttributeError, DxError):
            return None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:  # noqa: ARG002
        """Return `repr` and HTML, for notebooks that support MIME bundles."""
        shown = self._repr_html_()
        return {"text/plain": repr(self)} | ({} if shown is None else {"text/html": shown})


def shown(value: object) -> str:
    """Return the terminal output of a value, for `print`.

    The lines are made in packages that import the value's module, so the function is looked up by
    `dxprivacy.screen_of`.
    """
    package = sys.modules["dxprivacy"]
    return "\n".join(plain(line) for line in package.screen_of(type(value))(value))
