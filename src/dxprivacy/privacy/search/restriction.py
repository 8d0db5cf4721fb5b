"""A metric along some attributes only: all others are public, so that nothing is asked about them."""

import math
from collections.abc import Container

from dxprivacy.errors import NotCertified
from dxprivacy.metrics import Metric
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import WithAbsent, present


def only_along(metric: Metric, axes: Container[int]) -> Metric:
    """The same distances where records differ in these attributes alone, or in being there at all.

    Pairs that differ in one attribute generate a sum over attributes, so that the largest ratio over several of these
    metrics, which have all attributes between them, is that of the whole one.

    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> from dxprivacy.metrics import attributes
    >>> from dxprivacy.universe.universe import Universe
    >>> two = [Values(name=name, values=("x", "y"), has_other=False) for name in ("a", "b")]
    >>> both = attributes(Universe(two), {"a": 1, "b": 2})
    >>> only_along(both, (1,)).exact(0, 1), only_along(both, (1,)).exact(0, 2)
    (Fraction(2, 1), inf)
    """
    base = present(metric)
    own = base.axes
    if own is None:
        raise NotCertified("distances do not add up over attributes", hints=["this is a bug: please report it"])
    if all(axis in axes for axis in range(len(own))):
        found: Metric = base
    else:
        kept = [m if axis in axes else Constant(m.universe, math.inf) for axis, m in enumerate(own)]
        found = kept[0] if len(kept) == 1 else AttributeSum(base.universe, kept)
    return WithAbsent(metric.universe, found, metric.radius) if isinstance(metric, WithAbsent) else found
