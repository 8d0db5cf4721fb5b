"""From the tables of a policy file to a universe and a metric.  Unknown means refuse."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dxprivacy.errors import DxError, PolicyError
from dxprivacy.model import metrics
from dxprivacy.model.attributes import Attribute, Integers, Points, Values, as_text
from dxprivacy.model.metrics import AttributeSum, Metric
from dxprivacy.model.numbers import Exact, budget, exact
from dxprivacy.model.universe import Universe
from dxprivacy.policy.places import read_places
from dxprivacy.policy.source import PolicyFile

_TOP = ("title", "dataset", "version", "unit", "attributes", "combine")
_COMMON = ("column", "epsilon", "other", "unit")
_KINDS = {"values": (), "integers": ("per",), "points": ("per", "metric", "id", "units")}
_KILOMETRES = {
    "km": Fraction(1),
    "m": Fraction(1, 1000),
    "mi": Fraction("1.609344"),
    "mile": Fraction("1.609344"),
    "miles": Fraction("1.609344"),
}


@dataclass(frozen=True)
class Compiled:
    """A policy's parts."""

    title: str
    dataset: str
    version: str
    universe: Universe
    metric: Metric


def compile_policy(file: PolicyFile) -> Compiled:
    """Check every key, build every attribute and its metric, and add them up."""
    top = file.tables
    file.only(top, _TOP, "")
    title, dataset = _text(file, top, "title"), _text(file, top, "dataset")
    unit = top.get("unit", "replace")
    if unit != "replace":
        raise file.error(
            f"unit “{unit}” is not supported",
            key="unit",
            hints=[('unit = "replace"', "one record is replaced by another; the number of records is public")],
        )
    combine = top.get("combine", {})
    if not isinstance(combine, dict) or combine.get("how", "sum") != "sum":
        raise file.error("attributes are combined by their sum", section="combine", key="how", hints=['how = "sum"'])
    file.only(combine, ("how",), "combine")
    tables = top.get("attributes")
    if not isinstance(tables, dict) or not tables:
        raise file.error("a policy needs at least one attribute", hints=["[attributes.sex]"])
    parts = [_attribute(file, name, table) for name, table in tables.items()]
    try:
        universe = Universe([attribute for attribute, _ in parts])
    except PolicyError as error:
        raise file.error(error.what, hints=list(error.hints)) from None
    axes = [metric for _, metric in parts]
    metric = axes[0] if len(axes) == 1 else AttributeSum(universe, axes)
    return Compiled(title, dataset, as_text(top.get("version", "1")), universe, metric)


