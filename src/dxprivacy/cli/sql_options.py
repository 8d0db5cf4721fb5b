"""`--sql`: queries as they stand on the command line, or in files."""

from collections.abc import Iterable
from pathlib import Path

from dxprivacy.errors import UsageError

_MARK = "@"


def sql_files(queries: Iterable[str]) -> list[Path]:
    """The files that some of the queries name.

    >>> [str(path) for path in sql_files(["SELECT COUNT(*) FROM people", "@query.sql"])]
    ['query.sql']
    """
    return [Path(text.removeprefix(_MARK)) for text in queries if text.startswith(_MARK)]


def sql_texts(queries: Iterable[str]) -> list[str]:
    """The queries themselves.

    >>> sql_texts(["SELECT COUNT(*) FROM people"])
    ['SELECT COUNT(*) FROM people']
    """
    return [_read(Path(text.removeprefix(_MARK))) if text.startswith(_MARK) else text for text in queries]


def _read(path: Path) -> str:
    from dxprivacy.formats.reading_files import read_text

    try:
        return read_text(path).removeprefix("\ufeff")
    except UnicodeDecodeError:
        what = "not UTF-8 text"
    except FileNotFoundError:
        what = "no such file"
    except (OSError, ValueError):
        what = "cannot be read"
    raise UsageError(what, where=str(path)[:60], hints=[("--sql @query.sql", "a file with one SELECT")])
