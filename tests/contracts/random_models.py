"""Random universes, metrics and questions for property tests; `rng` is a `random.Random` (hypothesis drives it)."""

import math
from fractions import Fraction

import numpy as np

from dxprivacy.model import metrics
from dxprivacy.model.attributes import Integers, Points, Property, Values
from dxprivacy.model.metrics import AttributeMax, AttributeSum, Metric
from dxprivacy.model.questions import (
    Stack,
    count,
    gather,
    marginals,
    matrix,
    mean_of,
    prefixes,
    ranges,
    sum_of,
    table,
)
from dxprivacy.model.universe import Universe


def rational(rng, *, zero=0.05, infinite=0.05):
    """A budget: mostly an ordinary fraction, sometimes 0 or public."""
    draw = rng.random()
    if draw < zero:
        return Fraction(0)
    if draw < zero + infinite:
        return math.inf
    return Fraction(rng.randint(1, 40), rng.choice([1, 2, 3, 5, 7, 10, 16]))


def random_axis(rng, name: str, *, places=False, plain=False):
    """An attribute with its metric; `plain` keeps zero and infinite budgets out."""
    extra = {"zero": 0.0, "infinite": 0.0} if plain else {}
    has_other = rng.random() < 0.7
    other = rational(rng, **extra) if rng.random() < 0.3 else None
    kind = rng.choice(["values", "per-value", "integers"] + (["euclidean", "great-circle"] if places else []))
    if kind in ("values", "per-value"):
        listed = tuple(f"{name}{k}" for k in range(rng.randint(1, 3)))
        attribute = Values(name=name, values=listed, has_other=has_other)
        alone = Universe([attribute])
        if kind == "values":
            return attribute, metrics.discrete(alone, rational(rng, **extra), other)
        return attribute, metrics.valued(alone, attribute, {v: rational(rng, **extra) for v in listed}, other)
    if kind == "integers":
        low = rng.randint(-5, 5)
        attribute = Integers(name=name, low=low, high=low + rng.randint(0, 3), has_other=has_other)
        return attribute, metrics.stepped(Universe([attribute]), attribute, rational(rng, **extra), other)
    n = rng.randint(2, 5)
    spread = rng.choice([1e-9, 1.0, 40.0])
    centre = rng.uniform(-40, 40)
    coordinates = [[round(centre + spread * rng.uniform(-1, 1), 14) for _ in range(2)] for _ in range(n)]
    if rng.random() < 0.3:
        coordinates[0] = coordinates[-1]
    facts = (Property("zone", tuple(rng.choice("ab") for _ in range(n))),)
    attribute = Points(
        name=name, ids=tuple(map(str, range(n))), coordinates=np.array(coordinates), facts=facts, has_other=has_other
    )
    per_unit = Fraction(rng.randint(1, 50), 7)
    return attribute, metrics.placed(Universe([attribute]), attribute, kind, per_unit, other)


def derived_metric(rng, *, places=False) -> Metric:
    """Any metric, built from others: scaled, added, the larger one, capped, restricted, graphs, thresholds, series."""
    draw = rng.random()
    if draw < 0.1:
        n = rng.randint(1, 7)
        edges = [(rng.randrange(n), rng.randrange(n), rational(rng)) for _ in range(rng.randint(0, 9))]
        pairs = [(str(a), str(b), w) for a, b, w in edges if a != b]
        return metrics.graph(pairs or [("0", "1", 1)])
    if draw < 0.2:
        return metrics.series_linf([rng.randint(1, 4) for _ in range(rng.randint(1, 3))], rng.randint(1, 5), per=3)
    if draw < 0.3:
        points = [[rng.randint(0, 6), rng.randint(0, 6)] for _ in range(rng.randint(1, 7))]
        reach = Fraction(rng.randint(1, 6))
        kinds = [lambda: metrics.blowfish(points, 2, within=reach), lambda: metrics.smooth(points, 2, within=reach)]
        kinds += [lambda p=p: metrics.minkowski(points, p, epsilon_per_unit="0.3") for p in (1, 2, 3, math.inf)]
        return rng.choice(kinds)()
    base = random_metric(rng, places=places, axes=rng.randint(1, 2))
    if draw < 0.45:
        return metrics.scaled(base, Fraction(rng.randint(1, 9), 7))
    if draw < 0.6:
        return metrics.capped(base, Fraction(rng.randint(1, 30), 7))
    if draw < 0.7:
        cells = rng.sample(range(base.universe.size), rng.randint(1, min(base.universe.size, 9)))
        return metrics.restricted(base, cells)
    if draw < 0.8:
        parts = [random_axis(rng, f"a{k}", places=places) for k in range(rng.randint(1, 3))]
        return AttributeMax(Universe([a for a, _ in parts]), [m for _, m in parts])
    other = metrics.scaled(metrics.Constant(base.universe, rational(rng, zero=0, infinite=0)), 2)
    return rng.choice([metrics.summed, metrics.maximum])(base, other)


