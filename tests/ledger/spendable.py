"""Check that what a ledger shows as left can be spent, and no more: with the query x -> remaining(i, x)."""

import math

from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SumCost
from dxprivacy.queries.asking import gather

UNIT = 10**9  # queries have integer coefficients
SOME = 1e-5  # of the largest distance: less is rounding


def with_query(spent, remaining, factor):
    """The costs together with that of the query `remaining`, times `factor`."""
    universe = spent.universe
    row = [math.floor(UNIT * x) for x in remaining]
    if universe.absent is not None:  # a query counts an absent record as 0
        row = [x - row[universe.absent] for x in row][: universe.absent]
    common = math.gcd(*row)
    workload = gather([[x // common for x in row]]).on(universe)
    return SumCost(universe, [*spent.costs, LaplaceCost(workload, [UNIT / common / factor])])


def require_spendable(spent, metric, between, i):
    """`between(i, x)`, per row, fits next to what was spent, and 0.1 % more does not."""
    remaining = [between(i, x) for x in range(metric.universe.size)]
    if max(remaining) < SOME * max(float(metric.exact(i, x)) for x in range(metric.universe.size)):
        return False
    assert max_ratio(with_query(spent, remaining, 1 - 1e-5), metric).upper <= 1
    assert max_ratio(with_query(spent, remaining, 1.001), metric).upper > 1
    return True
