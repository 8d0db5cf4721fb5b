"""Log events for operators of a pipeline, under the `logging` name `dxprivacy`, by package.

Nothing is printed without a handler. An event contains public facts alone: names of files, digests, entries and
fractions of a ledger. It never contains a record, a count, an entry's text, a number of rows, or a duration. No event
is logged while data is counted, because each has a time. Packages that see data must not import this module
(`pyproject.toml`).
"""

import json
import logging
from fractions import Fraction
from pathlib import Path

from dxprivacy.errors import one_line

NAME = "dxprivacy"
Fact = str | int | float | Fraction | Path | None
logging.getLogger(NAME).addHandler(logging.NullHandler())


class Log:
    """The events of one package.

    >>> log = Log("ledger")
    >>> log.text("entry reserved", {"entry": 3, "budget": Fraction(1, 10), "ledger": "my ledger.db", "pair": None})
    'entry reserved: entry=3 budget=0.1 ledger="my ledger.db"'
    """

    def __init__(self, package: str) -> None:
        self._logger = logging.getLogger(f"{NAME}.{package}")

    def detail(self, what: str, **facts: Fact) -> None:
        """Log a detail, for debugging."""
        self._tell(logging.DEBUG, what, facts)

    def event(self, what: str, **facts: Fact) -> None:
        """Log an event."""
        self._tell(logging.INFO, what, facts)

    def refused(self, what: str, **facts: Fact) -> None:
        """Log a problem to look into: a refusal, or a cost that was spent in vain."""
        self._tell(logging.WARNING, what, facts)

    def _tell(self, level: int, what: str, facts: dict[str, Fact]) -> None:
        if self._logger.isEnabledFor(level):
            told = {name: _plain(value) for name, value in facts.items() if value is not None}
            self._logger.log(level, "%s", self.text(what, told), extra={"event": what, "facts": told})

    def text(self, what: str, facts: dict[str, Fact]) -> str:
        """Return an event in one line, whatever the names in it contain."""
        told = " ".join(f"{name}={_written(value)}" for name, value in facts.items() if value is not None)
        return f"{what}: {told}" if told else what


def _plain(fact: Fact) -> Fact:
    """Convert a fact to a form that any handler can write."""
    if isinstance(fact, str | Path):
        return one_line(str(fact))
    return float(fact) if isinstance(fact, Fraction) else fact


def _written(fact: Fact) -> str:
    told = _plain(fact)
    if isinstance(told, str):
        return json.dumps(told, ensure_ascii=False) if not told or set(told) & set(' "\\=') else told
    return f"{told:.6g}" if isinstance(told, float) else str(told)


def listen() -> None:
    """Log all events to stderr, for `dxp --verbose`."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s  %(message)s"))
    logger = logging.getLogger(NAME)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
