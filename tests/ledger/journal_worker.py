"""A process that uses a journal until it is stopped; the tests start it, race it and kill it.

Each step is printed once it is acknowledged, so that the reader knows what must be in the journal.
"""

import resource
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":  # the journal needs no numpy: without the package's own imports a worker starts at once
    package = ModuleType("dxprivacy.ledger")
    package.__path__ = [str(Path(find_spec("dxprivacy").origin).with_name("ledger"))]
    sys.modules["dxprivacy.ledger"] = package

from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.ledger.journal import Journal, JournalRow, Replay

BINDING = {"dataset": "survey"}
BODY = "ab" * 32
COST = '{"budget": 1}'


def accept(reserved: list[JournalRow]) -> None:
    """A budget without end."""


def at_most(budget: int):
    def decide(reserved: list[JournalRow]) -> None:
        if len(reserved) >= budget:
            raise BudgetExceeded("nothing left")

    return decide


def fill(journal: Journal, names: Iterable[str]) -> None:
    for name in names:
        journal.reserve(name, BODY, COST, accept)
        journal.finish(name, f'{{"answer": "{name}"}}')


def say(*words: object) -> None:
    print(*words, flush=True)


def go(path: Path, me: str, answer_size: int = 10) -> None:
    """Reserve and answer without end."""
    say("ready")
    with Journal.open(path, BINDING) as journal:
        for step in count():
            name = f"{me}/{step}"
            journal.reserve(name, BODY, COST, accept)
            say("reserved", name)
            journal.finish(name, f'"{"x" * answer_size}"')
            say("answered", name)


def race(path: Path, me: str, budget: int) -> None:
    """Reserve until nothing is left, starting when told to; the file may not exist yet."""
    say("ready")
    sys.stdin.readline()
    with Journal.open(path, BINDING) as journal:
        for step in count():
            name = f"{me}/{step}"
            try:
                journal.reserve(name, BODY, COST, at_most(budget))
            except BudgetExceeded:
                return
            say("reserved", name)
            journal.finish(name, "{}")


def same(path: Path, me: str) -> None:
    """All workers make the same request; says what came of it."""
    say("ready")
    sys.stdin.readline()
    with Journal.open(path, BINDING) as journal:
        try:
            entry = journal.reserve("the one", BODY, COST, at_most(1))
        except LedgerError as error:
            return say("refused", "never answered" in error.what)
        if isinstance(entry, Replay):
            return say("replayed", entry.content)
        journal.finish("the one", f'"{me}"')
        return say("answered", me)


def cramped(path: Path, me: str) -> None:
    """Work on a disk on which no file may grow beyond 300 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    try:
        go(path, me, answer_size=5_000)
    except LedgerError as error:
        say("stopped", error.what)


if __name__ == "__main__":
    _, mode, path, me, *numbers = sys.argv
    {"go": go, "race": race, "same": same, "cramped": cramped}[mode](Path(path), me, *map(int, numbers))
