"""Attributes of a policy that are places: points of a file, with distances on the Earth or in a plane."""

import math
from fractions import Fraction

from dxprivacy.attributes.base import Attribute
from dxprivacy.attributes.points import Points
from dxprivacy.metrics import PLACES, Metric, alone
from dxprivacy.model.universe import Universe
from dxprivacy.policy.keys import KILOMETRES, Keys
from dxprivacy.policy.places import PlacesFile, read_places

_THRESHOLDS = ("blowfish", "smooth")


def points(keys: Keys) -> tuple[Attribute, Metric]:
    """`points = "cities.csv"`."""
    path = keys.path("points", "cities.csv")
    units = keys.table.get("units", {})
    if not isinstance(units, dict) or not all(isinstance(u, str) for u in units.values()):
        raise keys.error("units is a table", "units", ['units = { elevation = "m" }'])
    identifier = keys.text("id", "city_code") if "id" in keys else ""
    places = read_places(path, units, identifier)
    other, _ = keys.other()
    attribute = Points(ids=places.ids, coordinates=places.coordinates, facts=places.facts, **keys.common())
    kind = keys.table.get("metric", "great-circle" if places.geographic else "euclidean")
    known = (*PLACES, *_THRESHOLDS)
    if not isinstance(kind, str) or kind not in known:
        raise keys.error(f"no metric “{kind}” for points", "metric", [*known])
    if kind == "great-circle" and not places.geographic:
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
        reach = _threshold(keys, places, kind)
        base = "great-circle" if places.geographic else "euclidean"
        return attribute, alone.thresholded(universe, attribute, kind, base, Fraction(step), reach, other, cap)
    if "within" in keys:
        raise keys.error(f"within means nothing for {kind}", "within", [*_THRESHOLDS])
    length = _length(keys, kind == "great-circle")
    return attribute, alone.placed(universe, attribute, kind, Fraction(step) / length, other, cap)


def _length(keys: Keys, geographic: bool) -> Fraction:
    if geographic:
        apart = ('per = "100 km"', f"{keys['epsilon']} for every 100 km apart")
        return keys.length(keys.per(apart), "per", KILOMETRES, "100 km")
    apart = ("per = 10", f"{keys['epsilon']} for every 10 apart, in the unit of the coordinates")
    return keys.number(keys.per(apart), "per", hints=["per = 10"])


def _threshold(keys: Keys, places: PlacesFile, kind: str) -> Fraction:
    """`within` of a Blowfish or smooth threshold."""
    if "per" in keys:
        raise keys.error(f"{kind} takes within, not per", "per", ['within = "4 km"'])
    example = 'within = "4 km"' if places.geographic else "within = 4"
    if "within" not in keys:
        raise keys.error(f"{keys.name}: {kind} needs a threshold", "metric", [f"add   {example}"])
    if places.geographic:
        return keys.length(keys["within"], "within", KILOMETRES, "4 km")
    return keys.number(keys["within"], "within", hints=[example])
