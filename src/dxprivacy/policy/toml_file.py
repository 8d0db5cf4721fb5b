"""A TOML file as text with positions, so that every error can name its line: policies, and queries in files."""

import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, ClassVar, Self

from dxprivacy.errors import DxError, Hint, PolicyError, did_you_mean
from dxprivacy.formats.file_access import read_text
from dxprivacy.wording import UNPRINTABLE as UNPRINTABLE

_SHOWN = 100
_LONGEST_NUMBER = 40
_LONG_INTEGER = re.compile(
    r"(?<![\w.\"'-])[+-]?(?:0x[0-9a-fA-F_]{15,}|0o[0-7_]{21,}|0b[01_]{63,}|[0-9][0-9_]{18,})(?![\w.])"
)
_HALF_NUMBER = re.compile(r"[=\[,]\s*[+-]?(\.\d+|\d+\.)(?![\w.])")  # `.5` or `5.`, which other languages read
# Frequent messages of tomllib, and clearer ones.
_IN_OUR_WORDS = (
    (r"Cannot overwrite a value", "this key is given twice"),
    (r"Cannot declare .* twice", "this table is given twice"),
    (r"Cannot mutate immutable namespace .*", "this table is complete already and cannot be added to"),
    (r"Invalid value", "the value cannot be read; text needs quotes"),
    (r"Invalid statement", "a line is “key = value” or “[table]”"),
    (r"Expected '=' after a key in a key/value pair", "“=” is missing after the key"),
    (r"Expected newline or end of document after a statement", "something follows the value on its line"),
    (r"Unclosed array", "a list is not closed; “]” is missing"),
    (r"Unclosed inline table", "a table in braces is not closed; “}” is missing, in its own line"),
    (r"Unterminated string", "a text is not closed; its quote is missing"),
    (r"Illegal character '\\n'", "a text is not closed; its quote is missing"),
)


