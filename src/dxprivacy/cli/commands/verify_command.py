"""`dxp verify`."""

from pathlib import Path

import click

_NEXT = {  # what is looked at once a check has held
    "format": "digests",
    "digests": "queries",
    "queries": "answers",
    "answers": "certificate",
    "errors": "certificate",
    "certificate": "worst case",
    "guarantee": "ledger",
    "chain": "policy",
    "policy": "entry",
    "entry": "budget",
}


@click.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--ledger", type=click.Path(path_type=Path), help="Check a release, selection or report also against this ledger."
)
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines.")
def command(file: Path, ledger: Path | None, as_json: bool) -> None:
    """Check a plan, a release, a selection or a report on synthetic records again, from the file alone.

    An independent program that shares no code with the planner recomputes digests, certificate, errors, intervals and
    guarantee; with --ledger also the chain, the file's entries, and that all entries together keep the policy. It needs
    no policy file and no data, and writes nothing. Facts that the file cannot confirm (titles, methods, comparisons
    with standard DP, that the noise was really drawn) are listed as not checked. docs/formats.md describes how to write
    an own verifier.

    \b
    Exit codes: 0 verified, 8 something does not hold, 9 undecided: too large here, or
                costs of a version of the policy with other possible records

    \b
    Examples:   dxp verify plan-7f3a.json
                dxp verify release-7f3a.json --ledger ledger.db
                dxp verify synthetic-report.json --ledger ledger.db
    """
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.verify import Check, not_checked, read_file, verify_file
    from dxprivacy.wording import tag, wrap

    held: list[Check] = []
    with working("verify  reading the file", after=0.2):  # a long file keeps the sign itself waiting
        read = read_file(file)
    data, checks, what = read.data, verify_file(read, ledger), "format"
    while True:
        with working(f"verify  {what}"):
            check = next(checks, None)
        if check is None:
            break
        held.append(check)
        what = _NEXT.get(check.name, "what is left")
        if not as_json:
            show([f"{tag('good', '✓')} {check.name.ljust(12)} {check.found}"])
    unchecked = not_checked(data, ledger=ledger is not None)
    if as_json:
        told = {"checks": [vars(check) for check in held], "not_checked": [vars(member) for member in unchecked]}
        show_json({"verified": True, "file": str(file), **told})
        return
    first, *more = wrap(", ".join(member.member for member in unchecked), 84)
    steps = [f"{tag('warn', '! not checked')}  {first}", *(" " * 15 + line for line in more)]
    steps += [f"{tag('good', '✓ verified')} {file.name}: everything else in it follows from what is in it"]
    if any(check.name == "errors" for check in held):
        steps += ["", next_step("dxp release", file, "--data", "FILE", "--policy", "POLICY.toml")]
    elif "title" in data and "ledger" not in data:
        steps += ["", next_step("dxp select", "POLICY.toml", data["title"], "--data", "FILE")]
    elif ledger is None:
        steps += ["", next_step("dxp verify", file, "--ledger", "LEDGER")]
    else:
        steps += ["", next_step("dxp ledger", ledger)]
    show(steps)
