"""Many places: the verifier's tree finds what all pairs tell, over random places, wrappers and queries."""

import math
import random
from fractions import Fraction as F

import pytest

from dxprivacy.verify import directions, moves, parts, spaces, walks
from dxprivacy.verify.blocks import Along, Inside, Stepped, Table
from dxprivacy.verify.certificate import tightest
from dxprivacy.verify.combined import Joined, Product, Scaled, WithAbsent, WithOther
from dxprivacy.verify.distances import Constant, Distance, Line, Places
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.universe import Universe

CASES = 400


def universe(shape, *, absent=False):
    """Possible records by their numbers only."""
    out = object.__new__(Universe)
    out.shape, out.cells = list(shape), math.prod(shape)
    out.absent = out.cells if absent else None
    out.size = out.cells + absent
    return out


def coordinates(rng, n, dimensions, sphere):
    """Scattered, in clusters, on a line, on a lattice, or partly in the same places."""
    how = rng.choice(["scattered", "clusters", "line", "lattice", "twins", "close"])
    side = 3 if how == "lattice" else 1
    rows = [[rng.uniform(-side, side) for _ in range(dimensions)] for _ in range(n)]
    if how == "clusters":
        centers = [[rng.uniform(-1, 1) for _ in range(dimensions)] for _ in range(4)]
        rows = [[c + rng.gauss(0, 1e-3) for c in rng.choice(centers)] for _ in range(n)]
    elif how == "line":
        steps = [rng.choice([k, k / 3]) for k in range(n)]
        rows = [[s * (1 + k) / n for k in range(dimensions)] for s in steps]
    elif how == "lattice":
        rows = [[float(round(x)) for x in row] for row in rows]
    elif how == "twins":
        rows = [rng.choice(rows[: n // 2]) if rng.random() < 0.2 else row for row in rows]
    elif how == "close":
        rows = [[0.5 + x * 1e-12 for x in row] for row in rows]
    if sphere:
        wide = rng.choice([0.01, 5, 30])
        turn = rng.choice([0, 179.9, -100])
        rows = [[max(-90.0, min(90.0, x * wide)), y * wide + turn] for x, y in rows]
    return [list(map(float, row)) for row in rows]


def places(rng, n):
    p = rng.choice([2.0, 2.0, 1.0, 3.0, math.inf, None, None])
    dimensions = 2 if p is None else rng.randint(1, 3)
    return Places(coordinates(rng, n, dimensions, p is None), F(rng.randint(1, 9), rng.randint(1, 9)), p)


def wrapped(rng, metric: Distance) -> Distance:
    """Scaled, capped, with a floor, with `other`, in any order that policies have."""
    for _ in range(rng.randint(0, 3)):
        typical = F(metric.about(0, metric.size - 1) or 1).limit_denominator(1000) or F(1)
        how = rng.choice(["scaled", "capped", "floor"])
        if how == "scaled":
            metric = Scaled(metric, F(rng.randint(1, 5), 3))
        else:
            size = typical * rng.choice([F(1, 50), F(1, 3), 2])
            metric = Joined("min" if how == "capped" else "max", [metric, Constant(metric.size, size)])
    if rng.random() < 0.5:
        metric = WithOther(metric, rng.choice([F(1, 100), F(1), F(1000), math.inf]))
    return metric


def labels(rng, metric: Distance, n, kinds):
    """Groups at random, or by the first coordinate."""
    rows = metric
    while not isinstance(rows, Places):
        rows = rows.base if hasattr(rows, "base") else rows.parts[0]
    if rng.random() < 0.4:
        return [rng.randint(-1, kinds - 1) for _ in range(n)]
    ranked = sorted(range(rows.size), key=lambda k: rows.rows[k])
    place = {k: r * kinds // rows.size for r, k in enumerate(ranked)}
    return [place.get(k, -1) for k in range(n)]


def numbers(rng, metric, n):
    how = rng.choice(["any", "few", "smooth", "signs"])
    if how == "smooth":
        rows = metric
        while not isinstance(rows, Places):
            rows = rows.base if hasattr(rows, "base") else rows.parts[0]
        return [*(round(1000 * rows.rows[k][0]) for k in range(rows.size)), *[0] * (n - rows.size)]
    return [rng.randint(*{"any": (0, 1000), "few": (0, 2), "signs": (-5, 5)}[how]) for _ in range(n)]


def blocks_of(rng, metric, sizes):
    """A table by groups, sums, rows of any numbers; some of them also by a second attribute."""
    n, found = sizes[0], []
    kinds = rng.randint(2, 5)
    for what in rng.sample(["count", "sum", "sum by", "steps"], rng.randint(1, 3)):
        groups, weights, many = {0: [0] * n}, {0: [1] * n}, {0: 1}
        if what in ("count", "sum by"):
            groups[0], many[0] = labels(rng, metric, n, kinds), kinds
        if what in ("sum", "sum by"):
            weights[0] = numbers(rng, metric, n)
        if what == "steps":
            found.append(Stepped(0, [numbers(rng, metric, n) for _ in range(rng.randint(1, 3))], F(1)))
            continue
        if len(sizes) > 1 and rng.random() < 0.7:
            own = rng.randint(1, 3)
            groups[1], many[1] = [rng.randint(-1, own - 1) for _ in range(sizes[1])], own
            weights[1] = [rng.randint(-2, 3) for _ in range(sizes[1])]
        found.append(Table(groups, weights, many))
    first = 0
    for block in found:
        block.first = first
        first += block.rows
    return found, first


def case(seed):
    rng = random.Random(seed)
    n = rng.randint(13, 45)
    along = wrapped(rng, places(rng, n))
    sizes = [along.size] + ([rng.randint(2, 6)] if rng.random() < 0.5 else [])
    blocks, rows = blocks_of(rng, along, sizes)
    one = rng.random() < 0.5
    scales = [3.5 if one else rng.choice([0.7, 1.0, 12.25, 100.0]) for _ in range(rows)]
    if rng.random() < 0.1:
        scales[rng.randrange(rows)] = 0.0
    selections, times = [], []
    if rng.random() < 0.25:
        last = blocks[-1]
        selections, times = [range(last.first, last.first + last.rows)], [rng.randint(1, 3)]
    metric = along if len(sizes) == 1 else Product("sum", [along, Line(range(sizes[1]), F(10**6))])
    absent = rng.random() < 0.2
    if absent:
        metric = WithAbsent(metric, F(10**6))
    return Loss(universe(sizes, absent=absent), blocks, scales, selections, times), metric


@pytest.mark.parametrize("seed", range(CASES))
def test_a_tree_finds_what_all_pairs_tell(seed, monkeypatch):
    monkeypatch.setattr(spaces, "_LEAF", random.Random(seed).choice([2, 3, 12]))
    loss, metric = case(seed)
    monkeypatch.setattr(directions, "MANY_PLACES", 10**9)
    slow = tightest(loss, metric)
    monkeypatch.setattr(directions, "MANY_PLACES", 2)
    fast = tightest(loss, metric)
    if slow.low == math.inf:
        assert fast.low == fast.high == math.inf
        return
    assert slow.low <= fast.high <= slow.high * (1 + F(1, 1 << 40))
    assert slow.low * (1 - F(1, 1 << 40)) <= fast.low <= slow.high
    if fast.high <= fast.low * (1 + F(1, 1 << 58)):  # nothing was left open
        assert fast.low >= slow.low * (1 - F(1, 1 << 100))
    if fast.low > 0:
        assert fast.pair is not None
        assert fast.pair[0] < fast.pair[1]


def test_most_cases_are_walked_and_decided(monkeypatch):
    monkeypatch.setattr(directions, "MANY_PLACES", 2)
    decided = 0
    for seed in range(60):
        found = tightest(*case(seed))
        decided += found.room == F(1, 1 << 40) and found.high <= found.low * (1 + F(1, 1 << 58))
    assert decided > 40


@pytest.mark.parametrize("seed", range(60))
def test_distances_lie_between_their_bounds(seed, monkeypatch):
    import numpy as np

    monkeypatch.setattr(spaces, "_LEAF", 3)
    rng = random.Random(1000 + seed)
    metric = wrapped(rng, places(rng, 30))
    space = moves.space_of(metric)
    base = metric.base if isinstance(metric, WithOther) else metric
    i, j = (x.astype(np.int64) for x in np.triu_indices(30, 1))
    low, high = space.between(i, j)
    slots = space.slots.tolist()
    exact = {}
    for u, v, a, b in zip(i.tolist(), j.tolist(), low.tolist(), high.tolist(), strict=True):
        exact[u, v] = exact[v, u] = base.between(u, v)
        assert F(a) <= exact[u, v][1]
        assert F(b) >= exact[u, v][0]
        assert b <= a * (1 + 2.0**-21) or a == 0
    for level in range(space.levels + 1):
        many = len(slots) >> level
        nodes = [slots[k * many : (k + 1) * many] for k in range(1 << level)]
        for a in range(len(nodes)):
            for b in range(a):
                gap = space.gap(level, np.array([a]), np.array([b]))[0]
                reach = space.reach(level, np.array([a]), np.array([b]))[0]
                for u in nodes[a]:
                    for v in nodes[b]:
                        if u != v:
                            assert F(gap) <= exact[u, v][1]
                            assert F(reach) >= exact[u, v][0]
    far = walks.farthest(space)
    most = max(float(d[1]) for d in exact.values())
    assert most * (1 - 1e-15) <= far <= most * (1 + 2.0**-21)


@pytest.mark.parametrize("seed", range(60))
def test_differences_of_spans_tell_what_their_columns_tell(seed, monkeypatch):
    """Many ranges along a line, with `other`: only the rows that differ are looked at."""
    rng = random.Random(seed)
    n, kinds = rng.randint(3, 12), rng.randint(2, 6)
    groups = [*(rng.randint(-1, kinds) for _ in range(n - 1)), -1]
    spans = [tuple(sorted((rng.randint(0, kinds), rng.randint(0, kinds)))) for _ in range(rng.randint(1, 12))]
    block = Along(0, groups, spans)
    scales = [rng.choice([0.5, 1.0, 7.25, 100.0, *([0.0] if seed % 7 == 0 else [])]) for _ in spans]
    metric = WithOther(Line(range(n - 1), F(1, 3)), rng.choice([F(1, 10), F(50), math.inf]))
    monkeypatch.setattr(parts, "_WIDE", 10**9)
    slow = tightest(Loss(universe([n]), [block], scales), metric)
    monkeypatch.setattr(parts, "_WIDE", 0)
    fast = tightest(Loss(universe([n]), [block.starting_at(0)], scales), metric)
    assert (slow.low, slow.high) == (fast.low, fast.high)
    dense = [int(a <= g <= b) for a, b in spans for g in groups]
    assert b"".join(Inside(spans, groups).bytes()) == b"".join(x.to_bytes(8, "little") for x in dense)
    assert list(Inside(spans, groups)) == dense


@pytest.mark.parametrize("how", ["min", "max", "sum"])
@pytest.mark.parametrize("seed", range(10))
def test_the_largest_of_joined_distances_is_that_of_all_pairs(how, seed):
    rng = random.Random(seed)
    line = Line([rng.randint(0, 30) for _ in range(9)], F(1, 3))
    other = rng.choice([Constant(9, F(rng.randint(1, 40), 4)), Line([rng.randint(0, 9) for _ in range(9)], F(1))])
    joined = Joined(how, [line, other])
    assert joined.largest == pytest.approx(max(joined.about(i, j) for j in range(9) for i in range(j)))
