"""The least scale that each row's own pairs allow: how far a row may change, in parts of the policy.

Row k alone, with scale s_k, takes max |A_ki - A_kj| / (s_k d(i, j)) of the policy.  A choice among rows takes the
largest of these, not their sum, so that every row gets the least scale it could have alone, at nobody's expense.
Floats propose here; `max_ratio` decides.
"""

import math
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import round_up
from dxprivacy.metrics import Metric
from dxprivacy.privacy import cover, max_ratio
from dxprivacy.privacy.costs import Cost, LaplaceCost, SelectionCost
from dxprivacy.privacy.refusals import separates
from dxprivacy.privacy.repair import Allowance, repaired
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.blocks.block import ENTRIES_AT_ONCE
from dxprivacy.universe.workload import Workload

_MOST_PAIRS = 3_000_000


def row_ratios(workload: Workload, metric: Metric) -> Floats:
    """Per row the largest |A_ki - A_kj| / d(i, j), in floats; 0 for rows that the policy leaves free.

    Where the pairs of a block are too many, all its rows get the largest of them.

    >>> from dxprivacy import metrics
    >>> from dxprivacy.queries.asking import gather
    >>> d = metrics.line(3, 1)
    >>> row_ratios(gather([[0, 1, 2], [0, 0, 4], [5, 5, 5]]).on(d.universe), d).tolist()
    [1.0, 4.0, 0.0]
    """
    return np.concatenate([_block_ratios(block, workload, metric) for block in workload.blocks])


def _block_ratios(block: Block, workload: Workload, metric: Metric) -> Floats:
    alone = Workload(workload.universe, (block,), ())
    pairs = cover(LaplaceCost(alone, np.arange(1.0, block.rows + 1.0)), metric, walks=True)  # contexts tell rows apart
    if not pairs.tight or pairs.size * block.width > _MOST_PAIRS:
        bound = max_ratio(SelectionCost(alone, np.ones(block.rows)), metric)
        if bound.upper == math.inf:
            raise separates(workload, metric, bound.witness)
        return np.full(block.rows, round_up(bound.upper))
    out = np.zeros(block.rows)
    for i, j in pairs.pairs(max(1, min(1 << 12, ENTRIES_AT_ONCE // block.width))):
        d = metric.pairwise(i, j)
        asks = np.isfinite(d)
        i, j, d = i[asks], j[asks], d[asks]
        pair, row, amount = block.differences(i, j)
        if (d[pair] <= 0).any():
            at = int(pair[int((d[pair] <= 0).argmax())])
            raise separates(workload, metric, (int(i[at]), int(j[at])))
        np.maximum.at(out, row, amount / d[pair])
    return out


def certified_scales(
    workload: Workload,
    metric: Metric,
    part: Fraction,
    ratios: Floats | None = None,
    *,
    steps: int = 1,
    spent: Cost | None = None,
) -> Floats:
    """Scales with which a choice among all rows, and each row alone, takes at most `part` of the policy.

    So many `steps` of them fit beside what was spent.

    One certificate is enough for both: the loss of a choice is the largest loss of a row.  Rows that are free get 0.
    """
    ratios = row_ratios(workload, metric) if ratios is None else ratios
    known = {r: round_up(Fraction(r) / part) for r in np.unique(ratios).tolist()}
    scales = np.array([known[r] for r in ratios.tolist()])
    if (bound := max_ratio(SelectionCost(workload, scales), metric)).upper == math.inf:
        raise separates(workload, metric, bound.witness)
    fits, _ = repaired(scales, lambda s: SelectionCost(workload, s), Allowance(metric, part), workload)
    if spent is None:
        return fits
    # All steps together, each at most a choice among all rows, beside what was spent.
    beside = Allowance(metric, steps * part, spent)
    return repaired(fits, lambda s: SelectionCost(workload, np.nextafter(s / steps, 0)), beside, workload)[0]


def row_spans(workload: Workload) -> Floats:
    """Per row its largest minus its least entry over all records: rows divided by it are in a unit range.

    >>> from dxprivacy.queries.asking import gather
    >>> from dxprivacy.universe.universe import Universe
    >>> row_spans(gather([[0, 1, 2], [-1, 0, 4], [5, 5, 5]]).on(Universe.listed("abc"))).tolist()
    [2.0, 5.0, 0.0]
    """
    return np.concatenate([block.spans() for block in workload.blocks])
