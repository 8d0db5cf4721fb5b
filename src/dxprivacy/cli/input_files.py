"""What a command reads: files that no output may ever replace."""

import glob
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from dxprivacy.formats.table_addresses import is_address
from dxprivacy.formats.writing_files import ledger_files

if TYPE_CHECKING:
    from dxprivacy.policy import Policy


def policy_files(file: Path | None, policy: "Policy | None" = None) -> list[Path]:
    """A policy's file, and the files that it names."""
    if file is None:
        return []
    if policy is None:
        return [file]
    from dxprivacy.policy.tables.table_kinds import files_named

    tables = policy.file.tables.get("attributes", {}).values()
    named = [name for table in tables if isinstance(table, dict) for name in files_named(table)]
    people = [] if policy.people_data is None else data_files([str(policy.people_data)])
    return [file, *(file.parent / name for name in named), *people]


def data_files(data: Iterable[str]) -> list[Path]:
    """The files of `--data`: paths, patterns, tables of databases.

    >>> [str(path) for path in data_files(["people.csv", "survey.duckdb::people"])]
    ['people.csv', 'survey.duckdb::people', 'survey.duckdb', 'survey.duckdb.wal']
    """
    found: list[Path] = []
    for text in data:
        if is_address(text) and not Path(text).exists():
            continue  # a table of a server: no file here
        found += [Path(text), *map(Path, glob.glob(text, recursive=True))]  # noqa: PTH207 - it may be absolute
        database, mark, _ = text.rpartition("::")
        if mark:
            found += [Path(database), Path(f"{database}.wal")]
    return found


def command_files(
    policy: Path | None = None,
    loaded: "Policy | None" = None,
    *,
    ledger: Path | None = None,
    data: Iterable[str] = (),
    more: Iterable[Path] = (),
) -> list[Path]:
    """Everything that a command reads."""
    book = [] if ledger is None else ledger_files(ledger)
    return [*policy_files(policy, loaded), *book, *data_files(data), *more]
