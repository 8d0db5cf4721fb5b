"""What tables over some attributes may cost under a policy."""

import math
from collections.abc import Sequence
from fractions import Fraction

from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.linear.estimators.least_squares import Component
from dxprivacy.mechanisms.linear.strategies.separated_records import pairs_between
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import WithAbsent, present
from dxprivacy.optimize.tables import Budgets
from dxprivacy.privacy.costs import Cost
from dxprivacy.universe.universe import Universe


def sharing_a_budget(parts: Sequence[Component]) -> Component:
    """Components whose budget is one, as one component."""
    axes = sorted(a for part in parts for a in part.axes)
    return Component(tuple(axes), tuple(sorted({b for part in parts for b in part.asked})), ())


def budgets_of_tables(
    universe: Universe,
    axes: Sequence[int],
    classes: Sequence[Ints],
    metric: Metric,
    share: Fraction,
    spent: Cost | None,
) -> tuple[Budgets, bool] | None:
    """What tables over classes of these attributes' values may cost; and whether values are equally far apart.

    None where distances are neither a sum over attributes nor the same for all records.  Where one budget is for all,
    what was spent before is left to the certificate.
    """
    base, part = present(metric), float(share)
    presence = part * float(metric.radius) if isinstance(metric, WithAbsent) else math.inf
    if isinstance(base, Constant) and len(universe.attributes) > 1:
        together = min(part * float(base.epsilon), 2 * presence)
        if not 0 < together < math.inf:
            return None
        return Budgets((math.inf,) * len(classes), together, presence), spent is None
    if base.axes is None and len(universe.attributes) > 1:
        return None
    budgets, even = [], spent is None
    for axis, c in zip(axes, classes, strict=True):
        pairs = pairs_between([axis], [c], metric, share, spent)
        if pairs is None:
            return None
        here = pairs[1] <= int(c.max())  # without those who are absent
        budgets.append(float(pairs[2][here].min(initial=math.inf)))
        alone = base if base.axes is None else base.axes[axis]
        even = even and isinstance(alone, Constant)
    return Budgets(tuple(budgets), presence=presence), even
