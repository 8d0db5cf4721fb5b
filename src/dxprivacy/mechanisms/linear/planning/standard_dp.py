"""Plain differential privacy: one epsilon for all pairs, and what questions are to it."""

from fractions import Fraction

import numpy as np

from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import WithAbsent
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload


def standard_metric(universe: Universe, epsilon: Exact) -> Metric:
    """One epsilon for every two records; where records may be absent, also for adding or removing one.

    Of people with several rows it is that of a whole person, and a row gets its part.

    >>> standard_metric(Universe.listed("abc"), Fraction(1, 2)).exact(0, 2)
    Fraction(1, 2)
    """
    if universe.absent is None:
        return Constant(universe, epsilon)
    each = epsilon / universe.rows_each
    return WithAbsent(universe, Constant(universe.present, each), each)


def standard_sensitivities(workload: Workload) -> tuple[float, ...]:
    """Each block's l1 sensitivity: the largest change by replacing a record, or by adding or removing one."""
    plain = standard_metric(workload.universe, Fraction(1))
    out = []
    for block in workload.blocks:
        alone = Workload(workload.universe, (block,), ())
        out.append(float(max_ratio(LaplaceCost(alone, np.ones(block.rows)), plain).upper))
    return tuple(out)