def random_metric(rng, *, places=False, plain=False, axes=None) -> Metric:
    """A sum of attributes, one attribute alone, a constant metric, or an explicit table."""
    parts = [random_axis(rng, f"a{k}", places=places, plain=plain) for k in range(axes or rng.randint(1, 3))]
    universe = Universe([attribute for attribute, _ in parts])
    draw = rng.random()
    if draw < 0.1:
        return metrics.Constant(universe, rational(rng, zero=0, infinite=0))
    if draw < 0.2 and universe.size <= 12:
        rows = [[Fraction(0)] * universe.size for _ in range(universe.size)]
        for i in range(universe.size):
            for j in range(i):
                rows[i][j] = rows[j][i] = rational(rng, **({"zero": 0.0, "infinite": 0.0} if plain else {}))
        return metrics.from_matrix(rows, universe=universe)
    return parts[0][1] if len(parts) == 1 else AttributeSum(universe, [m for _, m in parts])


def random_questions(rng, universe: Universe) -> Stack:
    """One to four questions of all kinds."""
    asked = [_question(rng, universe) for _ in range(rng.randint(1, 4))]
    return gather(*asked)


def _question(rng, universe: Universe):
    attributes = list(universe.attributes)
    some = rng.sample(attributes, rng.randint(1, len(attributes)))
    where = {}
    for attribute in rng.sample(attributes, rng.randint(0, len(attributes))):
        if attribute.kind == "integers" and rng.random() < 0.6:
            ends = sorted(rng.randint(attribute.low, attribute.high) for _ in range(2))
            where[attribute.name] = (ends[0], ends[1])
        else:
            where[attribute.name] = [attribute.label(rng.randrange(attribute.size))]
    by = [a.name + ("/2" if a.kind == "integers" else ".zone" if "zone" in a.properties else "") for a in some]
    numeric = [a for a in attributes if a.numbers is not None]
    if rng.random() < 0.15:
        asks = [lambda: marginals(rng.randint(1, len(attributes))), lambda: prefixes(by[0]), lambda: ranges(by[0])]
        return rng.choice(asks)()
    draw = rng.random()
    if draw < 0.25 or (draw > 0.55 and draw < 0.85 and not numeric):
        return table(*by, where=where if rng.random() < 0.5 else None)
    if draw < 0.4:
        return count(**where)
    if draw < 0.85:
        ask = rng.choice([sum_of, mean_of])
        if not numeric:
            return table(*by)
        of = rng.choice(numeric).name
        return ask(of, by=by if rng.random() < 0.5 else (), where=where if rng.random() < 0.5 else None)
    rows = rng.randint(1, 3)
    entries = [[rng.choice([0, 0, 1, -2, 0.5, 3]) for _ in range(universe.size)] for _ in range(rows)]
    if rng.random() < 0.3:
        from scipy.sparse import csr_array

        return matrix(csr_array(np.array(entries, dtype=float)))
    return matrix(entries)


def random_scales(rng, workload) -> list[float]:
    """One scale for all, one per block, or one per row."""
    draw = rng.random()
    if draw < 0.3:
        return [rng.uniform(0.2, 50)] * workload.rows
    if draw < 0.7:
        per_block = [rng.uniform(0.2, 50) for _ in workload.blocks]
        return [per_block[b] for b in workload.block_of]
    return [rng.uniform(0.2, 50) for _ in range(workload.rows)]
