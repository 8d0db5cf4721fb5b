"""From the tables of a policy file to a universe and a metric.  Unknown means refuse."""

import re
from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import DxError, Hint, PolicyError, did_you_mean
from dxprivacy.model.attributes import Attribute, as_text
from dxprivacy.model.metrics import AttributeMax, AttributeSum, Metric
from dxprivacy.model.reading import Recoding
from dxprivacy.model.universe import Universe
from dxprivacy.policy.kinds import BUILD, COMMON, KINDS
from dxprivacy.policy.recoding import recoding_of
from dxprivacy.policy.source import UNPRINTABLE, PolicyFile

_TOP = ("title", "dataset", "version", "unit", "attributes", "combine")
_LATER = ("numbers", "dates", "columns")
_MARKS = re.compile(r"[/\[\]=|,'\"]")  # they mean something in questions


@dataclass(frozen=True)
class Compiled:
    """A policy's parts."""

    title: str
    dataset: str
    version: str
    universe: Universe
    metric: Metric
    recoded: dict[str, Recoding]


def compile_policy(file: PolicyFile) -> Compiled:
    """Check every key, build every attribute and its metric, and add them up."""
    top = file.tables
    file.only(top, _TOP, "")
    title, dataset = _text(file, top, "title"), _text(file, top, "dataset")
    version = top.get("version", "1")
    if isinstance(version, (dict, list, bool)) or UNPRINTABLE.search(str(version)):
        raise file.error("version is a number or a text", key="version", hints=['version = "2"'])
    unit = top.get("unit", "replace")
    if unit != "replace":
        raise file.error(
            f"unit “{unit}” is not supported",
            key="unit",
            hints=[('unit = "replace"', "one record is replaced by another; the number of records is public")],
        )
    how = _how(file, top.get("combine", {}))
    tables = top.get("attributes")
    if not isinstance(tables, dict) or not tables:
        raise file.error(
            "a policy needs at least one attribute",
            line=file.line_of("", "attributes") or file.line_of("attributes"),
            hints=["[attributes.sex]", 'values = ["M", "F"]'],
        )
    parts = [_attribute(file, name, table) for name, table in tables.items()]
    try:
        universe = Universe([attribute for attribute, _ in parts])
    except PolicyError as error:
        raise file.error(error.what, hints=list(error.hints)) from None
    axes = [metric for _, metric in parts]
    metric = axes[0] if len(axes) == 1 else (AttributeSum if how == "sum" else AttributeMax)(universe, axes)
    recoded = {a.name: recoding_of(file, a, tables[a.name]) for a, _ in parts}
    return Compiled(title, dataset, as_text(version), universe, metric, {n: r for n, r in recoded.items() if r})


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
    """How the attributes' distances are put together."""
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


def _attribute(file: PolicyFile, name: str, table: Any) -> tuple[Attribute, Metric]:
    section = f"attributes.{name}"
    if not isinstance(table, dict):
        raise file.error(f"{name} must be a table", section="attributes", key=name, hints=[f"[attributes.{name}]"])
    if not name.strip() or UNPRINTABLE.search(name) or _MARKS.search(name):
        raise file.error(
            f"“{name}” cannot be the name of an attribute",
            section=section,
            details=("Names are asked for in questions, where / [ ] = | , and quotes have a meaning.",),
            hints=[("[attributes.income]", "a plain name"), ('column = "inc/eur"', "for a column called otherwise")],
        )
    kind = _kind(file, section, name, table)
    if kind == "values" and "per" in table:
        raise file.error(
            f"{name}: values have no distances, so per means nothing",
            section=section,
            key="per",
            hints=[("integers = [0, 120]", "whole numbers have distances")],
        )
    file.only(table, (kind, *COMMON, *KINDS[kind]), section)
    if "epsilon" not in table:
        raise file.error(
            f"{name} has no epsilon", section=section, hints=[("epsilon = 1.0", "how far its values may be told apart")]
        )
    try:
        return BUILD[kind](file, section, name, table)
    except DxError as error:
        if isinstance(error, PolicyError) and file.made(error):
            raise
        details = (f"in {error.where}",) if error.where else ()
        raise file.error(
            error.what, section=section, key=kind, details=(*details, *error.details), hints=list(error.hints)
        ) from None


def _kind(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> str:
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) == 1:
        return kinds[0]
    hints: list[Hint | str] = ['values = ["M", "F"]', "integers = [0, 120]", 'points = "cities.csv"']
    hints.append('graph = "friends.csv"')
    if kinds:
        what = f"{name} has both {' and '.join(kinds)}; one of them is needed"
        raise file.error(what, section=section, key=kinds[1], hints=hints)
    for key in table:
        close = [] if key in (*COMMON, *KINDS["points"]) else did_you_mean(key[:100], (*KINDS, *_LATER))
        if close and close[0][0] in KINDS:
            raise file.error(f"“{key}” means nothing here", section=section, key=key, hints=[*close])
        if close:
            raise file.error(f"{name}: {key} are not supported yet", section=section, key=key, hints=hints)
    raise file.error(f"{name} needs one of values, integers, points, graph", section=section, hints=hints)
