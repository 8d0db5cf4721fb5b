"""Each kind of attribute: from its table in the policy file to an attribute and its metric."""

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dxprivacy.errors import DxError, Hint, PolicyError, UsageError
from dxprivacy.model import metrics
from dxprivacy.model.attributes import Attribute, Integers, Points, Values, as_text
from dxprivacy.model.metrics import Metric
from dxprivacy.model.metrics.graph import read_edges
from dxprivacy.model.numbers import Exact, exact
from dxprivacy.model.universe import Universe
from dxprivacy.policy.places import PlacesFile, read_edge_rows, read_places
from dxprivacy.policy.source import UNPRINTABLE, PolicyFile

COMMON = ("column", "epsilon", "other", "unit")
KINDS = {
    "values": ("declared_public",),
    "integers": ("per", "at_most"),
    "points": ("per", "metric", "id", "units", "within", "at_most"),
    "graph": (),
}
_KILOMETRES = {
    "km": Fraction(1),
    "m": Fraction(1, 1000),
    "mi": Fraction("1.609344"),
    "mile": Fraction("1.609344"),
    "miles": Fraction("1.609344"),
}
# Wide enough for every sane policy; within them floats neither overflow nor vanish, whatever is divided or added up.
_EPSILONS = (Fraction(1, 10**9), Fraction(10**9))
_LENGTHS = (Fraction(1, 10**15), Fraction(10**15))
_THRESHOLDS = ("blowfish", "smooth")


def _common(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"name": name}
    for key, example in (("column", "inc_eur"), ("unit", "years")):
        if key in table:
            out[key] = _name(file, section, key, table[key], example)
    return out


def _name(file: PolicyFile, section: str, key: str, given: Any, example: str) -> str:
    if not isinstance(given, str) or not given.strip() or UNPRINTABLE.search(given):
        raise file.error(f"{key} must be a name", section=section, key=key, hints=[f'{key} = "{example}"'])
    return given


def _other(
    file: PolicyFile, section: str, table: dict[str, Any], *, numbers: bool
) -> tuple[Exact | None, Fraction | None]:
    """The distance and the value of `other`, where the policy gives them."""
    other = table.get("other", {})
    example = "other = { epsilon = 5, value = 0 }" if numbers else "other = { epsilon = 5 }"
    if not isinstance(other, dict):
        raise file.error("other is a table", section=section, key="other", hints=[example])
    file.only(other, ("epsilon", "value"), section, "other")
    epsilon = _budget(file, section, other["epsilon"], "other", "other's epsilon") if "epsilon" in other else None
    if "value" not in other:
        return epsilon, None
    if not numbers:
        raise file.error(
            "only integers have a value for other in sums",
            section=section,
            key="other",
            hints=[(example, "without value")],
        )
    return epsilon, _number(file, section, "other", "other's value", other["value"], (-_LENGTHS[1], _LENGTHS[1]))