def _text(file: PolicyFile, table: dict[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        example = {"title": "Household survey 2026", "dataset": "household-2026"}[key]
        raise file.error(f"a policy needs a {key}", key=key, hints=[f'{key} = "{example}"'])
    return value.strip()


def _attribute(file: PolicyFile, name: str, table: Any) -> tuple[Attribute, Metric]:
    section = f"attributes.{name}"
    if not isinstance(table, dict):
        raise file.error(f"{name} must be a table", section="attributes", key=name, hints=[f"[attributes.{name}]"])
    kinds = [kind for kind in _KINDS if kind in table]
    if len(kinds) != 1:
        raise file.error(
            f"{name} needs exactly one of values, integers, points",
            section=section,
            hints=['values = ["M", "F"]', "integers = [0, 120]", 'points = "cities.csv"'],
        )
    (kind,) = kinds
    file.only(table, (kind, *_COMMON, *_KINDS[kind]), section)
    if "epsilon" not in table:
        raise file.error(
            f"{name} has no epsilon", section=section, hints=[("epsilon = 1.0", "how far its values may be told apart")]
        )
    try:
        return _BUILD[kind](file, section, name, table)
    except DxError as error:
        if error.where.startswith(file.name) and isinstance(error, PolicyError):
            raise
        details = (f"in {error.where}",) if error.where else ()
        raise file.error(
            error.what, section=section, key=kind, details=(*details, *error.details), hints=list(error.hints)
        ) from None


def _common(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"name": name}
    for key in ("column", "unit"):
        if key in table:
            if not isinstance(table[key], str) or not table[key].strip():
                raise file.error(f"{key} must be a name", section=section, key=key)
            out[key] = table[key]
    return out


def _other(file: PolicyFile, section: str, table: dict[str, Any]) -> tuple[Exact | None, Fraction | None]:
    """The distance and the value of `other`, where the policy gives them."""
    other = table.get("other", {})
    if not isinstance(other, dict):
        raise file.error("other is a table", section=section, key="other", hints=["other = { epsilon = 5, value = 0 }"])
    file.only(other, ("epsilon", "value"), section)
    epsilon = budget(other["epsilon"], what="other's epsilon") if "epsilon" in other else None
    value = Fraction(exact(other["value"], what="other's value")) if "value" in other else None
    return epsilon, value


def _values(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> tuple[Attribute, Metric]:
    listed = table["values"]
    if not isinstance(listed, list) or not all(isinstance(v, (str, int)) for v in listed):
        raise file.error(
            f"{name}: values must be text, whole numbers or true/false",
            section=section,
            key="values",
            hints=['values = ["M", "F"]'],
        )
    epsilon, value = _other(file, section, table)
    attribute = Values(values=tuple(listed), other_value=value, **_common(file, section, name, table))
    alone = Universe([attribute])
    given = table["epsilon"]
    if isinstance(given, dict):
        budgets = {as_text(v): budget(e, what=f"epsilon of {v}") for v, e in given.items()}
        return attribute, metrics.valued(alone, attribute, budgets, epsilon)
    return attribute, metrics.discrete(alone, _budget(file, section, given), epsilon)


def _integers(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> tuple[Attribute, Metric]:
    ends = table["integers"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise file.error(
            f"{name}: integers needs two ends", section=section, key="integers", hints=["integers = [0, 120]"]
        )
    epsilon, value = _other(file, section, table)
    attribute = Integers(low=ends[0], high=ends[1], other_value=value, **_common(file, section, name, table))
    unit = f" {attribute.unit}" if attribute.unit else ""
    per = _per(file, section, name, table, f"per = 10                 {table['epsilon']} for every 10{unit} apart")
    if isinstance(per, str):
        raise file.error(f"{name}: per is a number", section=section, key="per", hints=["per = 10"])
    step = _budget(file, section, table["epsilon"])
    return attribute, metrics.stepped(
        Universe([attribute]), attribute, _divide(step, _positive(file, section, per)), epsilon
    )


def _points(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> tuple[Attribute, Metric]:
    if not isinstance(table["points"], str):
        raise file.error(f"{name}: points is the name of a CSV file", section=section, key="points")
    path = (file.path.parent if file.path else _here()) / table["points"]
    units = table.get("units", {})
    if not isinstance(units, dict) or not all(isinstance(u, str) for u in units.values()):
        raise file.error("units is a table", section=section, key="units", hints=['units = { elevation = "m" }'])
    places = read_places(path, units, as_text(table.get("id", "")))
    epsilon, _ = _other(file, section, table)
    attribute = Points(
        ids=places.ids,
        coordinates=places.coordinates,
        facts=places.facts,
        **_common(file, section, name, table),
    )
    kind = table.get("metric", "great-circle" if places.geographic else "euclidean")
    if kind not in metrics.PLACES:
        raise file.error(f"no metric “{kind}” for points", section=section, key="metric", hints=[*metrics.PLACES])
    per = _per(file, section, name, table, 'per = "100 km"' if kind == "great-circle" else "per = 10")
    length = _kilometres(file, section, per) if kind == "great-circle" else _positive(file, section, per)
    step = _divide(_budget(file, section, table["epsilon"]), length)
    if not 0 < step < math.inf:
        raise file.error(f"{name}: epsilon must be positive and finite", section=section, key="epsilon")
    return attribute, metrics.placed(Universe([attribute]), attribute, kind, Fraction(step), epsilon)


_BUILD = {"values": _values, "integers": _integers, "points": _points}


def _here() -> Any:
    from pathlib import Path

    return Path()


def _per(file: PolicyFile, section: str, name: str, table: dict[str, Any], hint: str) -> Any:
    if "per" not in table:
        raise file.error(f"{name} has a distance but no unit", section=section, key="epsilon", hints=[f"add   {hint}"])
    return table["per"]


def _budget(file: PolicyFile, section: str, given: Any) -> Exact:
    if isinstance(given, (dict, list, bool)):
        raise file.error("epsilon is one number here", section=section, key="epsilon", hints=["epsilon = 1.0"])
    try:
        return budget(given)
    except DxError as error:
        raise file.error(error.what, section=section, key="epsilon", hints=[("epsilon = inf", "for public")]) from None


def _positive(file: PolicyFile, section: str, per: Any) -> Fraction:
    if isinstance(per, (int, Decimal)) and not isinstance(per, bool) and Decimal(per).is_finite() and per > 0:
        return Fraction(per)
    raise file.error(f"per is {per}; a positive number is needed", section=section, key="per", hints=["per = 10"])


def _kilometres(file: PolicyFile, section: str, per: Any) -> Fraction:
    match = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]+)\s*", per) if isinstance(per, str) else None
    if match is None or match.group(2) not in _KILOMETRES:
        raise file.error(
            f"per is {per!r}; a distance with its unit is needed",
            section=section,
            key="per",
            hints=['per = "100 km"', "units: km, m, miles"],
        )
    length = exact(match.group(1), what="per") * _KILOMETRES[match.group(2)]
    if length <= 0:
        raise file.error(f"per is {per!r}; it must be positive", section=section, key="per")
    return Fraction(length)


def _divide(epsilon: Exact, unit: Fraction) -> Exact:
    return math.inf if epsilon == math.inf else Fraction(epsilon) / unit
