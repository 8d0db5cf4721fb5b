"""`dxp ledger`."""

from pathlib import Path
from typing import Any

import click


@click.command("ledger")
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--policy", type=click.Path(path_type=Path), help="The policy [policy.toml beside the ledger].")
@click.option("--between", nargs=2, metavar="A B", help="Two records, such as age=64 age=65.")
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines.")
def command(ledger: Path, policy: Path | None, between: tuple[str, str] | None, as_json: bool) -> None:
    """What was spent and what is left, pair by pair. Checks the chain first.

    \b
    Examples: dxp ledger ledger.db
              dxp ledger ledger.db --between age=64 age=65
              dxp ledger ledger.db --between home=Hoboken "home=New York City"
    """
    from dxprivacy.cli.screen import show, show_json, working
    from dxprivacy.errors import LedgerError
    from dxprivacy.ledger import Ledger
    from dxprivacy.ledger.words import between_lines, ledger_lines, ledger_to_dict
    from dxprivacy.policy import Policy

    if not ledger.exists():
        raise LedgerError("no such ledger", where=str(ledger), hints=[("dxp release …", "starts one")])
    loaded = Policy.load(policy or ledger.parent / "policy.toml")
    with working("checking the chain"), Ledger.open(ledger, loaded.metric, dataset=loaded.dataset) as book:
        book.verify()
        if between is not None:
            a, b = (_record(text) for text in between)
            told = book.tell_apart(a, b)
            data: Any = {**vars(told), "factor": told.factor}
            lines = between_lines(told)
        else:
            data = ledger_to_dict(book)
            lines = ledger_lines(book)
    if as_json:
        show_json({k: (None if v == float("inf") else v) for k, v in data.items()})
    else:
        show(lines)


def _record(text: str) -> dict[str, object]:
    from dxprivacy.errors import UsageError

    record: dict[str, object] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"“{text}” is no record", hints=[("age=64", "attribute=value, several with commas")])
        record[name.strip()] = value.strip()
    return record
