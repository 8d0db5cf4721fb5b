"""`dxp init`."""

from pathlib import Path

import click

_KINDS = {
    "whole numbers": "whole",
    "floating-point numbers": "number",
    "decimal numbers": "number",
    "dates": "date",
    "points in time": "date",
    "points in time with a zone": "instant",
    "true or false": "truth",
    "text": "text",
    "untyped text": "text",
    "untyped entries": "text",
}


@click.command("init")
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("policy.toml"), show_default=True, help="The file."
)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="Columns and types for machines; writes nothing.")
def command(data: Path, out: Path, overwrite: bool, as_json: bool) -> None:
    """Write a policy to fill in, from column names and types only.

    No row is read: which values may occur, and how far they may be told apart, is yours to say. Every attribute is
    commented out until you have said it.

    \b
    Example: dxp init people.parquet
             edit policy.toml, then dxp check policy.toml
    """
    from dxprivacy.cli.screen import next_step, show, show_json
    from dxprivacy.engines import open_source
    from dxprivacy.errors import UsageError
    from dxprivacy.policy.skeleton import skeleton

    columns = open_source(data).columns()
    if as_json:
        show_json([{"column": c.name, "type": str(c)} for c in columns])
        return
    if out.exists() and not overwrite:
        raise UsageError(
            f"{out} is there already", hints=[("--out FILE", "another name"), ("--overwrite", "replaces it")]
        )
    listed = [(c.name, _KINDS.get(str(c.kind or ""), ""), str(c)) for c in columns]
    try:
        out.write_text(skeleton(data.stem, data.stem, listed), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}") from None
    show(
        [
            f"⟦good⟧✓⟦/⟧ written  {out}: {len(columns):,} columns of {data.name}, from its schema; no row was read",
            "  Remove the # before the attributes you want to ask about, and fill in their values and ε.",
            "",
            next_step("dxp check", out),
        ]
    )
