"""Where the places of a release lie: public, and in its file with the possible records."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dxprivacy.errors import DxError
from dxprivacy.exact.arrays import Floats
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.plane import Plane


def places_of(facts: Mapping[str, Any]) -> dict[str, dict[str, Floats]]:
    """By what answers may be grouped, and its label: latitude and longitude, or the coordinates of a plane.

    A place has its own, a group of places the mean of theirs.  On the Earth longitudes go on beyond 180 degrees where
    places lie on both sides of the date line, so that means lie between them.
    """
    earth = on_earth(facts)
    out: dict[str, dict[str, Floats]] = {}
    universe = facts.get("universe")
    given = universe.get("attributes", ()) if isinstance(universe, Mapping) else ()
    specs = [spec for spec in given if isinstance(spec, Mapping)]
    taken = {str(spec.get("name")) for spec in specs}
    for spec in specs:
        if spec.get("kind") not in ("points", "grid", "nearest"):
            continue
        try:
            points = attribute_from_spec(spec)
        except (DxError, KeyError, TypeError, ValueError):
            continue  # what cannot be read is not drawn; dxp verify says why
        if isinstance(points, Points) and points.coordinates.shape[1] == 2:
            where = Plane.of(points.coordinates, earth=True).drawn if earth else points.coordinates
            out[points.name] = {points.label(k): where[k] for k in range(points.listed)}
            for fact in points.properties.values():
                middles = _middles(fact.entries, where)
                out[f"{points.name}.{fact.name}"] = middles
                if fact.name not in taken:  # what is called as an attribute is one
                    out.setdefault(fact.name, middles)
    return out


def _middles(entries: Sequence[str], coordinates: Floats) -> dict[str, Floats]:
    labels, which = np.unique(np.array(entries, dtype=object).astype(str), return_inverse=True)
    sums = np.zeros((len(labels), 2))
    np.add.at(sums, which, coordinates)
    means = sums / np.bincount(which, minlength=len(labels))[:, None]
    return dict(zip(labels.tolist(), means, strict=True))


def on_earth(facts: Mapping[str, Any]) -> bool:
    """Whether the policy measures distances on the Earth, or by steps between places."""
    policy = facts.get("policy")
    metric = policy.get("metric") if isinstance(policy, Mapping) else None
    kinds = set(_kinds(metric))
    return "great-circle" in kinds or ("graph" in kinds and not kinds & {"euclidean", "minkowski"})


def _kinds(spec: Any) -> Iterator[str]:
    """Kinds of metrics, wherever they stand; coordinates are passed over."""
    if isinstance(spec, Mapping):
        if isinstance(spec.get("kind"), str):
            yield spec["kind"]
        for key, value in spec.items():
            if key != "coordinates":
                yield from _kinds(value)
    elif isinstance(spec, list):
        for value in spec:
            if isinstance(value, Mapping):
                yield from _kinds(value)
