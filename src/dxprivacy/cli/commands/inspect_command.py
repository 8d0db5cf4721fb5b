"""`dxp inspect`: the only command that shows data, for the curator."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dxprivacy.cli.given_files import DATA
from dxprivacy.wording import tag

if TYPE_CHECKING:
    from dxprivacy.engines.beside_people import WhoseRows
    from dxprivacy.engines.source import Others
    from dxprivacy.universe.attributes.attribute import Attribute
    from dxprivacy.universe.universe import Universe

_SHOWN = 20  # entries of each attribute
NOT_PRIVATE = "NOT PRIVATE, do not publish"


@click.command("inspect")
@click.argument("policy", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=DATA,
    required=True,
    multiple=True,
    help="A file, pattern or table of a server, as for dxp release; give it several times for several files.",
)
@click.option("--json", "as_json", is_flag=True, help="The same fields for machines; not private either.")
def command(policy: Path, data: tuple[str, ...], as_json: bool) -> None:
    """Show which entries count as “other”, and why: for the curator, not for publication.

    Rows with entries that fit no value of an attribute count as “other”; a release does not report how many there are.
    Look here before you publish: a misspelt value or a wrong format turns all rows into “other”. This is the only
    command that shows data. It uses no ledger and spends nothing, because its output must not be published. It proposes
    lines for the policy that let entries count; you decide whether they are right.

    \b
    Examples: dxp inspect policy.toml --data people.parquet
              dxp inspect survey/policy.toml --data "data/*.csv"
              dxp inspect policy.toml --data survey.duckdb::people --json
    """
    from dxprivacy.cli.inspect_remedies import LOOKED_AT
    from dxprivacy.cli.terminal import next_step, show, show_json, working
    from dxprivacy.engines import open_data
    from dxprivacy.engines.beside_people import whose_rows
    from dxprivacy.policy import Policy

    with working("reading"):
        loaded = Policy.load(policy)
        source = open_data(data[0] if len(data) == 1 else list(data), loaded.universe, loaded.people_data)
        source.check(loaded.universe)
        rows = source.rows()
        found = source.others(loaded.universe, LOOKED_AT)
        whose = whose_rows(source, loaded.universe)
    attributes = loaded.universe.attributes
    if as_json:
        listed = [_to_dict(attribute, others) for attribute, others in zip(attributes, found, strict=True)]
        people = {} if whose is None else {"people": whose.to_dict()}
        show_json({"warning": NOT_PRIVATE, "data": source.name, "rows": rows, **people, "attributes": listed})
        return
    mark = tag("bad", NOT_PRIVATE)
    lines = [mark, f"{source.name}, {rows:,} rows: entries that count as “other”"]
    for attribute, others in zip(attributes, found, strict=True):
        lines += ["", *_lines(attribute, others)]
    lines += _of_the_file(found, loaded.universe.file.encoding)
    lines += ["", *_of_people(whose, loaded.universe)] if whose is not None else []
    show([*lines, "", mark, next_step("dxp check", policy)])


def _lines(attribute: "Attribute", others: "Others") -> list[str]:
    from dxprivacy.wording import columns, plural, wrap

    word = "columns" if len(others.columns) > 1 else "column"
    where = f" {tag('dim', f'{word} ' + ', '.join(others.columns))}" if others.columns != (attribute.name,) else ""
    if not others.rows:
        return [f"{tag('good', '✓')} {tag('bold', attribute.name)}{where}  every row fits"]
    different = plural(others.distinct, "different entry") if others.distinct > 1 else "one entry"
    head = f"{tag('warn', '!')} {tag('bold', attribute.name)}{where}  {plural(others.rows, 'row')}, {different}"
    table = [["rows", "entry"], *([f"{times:,}", _shown(entry)] for entry, times in others.entries[:_SHOWN])]
    more = others.distinct - min(_SHOWN, len(others.entries))
    rest = [f"    and {plural(more, 'more entry')}"] if more > 0 else []
    needed = wrap(f"  needed: {attribute.needed}", 96, "          ")
    return [head, *needed, *columns(table, "rl", indent=4), *rest, *_remedies(attribute, others)]


def _remedies(attribute: "Attribute", others: "Others") -> list[str]:
    # Lines to paste into the attribute's table; each lets some of these entries count.
    from dxprivacy.cli.inspect_remedies import remedies
    from dxprivacy.wording import plural

    lines = []
    for remedy in remedies(attribute, others):
        first, *more = remedy.line.split("\n")
        lines += [f"  → {first}", *(f"    {line}" for line in more)]
        most = "at least " if others.distinct > len(others.entries) else ""
        told = f"{most}{plural(remedy.rows, 'row')} would count"
        lines[-1] += f"   {tag('dim', told)}"
    head = f"  to paste below [attributes.{attribute.name}], if that is meant:"
    return [head, *lines] if lines else []


def _of_the_file(found: "list[Others]", encoding: str) -> list[str]:
    from dxprivacy.cli.inspect_remedies import of_the_file

    line = of_the_file(found)
    if not line:
        return []
    return ["", f"{tag('warn', '!')} some entries are not {encoding}; to paste below [file]:", f"  → {line}"]


def _of_people(whose: "WhoseRows", universe: "Universe") -> list[str]:
    # The people, and problems with their keys.
    from dxprivacy.wording import plural

    people = universe.people
    assert people is not None
    key = ", ".join(people.key)
    without = f", {plural(whose.without_key, 'row')} without a key" if whose.without_key else ""
    lines = [f"{tag('good', '✓')} {tag('bold', 'people')} {tag('dim', f'key {key}')}  {whose.people:,}{without}"]
    if whose.unusable:
        lines += [
            f"{tag('warn', '!')} {plural(whose.unusable, 'row')} with an unusable key: one person has them all",
            "  → a key is text of at most 1,024 bytes or a whole number; in a float column, one below 2^53",
        ]
    if whose.beyond:
        many = f"{whose.beyond:,} of them have" if whose.beyond > 1 else "one of them has"
        lines.append(
            f"  {many} more rows than count (max_rows = {people.max_rows}): {plural(whose.left_out, 'row')} left out"
        )
    if whose.alike:
        lines += [
            f"{tag('warn', '!')} {whose.alike:,} keys differ from another one by blanks or capitals alone",
            "  → write them alike in the data: keys are compared exactly, so these are different people",
        ]
    if whose.unknown or whose.twice:
        told = [f"{whose.unknown:,} not in the table of people"] * bool(whose.unknown)
        told += [f"{whose.twice:,} there more than once"] * bool(whose.twice)
        lines.append(
            f"{tag('warn', '!')} {' and '.join(told)}: in {plural(whose.rows_of_other, 'row')} what it tells is “other”"
        )
    return lines


def _shown(entry: tuple[str | None, ...]) -> str:
    # An entry in quotes, so that blanks can be seen.
    from dxprivacy.wording import short

    return ", ".join("(nothing)" if text is None else f"“{short(text, 60)}”" for text in entry)


def _to_dict(attribute: "Attribute", others: "Others") -> dict[str, Any]:
    from dxprivacy.cli.inspect_remedies import remedies

    return {
        "attribute": attribute.name,
        "columns": list(others.columns),
        "needed": attribute.needed,
        "rows": others.rows,
        "distinct": others.distinct,
        "entries": [{"entry": list(entry), "rows": times} for entry, times in others.entries[:_SHOWN]],
        "remedies": [{"line": r.line, "rows": r.rows} for r in remedies(attribute, others)],
    }