def _values(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> tuple[Attribute, Metric]:
    listed = table["values"]
    if not isinstance(listed, list) or not all(isinstance(v, (str, int)) for v in listed):
        raise file.error(
            f"{name}: values must be a list of texts, whole numbers or true/false",
            section=section,
            key="values",
            hints=['values = ["M", "F"]'],
        )
    if any(UNPRINTABLE.search(as_text(v)) for v in listed):
        raise file.error(
            f"{name}: a value has control characters",
            section=section,
            key="values",
            hints=["leave it out: entries that are not listed count as “other”"],
        )
    if not isinstance(table.get("declared_public", True), bool):
        hints: list[Hint | str] = [("declared_public = true", "the list of values was read from the data")]
        raise file.error("declared_public is true or false", section=section, key="declared_public", hints=hints)
    epsilon, _ = _other(file, section, table, numbers=False)
    attribute = Values(values=tuple(listed), **_common(file, section, name, table))
    alone = Universe([attribute])
    given = table["epsilon"]
    if not isinstance(given, dict):
        return attribute, metrics.discrete(alone, _budget(file, section, given), epsilon)
    try:
        budgets = {v: _budget(file, section, e, "epsilon", f"epsilon of {v}") for v, e in given.items()}
        return attribute, metrics.valued(alone, attribute, budgets, epsilon)
    except DxError as error:
        if isinstance(error, PolicyError) and file.made(error):
            raise
        example = ", ".join(f"{_key(v)} = 1.0" for v in attribute.values[:4])
        more = ", …" if attribute.listed > 4 else ""
        hints = list(error.hints) if "no value" in error.what else [(f"epsilon = {{ {example}{more} }}", "")]
        raise file.error(error.what, section=section, key="epsilon", hints=hints) from None


def _key(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z0-9_-]+", value) else f'"{value}"'


def _integers(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> tuple[Attribute, Metric]:
    ends = table["integers"]
    if not isinstance(ends, list) or len(ends) != 2 or any(isinstance(e, bool) or type(e) is not int for e in ends):
        raise file.error(
            f"{name}: integers needs two ends, both whole numbers",
            section=section,
            key="integers",
            hints=["integers = [0, 120]"],
        )
    if ends[1] < ends[0]:
        raise file.error(
            f"{name} runs from {ends[0]} to {ends[1]}, which is empty",
            section=section,
            key="integers",
            hints=[f"integers = [{ends[1]}, {ends[0]}]"],
        )
    epsilon, value = _other(file, section, table, numbers=True)
    attribute = Integers(low=ends[0], high=ends[1], other_value=value, **_common(file, section, name, table))
    step = _budget(file, section, table["epsilon"])
    unit = f" {attribute.unit}" if attribute.unit else ""
    per = _per(file, section, name, table, ("per = 10", f"{table['epsilon']} for every 10{unit} apart"))
    length = _number(file, section, "per", "per", per, _LENGTHS, ["per = 10"])
    cap = _cap(file, section, table, step)
    return attribute, metrics.stepped(Universe([attribute]), attribute, _divide(step, length), epsilon, cap)


def _points(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> tuple[Attribute, Metric]:
    path = (file.path.parent if file.path else Path()) / _name(file, section, "points", table["points"], "cities.csv")
    units = table.get("units", {})
    if not isinstance(units, dict) or not all(isinstance(u, str) for u in units.values()):
        raise file.error("units is a table", section=section, key="units", hints=['units = { elevation = "m" }'])
    identifier = _name(file, section, "id", table["id"], "city_code") if "id" in table else ""
    places = read_places(path, units, identifier)
    epsilon, _ = _other(file, section, table, numbers=False)
    attribute = Points(
        ids=places.ids,
        coordinates=places.coordinates,
        facts=places.facts,
        **_common(file, section, name, table),
    )
    kind = table.get("metric", "great-circle" if places.geographic else "euclidean")
    known = (*metrics.PLACES, *_THRESHOLDS)
    if not isinstance(kind, str) or kind not in known:
        raise file.error(f"no metric “{kind}” for points", section=section, key="metric", hints=[*known])
    if kind == "great-circle" and not places.geographic:
        raise file.error(
            "great-circle distance needs columns latitude and longitude",
            section=section,
            key="metric",
            hints=[('metric = "euclidean"', "for x and y in a plane")],
        )
    step = _budget(file, section, table["epsilon"])
    if not 0 < step < math.inf:
        raise file.error(
            f"{name}: epsilon must be positive and finite",
            section=section,
            key="epsilon",
            hints=[
                ("epsilon = 1.0", "with per: so much for that distance"),
                "for public places list the ids as values",
            ],
        )
    alone = Universe([attribute])
    cap = _cap(file, section, table, step)
    if kind in _THRESHOLDS:
        reach = _threshold(file, section, name, table, places, kind)
        base = "great-circle" if places.geographic else "euclidean"
        return attribute, metrics.thresholded(alone, attribute, kind, base, Fraction(step), reach, epsilon, cap)
    if "within" in table:
        raise file.error(f"within means nothing for {kind}", section=section, key="within", hints=[*_THRESHOLDS])
    length = _length(file, section, name, table, kind == "great-circle")
    return attribute, metrics.placed(alone, attribute, kind, Fraction(step) / length, epsilon, cap)


def _length(file: PolicyFile, section: str, name: str, table: dict[str, Any], geographic: bool) -> Fraction:
    if geographic:
        apart = ('per = "100 km"', f"{table['epsilon']} for every 100 km apart")
        return _kilometres(file, section, _per(file, section, name, table, apart))
    apart = ("per = 10", f"{table['epsilon']} for every 10 apart, in the unit of the coordinates")
    return _number(file, section, "per", "per", _per(file, section, name, table, apart), _LENGTHS, ["per = 10"])


def _threshold(
    file: PolicyFile, section: str, name: str, table: dict[str, Any], places: PlacesFile, kind: str
) -> Fraction:
    """`within` of a Blowfish or smooth threshold."""
    if "per" in table:
        raise file.error(f"{kind} takes within, not per", section=section, key="per", hints=['within = "4 km"'])
    example = 'within = "4 km"' if places.geographic else "within = 4"
    if "within" not in table:
        raise file.error(f"{name}: {kind} needs a threshold", section=section, key="metric", hints=[f"add   {example}"])
    if places.geographic:
        return _kilometres(file, section, table["within"], "within")
    return _number(file, section, "within", "within", table["within"], _LENGTHS, [example])


def _cap(file: PolicyFile, section: str, table: dict[str, Any], step: Exact) -> Fraction | None:
    """`at_most`: no two values get more than this."""
    if "at_most" not in table:
        return None
    cap = _budget(file, section, table["at_most"], "at_most", "at_most")
    if not 0 < cap < math.inf or step == 0:
        raise file.error("at_most must be positive and finite", section=section, key="at_most", hints=["at_most = 3"])
    return Fraction(cap)


def _graph(file: PolicyFile, section: str, name: str, table: dict[str, Any]) -> tuple[Attribute, Metric]:
    """A file of edges: two columns with the nodes, a third one with the length where it is not epsilon."""
    path = (file.path.parent if file.path else Path()) / _name(file, section, "graph", table["graph"], "friends.csv")
    step = _budget(file, section, table["epsilon"])
    epsilon, _ = _other(file, section, table, numbers=False)
    nodes, edges = read_edges(read_edge_rows(path), step)
    attribute = Values(values=tuple(nodes), **_common(file, section, name, table))
    return attribute, metrics.linked(Universe([attribute]), attribute, edges, epsilon)


BUILD = {"values": _values, "integers": _integers, "points": _points, "graph": _graph}


def _per(file: PolicyFile, section: str, name: str, table: dict[str, Any], hint: Hint) -> Any:
    if "per" not in table:
        hints: list[Hint | str] = [(f"add   {hint[0]}".ljust(28), hint[1])]
        raise file.error(f"{name} has a distance but no unit", section=section, key="epsilon", hints=hints)
    return table["per"]


def _budget(file: PolicyFile, section: str, given: Any, key: str = "epsilon", what: str = "epsilon") -> Exact:
    """An epsilon: 0, infinity, or a number of a sane size."""
    if isinstance(given, (dict, list)):
        raise file.error(f"{what} is one number here", section=section, key=key, hints=["epsilon = 1.0"])
    if isinstance(given, (int, Decimal)) and not isinstance(given, bool) and given in (0, math.inf):
        return math.inf if given else Fraction(0)
    hints: list[Hint | str] = [("epsilon = 1.0", ""), ("epsilon = inf", "for public")]
    return _number(file, section, key, what, given, _EPSILONS, hints)


def _number(
    file: PolicyFile,
    section: str,
    key: str,
    what: str,
    given: Any,
    limits: tuple[Fraction, Fraction],
    hints: Iterable[Hint | str] = (),
) -> Fraction:
    """A number as it was written, within limits."""
    wrong = ""
    if isinstance(given, str):
        wrong = f"{what} is the text {given[:40]!r}; a number is written without quotes"
    elif isinstance(given, bool) or not isinstance(given, (int, Decimal)):
        wrong = f"{what} is {str(given)[:40]}; a number is needed"
    if not wrong:
        try:
            number = Fraction(exact(given, what=what))
        except UsageError as error:
            wrong = error.what
        else:
            if limits[0] <= number <= limits[1]:
                return number
            sign = "positive" if number <= 0 < limits[0] else f"from {_power(limits[0])} to {_power(limits[1])}"
            wrong = f"{what} is {given}; it must be {sign}"
    raise file.error(wrong, section=section, key=key, hints=hints)


def _power(limit: Fraction) -> str:
    return re.sub(r"e([+-])0*", lambda m: "e" + m[1].strip("+"), f"{float(limit):g}")


def _kilometres(file: PolicyFile, section: str, per: Any, key: str = "per") -> Fraction:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([A-Za-z]+)\s*", per) if isinstance(per, str) else None
    if match is None or match.group(2) not in _KILOMETRES:
        raise file.error(
            f"{key} is {str(per)[:40]!r}; a distance with its unit is needed",
            section=section,
            key=key,
            hints=[f'{key} = "100 km"', "units: km, m, miles"],
        )
    length = _number(file, section, key, key, Decimal(match.group(1)), _LENGTHS, [f'{key} = "100 km"'])
    return length * _KILOMETRES[match.group(2)]


def _divide(epsilon: Exact, unit: Fraction) -> Exact:
    return math.inf if epsilon == math.inf else Fraction(epsilon) / unit
