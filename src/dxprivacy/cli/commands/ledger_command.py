"""`dxp ledger`."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dxprivacy.wording import tag

if TYPE_CHECKING:
    from dxprivacy.ledger import Ledger
    from dxprivacy.policy import Policy


@click.command("ledger")
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--policy", type=click.Path(path_type=Path), help="The policy [policy.toml beside the ledger].")
@click.option("--between", nargs=2, metavar="A B", help="Two records, such as age=64 age=65.")
@click.option("--adopt", is_flag=True, help="Carry all costs over to --policy, a new version of the policy.")
@click.option(
    "--allow-looser",
    "looser",
    is_flag=True,
    help="With --adopt: also a version that makes people more distinguishable.",
)
@click.option("--dry-run", is_flag=True, help="With --adopt: show what it would do, and write nothing.")
@click.option("--receipt", type=int, metavar="N", help="A short text about entry N, to keep with the publication.")
@click.option(
    "--export", type=click.Path(path_type=Path), metavar="FILE", help="Every row with its hash, as JSON lines."
)
@click.option("--all", "every", is_flag=True, help="Every step of synthetic data, not one line for all of them.")
@click.option("--html", "as_page", is_flag=True, help="Also write ledger-DATASET.html: releases, and what is left.")
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines.")
def command(
    ledger: Path,
    policy: Path | None,
    between: tuple[str, str] | None,
    adopt: bool,
    looser: bool,
    dry_run: bool,
    receipt: int | None,
    export: Path | None,
    every: bool,
    as_page: bool,
    as_json: bool,
) -> None:
    """What was spent and what is left, pair by pair. Checks the chain first.

    Lists every release, the fraction of the ε of its most used pair, and what is left for the worst pair of each
    attribute. --between shows how distinguishable two records are by everything released so far; attributes that
    neither record names are equal in both. --adopt makes the ledger follow a new version of the policy: past costs are
    carried over exactly, or the version is refused; a looser one needs --allow-looser. A receipt or an export needs no
    policy.

    \b
    Examples: dxp ledger ledger.db
              dxp ledger ledger.db --between age=64 age=65
              dxp ledger ledger.db --between sex=F,age=64 sex=M,age=65
              dxp ledger ledger.db --between home=Hoboken "home=New York City"
              dxp ledger ledger.db --policy new.toml --adopt --dry-run
              dxp ledger ledger.db --receipt 3
              dxp ledger ledger.db --export journal.jsonl
              dxp ledger ledger.db --html
    """
    from dxprivacy.errors import UsageError

    chosen = [
        name
        for name, given in (
            ("--between", between is not None),
            ("--adopt", adopt),
            ("--receipt", receipt is not None),
            ("--export", export is not None),
            ("--html", as_page),
        )
        if given
    ]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} are different things", hints=["ask for one at a time"])
    if dry_run and not adopt:
        raise UsageError("--dry-run belongs to --adopt", hints=[("--adopt --dry-run", "shows what adopting would do")])
    if looser and not adopt:
        raise UsageError(
            "--allow-looser belongs to --adopt", hints=[("--adopt --dry-run", "shows what adopting would do")]
        )
    if as_page:
        from dxprivacy.cli.given_files import require_pages

        require_pages()
    if export is not None:
        _export(ledger, export, as_json=as_json)
    elif receipt is not None:
        _receipt(ledger, receipt, as_json=as_json)
    elif adopt:
        _adopt(ledger, policy, dry_run=dry_run, looser=looser, as_json=as_json)
    else:
        _show(ledger, policy, between, every=every, as_page=as_page, as_json=as_json)


def _load(ledger: Path, policy: Path | None) -> "tuple[Path, Policy]":
    # The policy: the named file, else policy.toml next to the ledger, else the version in the ledger.
    from dxprivacy.ledger.adoption import stored_policy
    from dxprivacy.policy import Policy

    file = policy or ledger.parent / "policy.toml"
    return file, Policy.load(file) if policy is not None or os.access(file, os.F_OK) else stored_policy(ledger)


def _beside(ledger: Path) -> "tuple[Path, Policy, str]":
    # The policy if no file is named, and a remark on a policy.toml of another dataset, which is ignored.
    from dxprivacy.errors import DxError
    from dxprivacy.ledger.adoption import stored_policy
    from dxprivacy.policy import Policy

    file = ledger.parent / "policy.toml"
    if not os.access(file, os.F_OK):
        return file, stored_policy(ledger), ""
    try:
        loaded = Policy.load(file)
    except DxError:
        why = f"{file} is ignored: it is no policy that can be read; --policy names another file"
        return file, stored_policy(ledger), why
    try:
        stored = stored_policy(ledger)
    except DxError:
        return file, loaded, ""  # opening the ledger says what is wrong
    if stored.dataset == loaded.dataset:
        return file, loaded, ""
    why = f"{file} is ignored: it is for dataset “{loaded.dataset}”, and this ledger for “{stored.dataset}”"
    return file, stored, why


def _export(ledger: Path, file: Path, *, as_json: bool) -> None:
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.errors import UsageError
    from dxprivacy.ledger.receipt import export

    if str(file) == "-":  # an archive is a private file, and never standard output
        raise UsageError("--export needs the name of a file", hints=[("--export journal.jsonl", "writes a new file")])
    with working("checking the chain"):
        done = export(ledger, file)
    if as_json:
        show_json({"file": str(file), "rows": done.rows, "head": done.head})
        return
    told = f"{file}: {done.rows:,} rows with their hashes, checked; no true answer is in it"
    written = f"{tag('good', '✓')} written  {told}"
    show([written, f"  head of the chain {done.head}", "", next_step("dxp ledger", ledger, "--receipt", "1")])


def _receipt(ledger: Path, entry: int, *, as_json: bool) -> None:
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.ledger.receipt import receipt, receipt_lines

    with working("checking the chain"):
        made = receipt(ledger, entry)
    if as_json:
        show_json(made.to_dict())
    else:
        show([*receipt_lines(made, ledger.name), "", next_step("dxp ledger", ledger, "--export", "journal.jsonl")])


def _adopt(ledger: Path, policy: Path | None, *, dry_run: bool, looser: bool, as_json: bool) -> None:
    # Carry the costs over, and show what the new version allows more or less, also if it is refused as looser.
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.ledger import Ledger
    from dxprivacy.ledger.adoption import LooserPolicy
    from dxprivacy.output.text.ledger_text import adoption_lines, adoption_to_dict

    with working("comparing the policies"):
        file, loaded = _load(ledger, policy)
        changes = _changes(ledger, loaded, str(file))
    try:
        with working("carrying the costs"):
            adoption = Ledger.adopting(ledger, loaded, dry_run=dry_run, looser=looser)
    except LooserPolicy:
        show([*changes, ""] if not as_json else [])
        raise
    done = [f"The ledger follows {adoption.version.words} now."] if adoption.changed and not dry_run else []
    if as_json:
        show_json(adoption_to_dict(adoption, dry_run=dry_run), done=done)
        return
    words: list[str | Path] = ["--policy", file] if policy else []
    lines = adoption_lines(adoption, dry_run=dry_run)
    if adoption.changed:
        lines += ["", *changes]
        if dry_run:
            words += ["--adopt", "--allow-looser"] if adoption.looser else ["--adopt"]
    show([*lines, "", next_step("dxp ledger", ledger, *words)], done=done)


def _changes(ledger: Path, new: "Policy", name: str) -> list[str]:
    # What the new version allows more or less than the current one.
    from dataclasses import replace

    from dxprivacy.errors import DxError
    from dxprivacy.ledger.adoption import stored_policy
    from dxprivacy.output.text.check_text import diff_lines

    try:
        before = stored_policy(ledger)
    except DxError:
        return []  # adopting says what is wrong with the ledger, or that the two cannot be compared
    return diff_lines(replace(before.diff(new), before=f"version {before.version} in {ledger.name}", after=name))


def _show(
    ledger: Path, policy: Path | None, between: tuple[str, str] | None, *, every: bool, as_page: bool, as_json: bool
) -> None:
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.ledger import Ledger
    from dxprivacy.output.text.ledger_text import between_lines, ledger_lines, ledger_to_dict

    with working("reading the policy"):
        file, loaded, ignored = _beside(ledger) if policy is None else (*_load(ledger, policy), "")
    option = ("--policy", file) if policy else ()
    with working("checking the chain"), Ledger.open(ledger, loaded) as book:
        book.verify()
        if between is not None:
            a, b = (_record(text) for text in between)
            told = book.between(a, b)
            data: Any = {**vars(told), "factor": told.factor}
            lines = between_lines(told)
            step = next_step("dxp ledger", ledger, *option)
        else:
            data = ledger_to_dict(book) if as_json else {}
            lines = [] if as_json else ledger_lines(book, every=every)
            step = next_step("dxp ledger", ledger, *option, "--between", *_example(book))
        if as_page:
            lines += ["", f"{tag('good', '✓')} written  {_write_page(book, loaded, None if ignored else file)}"]
    if as_json:
        data |= {"ignored": ignored} if ignored else {}
        show_json({k: (None if v == float("inf") else v) for k, v in data.items()})
    else:
        show([*([tag("dim", ignored)] if ignored else []), *lines, "", step])


def _write_page(book: "Ledger", policy: "Policy", file: Path | None) -> Path:
    from dxprivacy.cli.given_files import command_files, command_line, page_name, write_page
    from dxprivacy.output.charts import ledger_page

    target = page_name("ledger", policy.dataset, policy.digest[:4])
    read = command_files(file, policy, ledger=book.path)
    return write_page(ledger_page(book, policy, command=command_line()), target, read, private=True)


def _example(book: "Ledger") -> list[str]:
    # The pair with the least left, in the form that `--between` takes.
    used = book.most_exhausted(1)
    pair = used[0].pair if used else (0, 1)
    a, b = (book.universe.record(cell) for cell in pair)
    if book.universe.absent in pair:
        return [",".join(f"{n}={value}" for n, value in a.items()), "absent"]
    return [",".join(f"{n}={r[n]}" for n in r if a[n] != b[n]) for r in (a, b)]


def _record(text: str) -> dict[str, object]:
    # `sex=F,age=64`; a comma without a following `name=` belongs to the value: `home=Arlington, Virginia`.
    from dxprivacy.errors import UsageError

    record: dict[str, object] = {}
    if text.strip() == "absent":  # where records may be added and removed
        return record
    for part in re.split(r",(?=[^,=]*=)", text):
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or name.strip() in record:
            raise UsageError(f"“{text}” is not a record", hints=[("age=64", "attribute=value, several with commas")])
        record[name.strip()] = value.strip()
    return record
