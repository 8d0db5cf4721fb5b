"""Random policies over places, and queries for maps of them."""

import random
from fractions import Fraction as F

import numpy as np

import dxprivacy as dx
from dxprivacy import metrics
from dxprivacy.metrics.attribute_metrics import discrete, placed, thresholded
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

KINDS = ("euclidean", "great-circle", "manhattan", "chebyshev")


def random_places(rng: random.Random, kind: str, few: tuple[int, int] = (1, 8)) -> tuple[Points, float]:
    """Some places, two of them perhaps at one spot; and how far they reach, in the unit of lengths."""
    many = rng.randint(*few)
    if kind == "great-circle":
        latitude, longitude = rng.choice([0, -30, 48, 65, -70, 80]), rng.choice([0, 10, 170, -175, 310])
        reach = rng.choice([0.01, 0.5, 5, 25])
        rows = [
            [max(-89.9, min(89.9, latitude + rng.uniform(-reach, reach))), longitude + rng.uniform(-reach, reach)]
            for _ in range(many)
        ]
        length = 111 * reach
    else:
        length = rng.choice([1, 10, 10_000])
        spots = [[rng.uniform(0, length), rng.uniform(0, length)] for _ in range(many)]
        rows = [[rng.choice([round(x), x]) for x in spot] for spot in spots]
    if many > 2 and rng.random() < 0.3:
        rows[1] = rows[0]
    regions = Property("region", tuple(rng.choice("AAB") for _ in range(many)))
    ids = tuple(f"p{k}" for k in range(many))
    coordinates = np.array(rows, dtype=np.float64)
    return Points(name="home", ids=ids, coordinates=coordinates, facts=(regions,), has_other=rng.random() < 0.5), length


def _others_like(rng: random.Random, home: Points, kind: str) -> Points:
    """Other places that lie about where these do."""
    side = np.ptp(home.coordinates, axis=0) / 5
    rows = np.array([spot + side * [rng.uniform(-1, 1), rng.uniform(-1, 1)] for spot in home.coordinates[::-1]])
    if kind == "great-circle":
        rows[:, 0] = rows[:, 0].clip(-89.9, 89.9)
    districts = Property("district", tuple(rng.choice("CD") for _ in rows))
    return Points(name="work", ids=home.ids, coordinates=rows, facts=(districts,), has_other=rng.random() < 0.5)


def _random_own(rng: random.Random, home: Points, kind: str, length: float) -> metrics.Metric:
    """Distances between places: capped, with a floor, scaled, with `other`."""
    alone = Universe([home])
    cap = F(rng.randint(1, 50), 10) if rng.random() < 0.4 else None
    other = F(rng.randint(1, 30), 10) if rng.random() < 0.5 else None
    if rng.random() < 0.15:
        reach = F(max(round(length / 3), 1))
        own = thresholded(alone, home, "smooth", kind, F(rng.randint(1, 20), 10), reach, other, cap)
    else:
        own = placed(alone, home, kind, F(rng.randint(1, 100), 1000), other, cap)
    return metrics.scaled(own, F(rng.randint(1, 9), 4)) if rng.random() < 0.3 else own


def random_policy(rng: random.Random, *, two: bool = False) -> tuple[metrics.Metric, float]:
    """Places beside up to two other attributes: added or the larger one, capped, scaled, with `other`, with absence.

    Of `two` there is a second attribute of places, `work`, about where homes are.
    """
    kind = rng.choice(KINDS)
    home, length = random_places(rng, kind, (3, 4) if two else (1, 8))
    own = {"home": _random_own(rng, home, kind, length)}
    attributes: list[Points | Values] = [home]
    if two:
        work = _others_like(rng, home, kind)
        attributes.insert(rng.randint(0, 1), work)
        own["work"] = _random_own(rng, work, kind, length)
    for k in range(rng.randint(0, 1 if two else 2)):
        values = tuple("xyz"[: rng.randint(1, 3)])
        more = Values(name=f"a{k}", values=values, has_other=rng.random() < 0.3)
        attributes.insert(rng.randint(0, len(attributes)), more)
    parts = [own.get(a.name) or discrete(Universe([a]), F(rng.randint(1, 20), 10)) for a in attributes]
    how = AttributeSum if rng.random() < (0.4 if two else 0.7) else AttributeMax
    metric = parts[0] if len(attributes) == 1 else how(Universe(attributes), parts)
    if rng.random() < 0.3:
        metric = metrics.with_absent(metric, F(rng.randint(1, 40), 10), max_records=1000)
    return metric, length


def random_maps(rng: random.Random, metric: metrics.Metric, length: float) -> list:
    """A map or soft regions, perhaps by groups and under conditions, perhaps beside counts; a map of `work` too."""
    names = [name for name in metric.universe.names if name not in ("home", "work")]
    width = F(length / rng.uniform(1, 12)).limit_denominator(1000) or F(1, 1000)
    by, where = [n for n in names if rng.random() < 0.4], {n: "x" for n in names if rng.random() < 0.2}
    draw = rng.random()
    if draw < 0.6:
        every = rng.choice([None, width * rng.choice([F(1, 2), 1, 3, 7])])
        asked = [dx.density_of("home", width=rng.choice([width, width, None]), every=every, by=by, where=where or None)]
    elif draw < 0.85:
        asked = [dx.table("region", *by, where=where or None, blur=width)]
    else:
        asked = [dx.table("home", *by, blur=width)]
    if "work" in metric.universe.names:
        asked.append(rng.choice([dx.density_of("work", width=width, by=by), dx.table("district", blur=width)]))
    if names and rng.random() < 0.4:
        asked.append(f"count by {names[0]}")
    if rng.random() < 0.3:
        asked.append("count by home")
    return asked
