"""A policy file as text with positions, so that every error can name its line."""

import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from dxprivacy.errors import Hint, PolicyError, did_you_mean


@dataclass(frozen=True)
class PolicyFile:
    """The parsed tables of a policy, its text and where it came from; numbers are exact decimals."""

    tables: dict[str, Any]
    text: str
    path: Path | None = None

    @classmethod
    def read(cls, path: str | Path) -> "PolicyFile":
        """Read a file."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise PolicyError(
                "no such file", where=str(file), hints=[("dxp demo --write demo/", "writes one")]
            ) from None
        except UnicodeDecodeError:
            raise PolicyError("not UTF-8 text", where=str(file), hints=["save the policy as UTF-8"]) from None
        except OSError as error:
            raise PolicyError(f"cannot be read: {error.strerror}", where=str(file)) from None
        return cls.parse(text, file)

    @classmethod
    def parse(cls, text: str, path: Path | None = None) -> "PolicyFile":
        """Parse text."""
        try:
            tables = tomllib.loads(text.replace("\r\n", "\n"), parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            match = re.search(r"line (\d+)", str(error))
            line = int(match.group(1)) if match else None
            what = re.sub(r" \(at .*\)", "", str(error))
            raise cls({}, text, path).error(f"not valid TOML: {what}", line=line) from None
        except RecursionError:
            raise cls({}, text, path).error("nested too deeply") from None
        return cls(tables, text, path)

    @property
    def name(self) -> str:
        """How errors call the file."""
        return self.path.name if self.path else "policy"

    def line_of(self, section: str, key: str = "") -> int | None:
        """The line of a key within a section such as `attributes.age`, or of the section's header."""
        inside, header = section == "", None
        for number, line in enumerate(self.text.splitlines(), 1):
            opened = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?", line)
            if opened:
                inside = _bare(opened.group(1)) == section
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
        line: int | None = None,
        details: tuple[str, ...] = (),
        hints: "list[Hint | str] | None" = None,
    ) -> PolicyError:
        """An error at a place in the file, showing that line."""
        line = line or (self.line_of(section, key) if section or key else None)
        lines = self.text.splitlines()
        shown = (f"{line:>5} │ {lines[line - 1].strip()}",) if line and line <= len(lines) else ()
        where = f"{self.name}:{line}" if line else f"{self.name}, {section}" if section else self.name
        return PolicyError(what, where=where, details=(*shown, *details), hints=hints or [])

    def only(self, table: dict[str, Any], known: tuple[str, ...], section: str) -> None:
        """Refuse keys that mean nothing: unknown means refuse."""
        for key in table:
            if key not in known:
                close = did_you_mean(key, known)
                raise self.error(
                    f"“{key}” means nothing here",
                    section=section,
                    key=key,
                    hints=[*close] or [f"known: {', '.join(known)}"],
                )


def _bare(section: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in section.split("."))
