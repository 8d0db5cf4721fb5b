"""`dxp ledger`."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dxprivacy.ledger import Ledger


@click.command("ledger")
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--policy", type=click.Path(path_type=Path), help="The policy [policy.toml beside the ledger].")
@click.option("--between", nargs=2, metavar="A B", help="Two records, such as age=64 age=65.")
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines.")
def command(ledger: Path, policy: Path | None, between: tuple[str, str] | None, as_json: bool) -> None:
    """What was spent and what is left, pair by pair. Checks the chain first.

    The ledger lists every release, how much of its most used pair's ε it took, and what is left for the worst pair of
    each attribute. --between tells how far two records can be told apart by everything released so far; attributes
    that neither record names are alike in both.

    \b
    Examples: dxp ledger ledger.db
              dxp ledger ledger.db --between age=64 age=65
              dxp ledger ledger.db --between sex=F,age=64 sex=M,age=65
              dxp ledger ledger.db --between home=Hoboken "home=New York City"
    """
    from dxprivacy.cli.screen import next_step, show, show_json, working
    from dxprivacy.errors import LedgerError, PolicyError
    from dxprivacy.ledger import Ledger
    from dxprivacy.ledger.words import between_lines, ledger_lines, ledger_to_dict
    from dxprivacy.policy import Policy

    if not ledger.exists():
        raise LedgerError("no such ledger", where=str(ledger), hints=[("dxp release …", "starts one")])
    policy_file = policy or ledger.parent / "policy.toml"
    if policy is None and not policy_file.exists():
        raise PolicyError(
            "no such file; the policy says what was allowed",
            where=str(policy_file),
            hints=[("--policy FILE", "where the policy is")],
        )
    loaded = Policy.load(policy_file)
    with working("checking the chain"), Ledger.open(ledger, loaded.metric, dataset=loaded.dataset) as book:
        book.verify()
        if between is not None:
            a, b = (_record(text) for text in between)
            told = book.tell_apart(a, b)
            data: Any = {**vars(told), "factor": told.factor}
            lines = between_lines(told)
            step = next_step("dxp ledger", ledger)
        else:
            data = ledger_to_dict(book)
            lines = ledger_lines(book)
            step = next_step("dxp ledger", ledger, "--between", *_example(book))
    if as_json:
        show_json({k: (None if v == float("inf") else v) for k, v in data.items()})
    else:
        show([*lines, "", step])


def _example(book: "Ledger") -> list[str]:
    """The pair with the least left, as `--between` wants it."""
    used = book.most_exhausted(1)
    a, b = (book.universe.record(cell) for cell in (used[0].pair if used else (0, 1)))
    return [shlex.quote(",".join(f"{n}={r[n]}" for n in r if a[n] != b[n])) for r in (a, b)]


def _record(text: str) -> dict[str, object]:
    """`sex=F,age=64`; a comma that no `name=` follows belongs to the value: `home=Arlington, Virginia`."""
    from dxprivacy.errors import UsageError

    record: dict[str, object] = {}
    for part in re.split(r",(?=[^,=]*=)", text):
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or name.strip() in record:
            raise UsageError(f"“{text}” is no record", hints=[("age=64", "attribute=value, several with commas")])
        record[name.strip()] = value.strip()
    return record
