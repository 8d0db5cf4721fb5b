"""Privacy losses and costs, certificates, repair and transport.

In reading order: `proportional_loss`, `costs`, `declared_sensitivity`, `search`, `certificate`, `repair`,
`strictest_pair`, `map_costs`, `people_costs`, `proportional_costs`, `pullback`, `transport`.
"""

import math
from dataclasses import replace
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.metrics import Metric
from dxprivacy.privacy.declared_sensitivity import DeclaredRows
from dxprivacy.privacy.search.candidate_pairs import Cover
from dxprivacy.privacy.search.generating_pairs import cover, largest_pairs
from dxprivacy.privacy.search.max_ratio import Bound, largest_loss, max_ratio, ratios
from dxprivacy.privacy.search.value_classes import contexts_of
from dxprivacy.privacy.strictest_pair import strictest_pair
from dxprivacy.privacy.transport import GroupLoss, group_loss

__all__ = [
    "Bound",
    "Cover",
    "GroupLoss",
    "contexts_of",
    "cover",
    "group_loss",
    "largest_loss",
    "largest_pairs",
    "max_ratio",
    "ratios",
    "sensitivity",
    "strictest_pair",
]


def sensitivity(queries: Any, metric: Metric, *, norm: str = "sum") -> Bound:
    """Return the generalized sensitivity: the largest ||Q_i - Q_j|| / d(i, j), in the units of the queries.

    `norm="sum"` is the 1-norm over rows (noise on all answers); `norm="max"` is the largest row (a selection).
    Floats are read as exact rationals, so the bound holds for the rows as written.

    >>> from dxprivacy import metrics
    >>> b = sensitivity([[1, 1, 0, 0]], metrics.constant(4, 0.1))
    >>> b.upper, b.witness
    (Fraction(10, 1), (0, 2))
    >>> q = [[1, 0, 0, 0], [0, 1, 0, 0]]
    >>> sensitivity(q, metrics.constant(4, 1)).upper, sensitivity(q, metrics.constant(4, 1), norm="max").upper
    (Fraction(2, 1), Fraction(1, 1))
    >>> sensitivity([[2.0**45, 2.0**45 + 1]], metrics.constant(2, 1)).upper
    Fraction(1, 1)
    """
    if norm not in ("sum", "max"):
        raise UsageError(f"no norm “{norm}”", hints=[('norm="sum"', "all answers"), ('norm="max"', "the largest")])
    rows = DeclaredRows.of(queries, metric.universe, largest=norm == "max")
    bound = max_ratio(rows, metric)
    if bound.witness is None or not bound.lower or bound.lower == math.inf:
        return bound
    seen = rows.at_least(*bound.witness) / rows.exact(*bound.witness)  # below 1 if rounding may hide a part
    return replace(bound, lower=bound.lower * seen)
