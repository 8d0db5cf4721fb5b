"""Compile the tables of a policy file to a universe and a metric; unknown keys are refused."""

import re
from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import DxError, PolicyError, did_you_mean
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Metric
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.policy.neighbors import KEYS as UNIT_KEYS
from dxprivacy.policy.neighbors import Neighbors, neighbors_of
from dxprivacy.policy.recoding import recoding_of, version_text, was_version
from dxprivacy.policy.skeleton import OPEN
from dxprivacy.policy.tables.file_table import SERVER_KEYS, file_format
from dxprivacy.policy.tables.table_keys import Keys
from dxprivacy.policy.tables.table_kinds import COMMON, TABLES
from dxprivacy.policy.toml_file import UNPRINTABLE, PolicyFile
from dxprivacy.universe.attribute_matching import Recoding
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.universe import Universe

_TOP = ("title", "dataset", "version", "was_version", *UNIT_KEYS, *SERVER_KEYS, "file", "attributes", "combine")
_MARKS = re.compile(r"[/\[\]=|,'\"]")  # they mean something in queries


@dataclass(frozen=True)
class Compiled:
    """A policy's parts."""

    title: str
    dataset: str
    version: str
    universe: Universe
    metric: Metric
    recoded: dict[str, Recoding]
    was_version: str


def _of_people(file: PolicyFile, tables: Any) -> tuple[str, ...]:
    """Return the attributes that are in the table of people."""
    found = []
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if not isinstance(table, dict) or "from" not in table:
            continue
        if table["from"] not in ("person", "row"):
            hints = [('from = "person"', "a column of [people.table]"), ('from = "row"', "a column of the data")]
            raise file.error("from is “person” or “row”", section=f"attributes.{name}", key="from", hints=hints)
        found += [name] if table["from"] == "person" else []
    return tuple(found)


def _require_keys_unread(file: PolicyFile, universe: Universe, neighbors: Neighbors) -> None:
    """Refuse attributes that read a column of the key, which identifies people and must not appear in answers."""
    keys = () if neighbors.people is None else neighbors.people.key
    second = None if neighbors.people is None else neighbors.people.table
    for attribute in universe.attributes:
        keys_here = second.key if second is not None and attribute.name in second.attributes else keys
        for column in attribute.reads:
            if column in keys_here:
                raise file.error(
                    f"{attribute.name} reads {column}, which is the key of people and must not appear in answers",
                    section=f"attributes.{attribute.name}",
                    hints=[("leave it out", "of the attributes"), ('key = "patient"', "another key, under [people]")],
                )


_EXAMPLES = {"step": "step = 1000", "per": "per = 10"}


def compile_policy(file: PolicyFile, *, whole_people: bool = False) -> Compiled:
    """Check every key, build every attribute and its metric, and combine them.

    If people have several rows, distances are those of single rows; with `whole_people`, as written.
    """
    top = file.tables
    file.only(top, _TOP, "")
    title, dataset = _text(file, top, "title"), _text(file, top, "dataset")
    version = top.get("version", "1")
    if isinstance(version, (dict, list, bool)) or UNPRINTABLE.search(str(version)):
        raise file.error("version is a number or a text", key="version", hints=['version = "2"'])
    neighbors = neighbors_of(file, top, whole_people=whole_people, of_people=_of_people(file, top.get("attributes")))
    how = _how(file, top.get("combine", {}))
    lines = file_format(file, top)
    tables = top.get("attributes")
    if not isinstance(tables, dict) or not tables:
        raise file.error(
            "a policy needs at least one attribute",
            line=file.line_of("", "attributes") or file.line_of("attributes"),
            hints=["[attributes.sex]", 'values = ["M", "F"]'],
        )
    parts = [_attribute(file, name, table, neighbors.rows_each) for name, table in tables.items()]
    try:
        universe = Universe([attribute for attribute, _ in parts], file=lines)
    except PolicyError as error:
        raise file.error(error.what, details=tuple(error.details), hints=list(error.hints)) from None
    _require_keys_unread(file, universe, neighbors)
    axes = [metric for _, metric in parts]
    if len(axes) == 1:
        metric = axes[0].over(universe) if universe.file else axes[0]
    else:
        metric = (AttributeSum if how == "sum" else AttributeMax)(universe, axes)
    metric = neighbors.applied(metric)
    found = {a.name: recoding_of(file, a, tables[a.name]) for a, _ in parts}
    recoded = {name: recoding for name, recoding in found.items() if recoding}
    before = was_version(file, top.get("was_version"), version_text(version), recoded)
    return Compiled(title, dataset, version_text(version), metric.universe, metric, recoded, before)


