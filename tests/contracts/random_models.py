"""Random universes, metrics and queries for property tests; `rng` is a `random.Random` (hypothesis drives it)."""

import math
from datetime import date, timedelta
from fractions import Fraction

import numpy as np

from dxprivacy import metrics
from dxprivacy.errors import QueryError
from dxprivacy.metrics import Metric, attribute_metrics
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import (
    correlation_of,
    count,
    covariance_of,
    density_of,
    gather,
    marginals,
    matrix,
    mean_of,
    prefixes,
    proportion_of,
    quantile_of,
    ranges,
    ratio_of,
    sd_of,
    sum_of,
    table,
    variance_of,
)
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.ordered_values import Ordered
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.universe import Universe


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
    ordered = ["integers", "numbers", "dates", "series"]
    kind = rng.choice(["values", "per-value", *ordered] + (["euclidean", "great-circle"] if places else []))
    if kind in ("values", "per-value"):
        listed = tuple(f"{name}{k}" for k in range(rng.randint(1, 3)))
        attribute = Values(name=name, values=listed, has_other=has_other)
        universe = Universe([attribute])
        if kind == "values":
            return attribute, attribute_metrics.discrete(universe, rational(rng, **extra), other)
        budgets = {v: rational(rng, **extra) for v in listed}
        how = rng.choice(["smaller", "smaller", "sum"])
        return attribute, attribute_metrics.valued(universe, attribute, budgets, other, how=how)
    if kind in ordered:
        attribute = _ordered(rng, name, kind, has_other)
        build = attribute_metrics.series if kind == "series" else attribute_metrics.stepped
        cap = Fraction(rng.randint(1, 9), 2) if rng.random() < 0.2 else None
        return attribute, build(Universe([attribute]), attribute, rational(rng, **extra), other, cap)
    n = rng.randint(2, 5)
    spread = rng.choice([1e-9, 1.0, 40.0])
    center = rng.uniform(-40, 40)
    coordinates = [[round(center + spread * rng.uniform(-1, 1), 14) for _ in range(2)] for _ in range(n)]
    if rng.random() < 0.3:
        coordinates[0] = coordinates[-1]
    facts = (Property("zone", tuple(rng.choice("ab") for _ in range(n))),)
    attribute = Points(
        name=name, ids=tuple(map(str, range(n))), coordinates=np.array(coordinates), facts=facts, has_other=has_other
    )
    per_unit = Fraction(rng.randint(1, 50), 7)
    return attribute, attribute_metrics.placed(Universe([attribute]), attribute, kind, per_unit, other)


def _ordered(rng, name: str, kind: str, has_other: bool):
    """Whole numbers, numbers in cells, days, short series; of some whole numbers names in an order.

    Nothing more is drawn for these: seeds that once found a mistake stand for the same models as then.
    """
    low, size = rng.randint(-5, 5), rng.randint(1, 4)
    if kind == "integers" and low < -3:
        listed = tuple(f"{name} {k}" for k in range(size))
        places = tuple(Fraction(x) for x in ("-5/2", "-2", "1/3", "9"))[:size]
        return Ordered(name=name, values=listed, places=places if low == -5 else (), has_other=has_other)
    if kind == "dates":
        first = date(2026, 2, 26) + timedelta(days=low)
        return Dates(name=name, first=first, last=first + timedelta(days=size - 1), has_other=has_other)
    if kind == "numbers":
        step = Fraction(rng.choice(["0.1", "0.5", "1", "2.5"]))
        clamp = rng.random() < 0.5
        return Numbers(name=name, low=low, high=low + size * step, step=step, clamp=clamp, has_other=has_other)
    if kind == "series":
        entry = Integers(name=name, low=low, high=low + rng.randint(0, 1))
        columns = tuple(f"{name}t{k}" for k in range(rng.randint(1, 2)))
        return Series(name=name, columns=columns, entry=entry, has_other=has_other)
    return Integers(name=name, low=low, high=low + size - 1, has_other=has_other)


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
        kinds = [
            lambda: metrics.blowfish(points, 2, threshold=reach),
            lambda: metrics.smooth(points, 2, threshold=reach),
        ]
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
    metric = _put_together(rng, parts, universe, plain)
    if rng.random() < 0.2:
        return metrics.with_absent(metric, rational(rng, zero=0, infinite=0), max_records=1000)
    return metric


def _put_together(rng, parts, universe, plain) -> Metric:
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


def random_queries(rng, universe: Universe) -> Stack:
    """One to four queries of all kinds."""
    asked = [_query(rng, universe) for _ in range(rng.randint(1, 4))]
    return gather(*asked)