@dataclass(frozen=True)
class TomlFile:
    """The parsed tables of a file, its text and its path; numbers are exact decimals."""

    tables: dict[str, Any]
    text: str
    path: Path | None = None

    noun: ClassVar[str] = "file"
    failure: ClassVar[type[DxError]] = DxError
    missing: ClassVar[Hint]
    nested: ClassVar[str]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read and parse a file."""
        file = Path(path)
        try:
            text = read_text(file)
        except FileNotFoundError:
            raise cls.failure("no such file", where=_short(str(file)), hints=[cls.missing]) from None
        except UnicodeDecodeError:
            hint = f"save the {cls.noun} as UTF-8"
            raise cls.failure("not UTF-8 text", where=_short(str(file)), hints=[hint]) from None
        except OSError as error:
            what = f"cannot be read: {error.strerror}"
            hint = f"name a {cls.noun} file, such as {cls.noun}.toml"
            raise cls.failure(what, where=_short(str(file)), hints=[hint]) from None
        except ValueError:  # a NUL in the path
            raise cls.failure("cannot be a file name", where=_short(repr(str(file)))) from None
        return cls.parse(text, file)

    @classmethod
    def parse(cls, text: str, path: Path | None = None) -> Self:
        """Parse text."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        unread = cls({}, text, path)
        try:
            tables = tomllib.loads(text, parse_float=_decimal)
        except tomllib.TOMLDecodeError as error:
            raise unread._syntax(str(error)) from None
        except _BadNumber as bad:
            line = next((k for k, shown in enumerate(text.split("\n"), 1) if bad.text in shown), None)
            raise unread.error(bad.what, line=line, hints=["write an ordinary number, such as 0.5"]) from None
        except RecursionError:
            raise unread.error("nested too deeply", hints=[cls.nested]) from None
        except ValueError:  # Python refuses to read integers of thousands of digits
            raise unread._too_long() from None
        if _has_long_integer(tables):
            raise unread._too_long()
        return cls(tables, text, path)

    def _syntax(self, message: str) -> DxError:
        match = re.search(r"\(at line (\d+)", message)
        line = int(match.group(1)) if match else self.text.rstrip().count("\n") + 1
        what = re.sub(r" \(at [^()]*\)$", "", message)
        column = re.search(r"column (\d+)", message)
        shown = self.text.split("\n")[line - 1 : line]
        if what.startswith("Unclosed") and column and _goes_on(shown[0][int(column.group(1)) - 1 :]):
            return self._comma_missing(line, int(column.group(1)))
        for theirs, ours in _IN_OUR_WORDS:
            if re.fullmatch(theirs, what, re.DOTALL):
                what = ours
        unquoted = re.sub(r"\"[^\"]*\"|'[^']*'|#.*", "", shown[0]) if shown else ""
        if half := _HALF_NUMBER.search(unquoted):
            written = half.group(1)
            whole = f"0{written}" if written.startswith(".") else f"{written}0"
            what = f"a number has digits on both sides of its point: {whole} for {written}"
        foreign = next((m for m in re.finditer(r"([\w-]+)(\s*=)?", unquoted) if not m[1].isascii()), None)
        hints = [] if foreign is None else [_in_quotes(foreign, in_header=unquoted.lstrip().startswith("["))]
        return self.error(f"not valid TOML: {what}", line=line, hints=hints)

    def _comma_missing(self, line: int, column: int) -> DxError:
        """Return the error for two entries without a comma between them, at the line of the first."""
        lines = self.text.split("\n")
        while line > 1 and not lines[line - 1][: column - 1].strip():
            line, column = line - 1, sys.maxsize
        what = "a comma is missing between two entries"
        return self.error(
            f"not valid TOML: {what}", line=line, hints=[('["M", "F"]', "entries have commas between them")]
        )

    def _too_long(self) -> DxError:
        lines = enumerate(self.text.split("\n"), 1)
        line = next((number for number, shown in lines if _LONG_INTEGER.search(shown)), None)
        return self.error("a whole number has more than 64 bits", line=line, hints=["write a smaller number"])

    @property
    def name(self) -> str:
        """The name of the file in errors."""
        return self.path.name if self.path else self.noun

    def line_of(self, section: str, key: str = "", entry: int = 1) -> int | None:
        """Return the line of a key within a section such as `attributes.age`, or of the section's header.

        For sections that occur several times, such as `[[query]]`, use the `entry`-th.
        """
        inside, header, seen = section == "", None, 0
        for number, line in enumerate(self.text.split("\n"), 1):
            opened = re.match(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$", line)
            if opened:
                named = _bare(opened.group(1)) == section
                seen += named
                inside = named and seen == entry
                header = number if inside else header
            elif inside and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*(=|\.)", line):
                return number
        return header

    def error(
        self,
        what: str,
        *,
        section: str = "",
        key: str = "",
        entry: int = 1,
        line: int | None = None,
        details: tuple[str, ...] = (),
        hints: Iterable[Hint | str] = (),
    ) -> DxError:
        """Return an error at a place in the file, showing that line."""
        line = line or (self.line_of(section, key, entry) if section or key else None)
        lines = self.text.split("\n")
        shown = (f"{line:>5} │ {_short(lines[line - 1].strip())}",) if line and line <= len(lines) else ()
        where = f"{self.name}:{line}" if line else f"{self.name}, {_short(section)}" if section else self.name
        return self.failure(
            _visible(what), where=_visible(where), details=(*map(_visible, shown), *details), hints=hints
        )

    def made(self, error: DxError) -> bool:
        """Return whether an error already names a place in this file."""
        return error.where == self.name or error.where.startswith((f"{self.name}:", f"{self.name}, "))

    def only(
        self, table: dict[str, Any], known: tuple[str, ...], section: str, key: str = "", *, entry: int = 1
    ) -> None:
        """Refuse unknown keys; `key` is the key of an inline table, if it is one."""
        for name in table:
            if name not in known:
                raise self.error(
                    f"unknown key “{_short(name)}”",
                    section=section,
                    key=key or name,
                    entry=entry,
                    hints=[*did_you_mean(name[:_SHOWN], known)] or [f"known: {', '.join(known)}"],
                )


class PolicyFile(TomlFile):
    """A policy's tables."""

    noun = "policy"
    failure = PolicyError
    missing = ("dxp demo --write demo/", "writes one to start from")
    nested = "a policy needs no more than [attributes.NAME]"


def _in_quotes(name: re.Match[str], *, in_header: bool) -> tuple[str, str]:
    """Return a hint that quotes a name or text unchanged, because columns are compared exactly."""
    if in_header:
        return f'[attributes."{name[1]}"]', "names with letters beyond a to z need quotes"
    return (
        (f'"{name[1]}" = …', "names with letters beyond a to z need quotes")
        if name[2]
        else (f'"{name[1]}"', "text needs quotes")
    )


def _goes_on(rest: str) -> bool:
    """Whether a list continues with another entry where it should have ended, not with the next line of the file."""
    key = re.match(r"\s*[\w\"'.-]+\s*=[^=]", rest) and not re.search(r"[}\]]\s*(#.*)?$", rest)
    table = re.match(r"\s*\[\[?[\w\"'. -]+\]\]?\s*(#.*)?$", rest)
    return bool(rest.strip()) and not key and not table


class _BadNumber(Exception):
    def __init__(self, text: str, what: str) -> None:
        self.text, self.what = text, what


def _decimal(text: str) -> Decimal:
    """Parse an exact decimal; refuse sizes that are too large to compute with."""
    shown = text if len(text) <= _LONGEST_NUMBER else text[: _LONGEST_NUMBER - 1] + "…"
    if len(text) > _LONGEST_NUMBER:
        raise _BadNumber(text, f"{shown} has more digits than we work with")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise _BadNumber(text, f"{shown} is beyond the range of numbers we work with") from None
    if number.is_finite() and abs(number.adjusted()) > 300:
        raise _BadNumber(text, f"{shown} is beyond the range of numbers we work with")
    return number


def _has_long_integer(tables: dict[str, Any]) -> bool:
    waiting: list[Any] = [tables]
    while waiting:
        item = waiting.pop()
        if isinstance(item, int) and item.bit_length() > 63:
            return True
        waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return False


def _visible(text: str) -> str:
    return UNPRINTABLE.sub("?", text)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _bare(section: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in section.split("."))