def _text(file: PolicyFile, table: dict[str, Any], key: str) -> str:
    value = table.get(key)
    example = {"title": "Household survey 2026", "dataset": "household-2026"}[key]
    if not isinstance(value, str) or not value.strip():
        what = f"a policy needs a {key}" if value is None or value == "" else f"{key} is a text"
        raise file.error(what, key=key, hints=[f'{key} = "{example}"'])
    if UNPRINTABLE.search(value):
        raise file.error(f"{key} is one line without control characters", key=key, hints=[f'{key} = "{example}"'])
    return value.strip()


def _how(file: PolicyFile, combine: Any) -> str:
    """Read how the attributes' distances are combined: by sum or maximum."""
    if not isinstance(combine, dict):
        raise file.error("combine is a table", key="combine", hints=["[combine]", 'how = "sum"'])
    file.only(combine, ("how",), "combine")
    how = combine.get("how", "sum")
    if how not in ("sum", "max"):
        raise file.error(
            f"combining attributes by “{how}” is not supported",
            section="combine",
            key="how",
            hints=[
                ('how = "sum"', "the ε of two records is the sum over the attributes in which they differ"),
                ('how = "max"', "it is the largest of them; stricter, and slower to plan"),
            ],
        )
    return str(how)


def _attribute(file: PolicyFile, name: str, table: Any, rows_each: int) -> tuple[Attribute, Metric]:
    section = f"attributes.{name}"
    if not isinstance(table, dict):
        raise file.error(f"{name} must be a table", section="attributes", key=name, hints=[f"[attributes.{name}]"])
    if not name.strip() or UNPRINTABLE.search(name) or _MARKS.search(name):
        raise file.error(
            f"“{name}” cannot be the name of an attribute",
            section=section,
            details=("Names are used in queries, where / [ ] = | , and quotes have a meaning.",),
            hints=[("[attributes.income]", "a plain name"), ('column = "inc/eur"', "for a column with another name")],
        )
    kind = _kind(file, section, name, table)
    for key, (why, hint) in TABLES[kind].meaningless.items():
        if key in table:
            raise file.error(f"{name}: {why}", section=section, key=key, hints=[hint])
    file.only(table, (kind, *COMMON, *TABLES[kind].keys), section)
    _require_filled_in(file, section, name, table)
    if "epsilon" not in table:
        raise file.error(
            f"{name} has no epsilon", section=section, hints=[("epsilon = 1.0", "the ε between its values")]
        )
    try:
        whole = TABLES[kind].build(Keys(file, name, table))
        if rows_each == 1:
            return whole
        return TABLES[kind].build(Keys(file, name, table, rows_each, other_each=_rounded_other(whole[1], rows_each)))
    except DxError as error:
        if isinstance(error, PolicyError) and file.made(error):
            raise
        details = (f"in {error.where}",) if error.where else ()
        raise file.error(
            error.what, section=section, key=kind, details=(*details, *error.details), hints=list(error.hints)
        ) from None


def _rounded_other(whole: Metric, rows_each: int) -> Exact | None:
    """Return a row's part of a distance to `other` that was rounded up; rounding it again would exceed its part."""
    return whole.radius / rows_each if isinstance(whole, WithOther) and whole.tick is None else None


def _require_filled_in(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> None:
    """Refuse entries that `dxp init` left open: the curator must decide them, since a wrong range biases answers."""
    for key, value in table.items():
        if OPEN in (value if isinstance(value, list) else [value]):
            kind = TABLES.get(key)
            example = (
                kind.example if kind and (isinstance(value, list) or not kind.names_a_file) else _EXAMPLES.get(key, "")
            )
            raise file.error(
                f"{name}: {key} is not filled in yet", section=section, key=key, hints=[example] if example else []
            )


def _kind(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> str:
    kinds = [kind for kind in TABLES if kind in table]
    if len(kinds) == 1:
        return kinds[0]
    hints = [known.example for known in TABLES.values()]
    if kinds:
        what = f"{name} has both {' and '.join(kinds)}; one of them is needed"
        raise file.error(what, section=section, key=kinds[1], hints=hints)
    for key in table:
        known = (*COMMON, *(key for of in TABLES.values() for key in of.keys))
        close = [] if key in known else did_you_mean(key[:100], tuple(TABLES))
        if close:
            raise file.error(f"unknown key “{key}”", section=section, key=key, hints=[*close])
    raise file.error(f"{name} needs one of {', '.join(TABLES)}", section=section, hints=hints)
