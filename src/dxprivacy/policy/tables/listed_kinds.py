"""Attributes with listed values: values, ordered values, the points of a file, grids, the nodes of a graph."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

from dxprivacy.errors import DxError, Hint, PolicyError, did_you_mean
from dxprivacy.exact.rounding import KILOMETERS
from dxprivacy.metrics import Metric, attribute_metrics
from dxprivacy.metrics.closed_forms import read_edges
from dxprivacy.metrics.place_metrics import PLACES
from dxprivacy.policy.tables.number_kinds import nearest, require_by_id, two_columns
from dxprivacy.policy.tables.place_files import read_edge_rows, read_places, read_values, too_many
from dxprivacy.policy.tables.table_keys import LENGTHS, MOST_LISTED, Keys, divide
from dxprivacy.policy.toml_file import UNPRINTABLE
from dxprivacy.universe.attributes.attribute import OTHER, Attribute, as_text
from dxprivacy.universe.attributes.grid import MOST_CELLS, Grid, too_many_cells
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.nearest_place import Nearest
from dxprivacy.universe.attributes.ordered_values import Ordered
from dxprivacy.universe.reading.spelling import Spelling
from dxprivacy.universe.universe import Universe

_THRESHOLDS = ("blowfish", "smooth")
_MOST_BUDGETS = 2_000
Listed = TypeVar("Listed", bound=Values | Points)


def values(keys: Keys) -> tuple[Attribute, Metric]:
    """Build `values = ["M", "F"]`, or `values = "zips.csv"`, with the discrete metric or a budget for each value."""
    other, _ = keys.other()
    given = keys["values"]
    attribute = _from_file(keys) if isinstance(given, str) and "." in given else _from_list(keys)
    universe = Universe([attribute])
    given = keys["epsilon"]
    between = keys.table.get("between", "smaller")
    if between not in ("smaller", "sum") or ("between" in keys and not isinstance(given, dict)):
        raise keys.error(
            "between says how the budgets of two values make up their ε",
            "between",
            [('between = "smaller"', "the smaller one, closed to a metric"), ('between = "sum"', "both together")],
        )
    require_declared(keys)
    if not isinstance(given, dict):
        return attribute, attribute_metrics.discrete(universe, keys.parse_epsilon(given), other)
    if attribute.listed > _MOST_BUDGETS:
        raise keys.error(
            f"{attribute.listed:,} values cannot have an epsilon each; {_MOST_BUDGETS:,} can",
            "epsilon",
            [("epsilon = 1.0", "one for all")],
        )
    try:
        budgets = {v: keys.parse_epsilon(e, "epsilon", f"epsilon of {v}") for v, e in given.items()}
        return attribute, attribute_metrics.valued(universe, attribute, budgets, other, how=between)
    except DxError as error:
        if isinstance(error, PolicyError) and keys.file.made(error):
            raise
        example = ", ".join(f"{_key(v)} = 1.0" for v in attribute.values[:4])
        more = ", …" if attribute.listed > 4 else ""
        hints = list(error.hints) if "no value" in error.what else [(f"epsilon = {{ {example}{more} }}", "")]
        raise keys.error(error.what, "epsilon", hints) from None


def require_declared(keys: Keys) -> None:
    """Refuse a `declared_public` that is not true or false."""
    if not isinstance(keys.table.get("declared_public", True), bool):
        raise keys.error(
            "declared_public is true or false",
            "declared_public",
            [("declared_public = true", "the list of values was read from the data")],
        )


def listed_texts(keys: Keys, key: str, examples: Sequence[Hint | str]) -> tuple[Any, ...]:
    """Return the values that a key lists, as they are written."""
    listed = keys[key]
    if not isinstance(listed, list) or not all(_is_value(v) for v in listed):
        raise keys.error(f"{keys.name}: {key} must be a list of texts, numbers or true/false", key, examples)
    if any(UNPRINTABLE.search(as_text(v)) for v in listed):
        raise keys.error(
            f"{keys.name}: a value has control characters",
            key,
            ["leave it out: entries that are not listed count as “other”"],
        )
    if len(listed) > MOST_LISTED:
        error = too_many(keys.name, "values", len(listed), MOST_LISTED)
        raise keys.error(error.what, key, error.hints)
    return tuple(listed)


def _from_list(keys: Keys) -> Values:
    listed = listed_texts(keys, "values", ['values = ["M", "F"]', ('values = "zips.csv"', "a file that lists them")])
    for key in ("id", "units", "complete"):
        if key in keys:
            raise keys.error(f"{key} is for values that a file lists", key, [('values = "zips.csv"', "for example")])
    return spelt(keys, Values(values=listed, **keys.common()))


def _is_value(given: object) -> bool:
    return isinstance(given, (str, int)) or (isinstance(given, Decimal) and given.is_finite())


def _from_file(keys: Keys) -> Values:
    """Read values from a column of a CSV file; its further columns are public properties."""
    common = keys.common()
    called = (common.get("column", keys.name), keys.name)
    identifier = keys.text("id", "zip") if "id" in keys else ""
    found = read_values(keys.path("values", "zips.csv"), _units(keys), identifier, called)
    return spelt(keys, Values(values=found.values, facts=found.facts, **common))


def spelt(keys: Keys, attribute: Listed) -> Listed:
    """Apply `trim`, `fold_case` and `aliases`: further spellings that count as a listed value."""
    flags: dict[str, bool] = {}
    for key, meaning in (("trim", "blanks around entries do not count"), ("fold_case", "m is M")):
        flags[key] = keys.table.get(key, False)
        if not isinstance(flags[key], bool):
            raise keys.error(f"{key} is true or false", key, [(f"{key} = true", meaning)])
    spelling = Spelling(**flags, aliases=_aliases(keys, attribute))
    if not spelling:
        return attribute
    try:
        return replace(attribute, spelling=spelling)
    except PolicyError as error:
        at_fault = "aliases" if "alias" in error.what else "fold_case" if "fold_case" in error.what else "trim"
        raise keys.error(error.what, at_fault, list(error.hints)) from None


def _aliases(keys: Keys, attribute: Attribute) -> tuple[tuple[str, str], ...]:
    """Return pairs of a listed value and a further text for it; a single text may be given without a list."""
    given = keys.table.get("aliases", {})
    example = 'aliases = { NJ = ["nj", "New Jersey"] }'
    if not isinstance(given, dict):
        raise keys.error("aliases is a table of values and their further texts", "aliases", [example])
    found: list[tuple[str, str]] = []
    known = set(attribute.texts)
    for value, texts in given.items():
        if value not in known:
            hints = did_you_mean(value, attribute.texts)
            raise keys.error(
                f"{keys.name} has no value {value[:60]!r}; aliases are further texts for its values", "aliases", hints
            )
        for text in texts if isinstance(texts, list) else [texts]:
            if not _is_value(text) or UNPRINTABLE.search(as_text(text)):
                raise keys.error(f"an alias of {value[:60]!r} is a text or a number", "aliases", [example])
            if as_text(text) == OTHER:
                what = f"{OTHER!r} cannot be an alias of {value[:60]!r}: it is reserved for invalid entries"
                raise keys.error(what, "aliases", [("leave it out", "such an entry is not listed, and counts so")])
            found.append((value, as_text(text)))
    if len(set(found)) < len(found):
        twice = next(pair for pair in found if found.count(pair) > 1)
        raise keys.error(f"the alias {twice[1][:60]!r} is given twice", "aliases", ["leave one of them out"])
    return tuple(found)


def _units(keys: Keys) -> dict[str, str]:
    units = keys.table.get("units", {})
    if not isinstance(units, dict) or not all(isinstance(u, str) for u in units.values()):
        raise keys.error("units is a table", "units", ['units = { elevation = "m" }'])
    return units


def _key(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z0-9_-]+", value) else f'"{value}"'


def points(keys: Keys) -> tuple[Attribute, Metric]:
    """Build `points = "cities.csv"`: rows have the id of a place, or coordinates, whose nearest place counts."""
    path = keys.path("points", "cities.csv")
    identifier = keys.text("id", "city_code") if "id" in keys else ""
    places = read_places(path, _units(keys), identifier)
    given = {"ids": places.ids, "coordinates": places.coordinates, "facts": places.facts, **keys.common()}
    if "coordinates" in keys:
        attribute: Points = Nearest(**given, **nearest(keys, places))
    else:
        require_by_id(keys)
        attribute = spelt(keys, Points(**given))
    return attribute, distances_between(keys, attribute, earth=places.geographic)


def distances_between(keys: Keys, attribute: Points, *, earth: bool) -> Metric:
    """Return the metric of places: proportional to their distance, or by a threshold."""
    other, _ = keys.other()
    kind = keys.table.get("metric", "great-circle" if earth else "euclidean")
    known = (*PLACES, *_THRESHOLDS)
    if not isinstance(kind, str) or kind not in known:
        raise keys.error(f"no metric “{kind}” for points", "metric", [*known])
    if kind == "great-circle" and not earth:
        raise keys.error(
            "great-circle distance needs columns latitude and longitude",
            "metric",
            [('metric = "euclidean"', "for x and y in a plane")],
        )
    step = keys.epsilon()
    if not 0 < step < math.inf:
        raise keys.error(
            f"{keys.name}: epsilon must be positive and finite",
            "epsilon",
            [("epsilon = 1.0", "with per: so much for that distance"), "for public places list the ids as values"],
        )
    universe = Universe([attribute])
    cap = keys.cap(step)
    if kind in _THRESHOLDS:
        reach = _threshold(keys, earth, kind)
        base = "great-circle" if earth else "euclidean"
        return attribute_metrics.thresholded(universe, attribute, kind, base, Fraction(step), reach, other, cap)
    if "threshold" in keys:
        raise keys.error(f"threshold means nothing for {kind}", "threshold", [*_THRESHOLDS])
    length = _length(keys, kind == "great-circle")
    return attribute_metrics.placed(universe, attribute, kind, Fraction(step) / length, other, cap)


def _length(keys: Keys, geographic: bool) -> Fraction:
    if geographic:
        apart = ('per = "100 km"', f"{keys['epsilon']} for every 100 km apart")
        return keys.length(keys.per(apart), "per", KILOMETERS, "100 km")
    apart = ("per = 10", f"{keys['epsilon']} for every 10 apart, in the unit of the coordinates")
    return keys.number(keys.per(apart), "per", hints=["per = 10"])


def _threshold(keys: Keys, earth: bool, kind: str) -> Fraction:
    """Read `threshold` of a Blowfish or smooth metric."""
    if "per" in keys:
        raise keys.error(f"{kind} takes threshold, not per", "per", ['threshold = "4 km"'])
    example = 'threshold = "4 km"' if earth else "threshold = 4"
    if "threshold" not in keys:
        raise keys.error(f"{keys.name}: {kind} needs a threshold", "metric", [f"add   {example}"])
    if earth:
        return keys.length(keys["threshold"], "threshold", KILOMETERS, "4 km")
    return keys.number(keys["threshold"], "threshold", hints=[example])


def graph(keys: Keys) -> tuple[Attribute, Metric]:
    """Build `graph = "friends.csv"`: two columns of nodes, and a third with the length if it is not epsilon."""
    path = keys.path("graph", "friends.csv")
    step = keys.epsilon()
    other, _ = keys.other()
    nodes, edges = read_edges(read_edge_rows(path), step * keys.rows_each)
    edges = [(a, b, length / keys.rows_each) for a, b, length in edges]  # lengths are ε for a person: divide by rows
    attribute = spelt(keys, Values(values=tuple(nodes), **keys.common()))
    return attribute, attribute_metrics.linked(Universe([attribute]), attribute, edges, other)


# -- `grid = "5 km"` over a declared box: grid cells that need neither a list nor the data -----------------------------


_DEGREE = Fraction("111.1951")  # kilometers on the sphere of our distances, rounded up
_EARTH = ("box = [47.2, 5.8, 55.1, 15.1]", "south, west, north, east, in degrees")
_PLANE = ("box = [0, 0, 1000, 500]", "the least x and y, then the largest")


def grid(keys: Keys) -> tuple[Attribute, Metric]:
    """Build a grid whose cells are at most as high and wide as given: a length on the Earth, a number in a plane."""
    columns = two_columns(keys)
    earth = isinstance(keys["grid"], str)
    if earth:
        size = keys.length(keys["grid"], "grid", KILOMETERS, "5 km")
    else:
        hints: list[Hint | str] = [('grid = "5 km"', "for latitudes and longitudes"), ("grid = 5", "for x and y")]
        size = keys.number(keys["grid"], "grid", hints=hints)
    box = _box(keys, earth)
    high, wide = box[2] - box[0], box[3] - box[1]
    if earth:
        high, wide = high * _DEGREE, wide * _DEGREE * _widest(box[0], box[2])
    cells = math.ceil(high / size), math.ceil(wide / size)
    if math.prod(cells) > MOST_CELLS:
        error = too_many_cells(keys.name, math.prod(cells))
        raise keys.error(error.what, "grid", error.hints)
    attribute = Grid(columns=columns, box=box, cells=cells, earth=earth, **keys.common())
    return attribute, distances_between(keys, attribute, earth=earth)


def _box(keys: Keys, earth: bool) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Read the two opposite corners of the box."""
    example = _EARTH if earth else _PLANE
    given = keys.table.get("box")
    if not isinstance(given, list) or len(given) != 4:
        what = f"{keys.name}: a grid needs a box: rows outside of it count as “other”"
        raise keys.error(what, "box" if "box" in keys else "grid", [example])
    a, b, c, d = (keys.number(x, "box", "a side of the box", (-LENGTHS[1], LENGTHS[1]), [example]) for x in given)
    if earth and (max(abs(a), abs(c)) > 90 or max(abs(b), abs(d)) > 360):
        raise keys.error("latitudes lie between -90 and 90, longitudes between -360 and 360", "box", [example])
    if not a < c or not b < d:
        hints: list[Hint | str] = [example]
        if earth and b > d:
            hints.append((f"east = {d + 360}", "across the date line, if the data counts longitudes so"))
        raise keys.error("the box is empty: its first corner is the lesser one on both sides", "box", hints)
    if earth and d - b > 360:
        raise keys.error("the box goes more than once around the Earth", "box", [example])
    return a, b, c, d


