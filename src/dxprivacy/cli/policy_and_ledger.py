"""Find the policy and the ledger that decide over a release: those that the curator names, never the plan.

Plans, queries and files of queries are untrusted.  They carry digests, which must match.  The policy and the ledger are
named on the command line only (docs/trust.md).
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dxprivacy.cli.given_files import command_line
from dxprivacy.cli.options import CountOptions
from dxprivacy.formats.file_access import real_path
from dxprivacy.wording import quoted, tag

if TYPE_CHECKING:
    from dxprivacy.policy import Policy
    from dxprivacy.session import Session

_GOOD = tag("good", "✓")


@dataclass(frozen=True)
class Deciding:
    """The policy, its file (None: it was read from the ledger), and the ledger."""

    policy: "Policy"
    file: Path | None
    ledger: Path
    new_ledger: bool

    @property
    def words(self) -> str:
        """The line that names the policy."""
        named = f"as {self.ledger} holds it" if self.file is None else str(self.file)
        return f"{_GOOD} policy    {named} · {self.policy.digest[:8]}"

    @property
    def options(self) -> "tuple[str | Path, ...]":
        """Further arguments that `dxp ledger LEDGER` needs to show this ledger."""
        beside = self.file is None or self.file == self.ledger.parent / "policy.toml"
        return () if beside else ("--policy", self.file or "")

    def open(self, data: tuple[str, ...], counting: CountOptions) -> "Session":
        """Open the session; warn about a new ledger before anything is counted."""
        from dxprivacy.cli.terminal import show
        from dxprivacy.session import Session

        source = data[0] if len(data) == 1 else list(data)
        session = Session(
            self.policy,
            source,
            ledger=self.ledger,
            new_ledger=self.new_ledger,
            quantize_time=counting.quantize_time,
            spill=counting.spill,
        )
        if session.ledger.is_new:
            told = f"{real_path(self.ledger)}: what was spent elsewhere does not count here"
            show([f"{tag('warn', '! new ledger')}  {told}"], err=True)
        return session


def decide(policy: Path | None, ledger: Path | None, *, new_ledger: bool) -> Deciding:
    """Read the options: `--policy` alone means `ledger.db` next to it, `--ledger` alone the policy that it holds."""
    from dxprivacy.errors import LedgerError, UsageError
    from dxprivacy.ledger.journal import is_missing, no_ledger_yet
    from dxprivacy.policy import Policy

    if policy is None and ledger is None:
        raise UsageError(
            "name the policy and the ledger: `--policy FILE --ledger FILE`",
            details=["The curator decides this: a plan cannot choose the policy or the ledger."],
            hints=_commands(),
        )
    book = ledger or (policy or Path()).parent / "ledger.db"
    if policy is None:
        from dxprivacy.ledger.adoption import stored_policy

        if is_missing(book):
            hint = (f"{command_line()} --policy POLICY.toml --new-ledger", "starts it under that policy")
            raise LedgerError("no ledger here", where=str(book), hints=[hint])
        return Deciding(stored_policy(book), None, book, False)
    loaded = Policy.load(policy)
    if ledger is None:
        _require_own(book)
    if is_missing(book) and not new_ledger:
        hints = [(f"{command_line()} --new-ledger", "starts one, if nothing was ever released from this data")]
        if ledger is None:
            hints.append((f"{command_line()} --ledger LEDGER", "where the ledger is"))
        raise no_ledger_yet(book, hints)
    return Deciding(loaded, policy, book, new_ledger)


def starting_words(policy: Path, ledger: Path | None = None) -> tuple[str | Path, ...]:
    """Return what a release needs besides its policy: the ledger that was named, or `--new-ledger` if there is none."""
    from dxprivacy.errors import LedgerError
    from dxprivacy.ledger.journal import is_missing

    if ledger is not None:
        return ("--ledger", ledger)
    try:
        return ("--new-ledger",) if is_missing(policy.parent / "ledger.db") else ()
    except LedgerError:
        return ()  # opening it says what is wrong


def _commands() -> list[tuple[str, str]]:
    """Return hints with the files that exist here."""
    policy = Path("policy.toml") if Path("policy.toml").is_file() else Path("POLICY.toml")
    ledger = Path("ledger.db") if Path("ledger.db").is_file() else Path("LEDGER.db")
    return [
        (f"{command_line()} --policy {quoted(policy)}", "that policy, and ledger.db next to it"),
        (f"{command_line()} --ledger {quoted(ledger)}", "that ledger, and the policy that it holds"),
    ]


def _require_own(book: Path) -> None:
    """Refuse a default ledger that belongs to another user, or is a link of theirs: they could have planted it."""
    from dxprivacy.errors import LedgerError

    owners = set()
    for follow in (False, True):
        with suppress(OSError, ValueError):
            owners.add(book.stat(follow_symlinks=follow).st_uid)
    if owners - {os.geteuid(), 0}:
        raise LedgerError(
            "belongs to another user; nothing spent, no data read",
            where=str(book),
            hints=[(f"{command_line()} --ledger {quoted(book)}", "if this is the ledger that counts")],
        )


# -- Budget is not spent on uninformative answers without `--anyway` ---------------------------------------------------


def require_worth(warning: str, command: str, budget: Fraction, *, anyway: bool, recorded: Callable[[], bool]) -> None:
    """Ask on a terminal, refuse elsewhere; answers that the ledger holds already cost nothing and are not asked about.

    `command` is the one that plans; a larger budget than `budget` is offered if there is one.
    """
    from dxprivacy.cli.given_files import command_line
    from dxprivacy.cli.terminal import show
    from dxprivacy.errors import UsageError

    if not warning or anyway or recorded():
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        show([tag("warn", f"! {warning}")], err=True)
        if click.confirm("Spend the budget anyway?", default=False, err=True):
            return
        raise UsageError("canceled; nothing spent, no data read")
    larger = " --budget 50%" if budget < Fraction(1, 2) else " --budget 100%" if budget < 1 else ""
    hints = [
        (f"{command_line()} --anyway", "spends the budget anyway"),
        (f"dxp {command} …{larger}", "less noise: a larger budget, or fewer or coarser queries"),
    ]
    raise UsageError(warning, details=["Nothing spent, no data read."], hints=hints)


def left_line(left: float) -> str:
    """Return the line on the fraction of every pair's ε that is certain to be left."""
    from dxprivacy.wording import percent

    if left < 0.0005:
        return f"{tag('good', '✓')} left      nothing is certain for every pair; dxp ledger shows them"
    return f"{tag('good', '✓')} left      {percent(left)} of every pair's ε, at least"
