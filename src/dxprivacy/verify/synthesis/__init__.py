"""Checking reports on synthetic records, alone and against the ledger (docs/formats.md, section 12)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dxprivacy.verify.ledger import Book
from dxprivacy.verify.privacy import Check
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.synthesis.direct import Direct
from dxprivacy.verify.synthesis.mwem import Mwem
from dxprivacy.verify.synthesis.report import Report
from dxprivacy.verify.synthesis.smalldb import SmallDb

REPORTS = ("dxprivacy-synthesis/1",)

_METHODS: dict[str, type[Report]] = {"direct": Direct, "mwem": Mwem, "smalldb": SmallDb}


def verify_report(data: Any, ledger: str | Path | None) -> Iterator[Check]:
    """Check a report as far as it goes; what it says of data can only be seen in the ledger."""
    method = data.get("method")
    if not isinstance(method, str) or method not in _METHODS:
        raise refuse(f"is {str(method)[:40]!r}", "method")
    report = _METHODS[method](data)
    yield Check("format", f"{data['format']}, {method}; reports are not sealed")
    yield from report.checks()
    if ledger is not None:
        yield from report.by_ledger(Book(Path(ledger)))