def _widest(south: Fraction, north: Fraction) -> Fraction:
    """Return the largest cosine of a latitude in the box, rounded up; there a degree of longitude is longest."""
    if south <= 0 <= north:
        return Fraction(1)
    nearest = min(abs(south), abs(north))
    return min(Fraction(1), Fraction(math.ceil(math.cos(math.radians(nearest)) * 10**9 + 1), 10**9))


# -- Values in an order: `order = ["never", "rarely", "often"]`, one step apart or at places of their own --------------


EXAMPLE = 'order = ["never", "rarely", "often"]'


def order(keys: Keys) -> tuple[Attribute, Metric]:
    """Build ordered values: epsilon for every `per` apart, in steps or in the unit of the places."""
    texts = listed_texts(keys, "order", [EXAMPLE])
    require_declared(keys)
    placed = "places" in keys
    if "complete" in keys and not placed:
        raise keys.error(
            "complete is for means, and values without places have none",
            "complete",
            [("places = [0, 1, 4]", "a number for each value")],
        )
    other, value = keys.other(numbers=placed)
    places = _places(keys, len(texts)) if placed else ()
    attribute = spelt(keys, Ordered(values=texts, places=places, other_value=value, **keys.common()))
    epsilon = keys.epsilon()
    apart = keys.per(("per = 1", f"{keys['epsilon']} for every {'1 of the places' if placed else 'step'} apart"))
    length = keys.number(apart, "per", "per", LENGTHS, ["per = 1"])
    price = divide(epsilon, length / attribute.unit_step)
    nearest = min((b - a for a, b in pairwise(attribute.positions)), default=1)
    cap = keys.cap(epsilon, price * nearest)
    return attribute, attribute_metrics.stepped(Universe([attribute]), attribute, price, other, cap)


def _places(keys: Keys, listed: int) -> tuple[Fraction, ...]:
    """Read `places`: a number for each value, in the order of the values."""
    given = keys["places"]
    example = [(f"places = [{', '.join(map(str, range(min(listed, 4))))}{', …' if listed > 4 else ''}]", "")]
    if not isinstance(given, list) or len(given) != listed:
        what = f"{len(given):,}" if isinstance(given, list) else "no list of them"
        raise keys.error(f"places has a number for each of the {listed:,} values; here {what}", "places", example)
    places = tuple(keys.number(x, "places", "a place", (-LENGTHS[1], LENGTHS[1]), example) for x in given)
    if any(a >= b for a, b in pairwise(places)):
        raise keys.error(
            "places must grow, as the order of the values does",
            "places",
            [*example, ("values = […]", "for values without an order")],
        )
    return places