def _query(rng, universe: Universe):
    attributes = list(universe.attributes)
    some = rng.sample(attributes, rng.randint(1, len(attributes)))
    where = {}
    for attribute in rng.sample(attributes, rng.randint(0, len(attributes))):
        if attribute.kind in ("integers", "numbers", "dates") and rng.random() < 0.6:
            first, last = sorted(rng.randrange(attribute.listed) for _ in range(2))
            if attribute.kind == "numbers":
                where[attribute.name] = (attribute.start(first), attribute.start(last + 1))
            else:
                where[attribute.name] = (attribute.label(first), attribute.label(last))
        else:
            index = rng.randrange(attribute.size)
            number = attribute.kind == "numbers" and index < attribute.listed
            where[attribute.name] = [str(float(attribute.numbers[index])) if number else attribute.label(index)]
    by = [_grouped_name(rng, a) for a in some]
    numeric = [a for a in attributes if a.numbers is not None or a.kind == "series"]
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
        chosen = rng.choice(numeric)
        of = f"{chosen.name}.{rng.choice(list(chosen.properties))}" if chosen.kind == "series" else chosen.name
        asked = ask(of, by=by if rng.random() < 0.5 else (), where=where if rng.random() < 0.5 else None)
        try:
            asked.on(universe)
        except QueryError:  # groups and conditions leave nothing valid to take the mean of
            return sum_of(of)
        return asked
    rows = rng.randint(1, 3)
    entries = [[rng.choice([0, 0, 1, -2, 0.5, 3]) for _ in range(universe.cells)] for _ in range(rows)]
    if rng.random() < 0.3:
        from scipy.sparse import csr_array

        return matrix(csr_array(np.array(entries, dtype=float)))
    return matrix(entries)


def random_derived(rng, universe: Universe):
    """A budget, a ratio, a quantile or a spread: what is worked out of several rows; None where nothing has numbers."""
    attributes = list(universe.attributes)
    where = {a.name: [a.label(rng.randrange(a.size))] for a in rng.sample(attributes, rng.randint(0, len(attributes)))}
    where = {a.name: where[a.name] for a in attributes if a.name in where and a.kind not in ("numbers", "series")}
    numbered = [a.name for a in attributes if a.numbers is not None]
    if not numbered or rng.random() < 0.2:
        by = [a.name for a in attributes if a.name not in where and rng.random() < 0.5]
        return proportion_of(where, by=by, among={}) if where else None
    one, two = rng.choice(numbered), rng.choice(numbered)
    by = [a.name for a in attributes if a.name not in (one, two) and rng.random() < 0.5]
    if rng.random() < 0.3:
        return _softly(rng, universe, one, by, where)
    kind = rng.randrange(7)
    if kind < 3:
        budgets = rng.sample(["0.1", "0.5", "0.75"], rng.randint(1, 2))
        return quantile_of(one, *budgets, by=by, where=where, width=rng.choice([0, 0, None]))
    if kind < 4:
        return rng.choice([variance_of, sd_of])(one, by=by, where=where)
    if kind < 6:
        return rng.choice([covariance_of, correlation_of])(one, two, by=by, where=where)
    return ratio_of(one, by=by, where=where)


def _softly(rng, universe: Universe, one: str, by: list, where: dict):
    """A density, or a count with soft borders, along one attribute with numbers."""
    attribute = universe.attributes[universe.axis(one)]
    plain = [name for name in by if universe.attributes[universe.axis(name)].numbers is None]
    rest = {name: w for name, w in where.items() if universe.attributes[universe.axis(name)].numbers is None}
    span = attribute.numbers[-1] - attribute.numbers[0] or 1
    if rng.random() < 0.5:
        return density_of(
            one, by=by, where=rest, width=rng.choice([None, span, span / 3]), every=rng.choice([None, span / 2])
        )
    order = [*plain, _grouped_name(rng, attribute)]
    rng.shuffle(order)
    return table(*order, where=rest, blur=rng.choice([span, span / 2, span / 5]))


def _grouped_name(rng, attribute) -> str:
    """A way to group by an attribute."""
    if attribute.kind == "integers":
        return f"{attribute.name}/2"
    if attribute.kind == "numbers":
        edges = sorted({str(float(attribute.start(rng.randint(0, attribute.listed)))) for _ in range(2)}, key=float)
        return f"{attribute.name}[{','.join(edges)}]" if Fraction(edges[0]) < attribute.high else attribute.name
    if attribute.kind == "dates":
        return attribute.name + rng.choice(["", "/month", "/2", "/weekday"])
    if attribute.kind == "series":
        return f"{attribute.name}.{rng.choice(list(attribute.properties))}"
    return f"{attribute.name}.zone" if "zone" in attribute.properties else attribute.name


def random_scales(rng, workload) -> list[float]:
    """One scale for all, one per block, or one per row."""
    draw = rng.random()
    if draw < 0.3:
        return [rng.uniform(0.2, 50)] * workload.rows
    if draw < 0.7:
        per_block = [rng.uniform(0.2, 50) for _ in workload.blocks]
        return [per_block[b] for b in workload.block_of]
    return [rng.uniform(0.2, 50) for _ in range(workload.rows)]
