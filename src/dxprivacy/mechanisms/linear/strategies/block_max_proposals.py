"""Where every table may have the whole budget: a proposal of tables that are noised together.

A record that is replaced changes them all, and where budgets do not add up over attributes it may show no more in all
than in one.  Each table gets the least scale that it could have alone: beside a largest loss, no table takes anything
from another.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import round_up
from dxprivacy.mechanisms.linear.estimators.block_max_tables import MOST_CELLS, Together
from dxprivacy.mechanisms.linear.estimators.least_squares import components
from dxprivacy.mechanisms.linear.strategies.separated_records import Cells, cells_told_apart
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import present
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import Cost, TogetherCost
from dxprivacy.privacy.repair import Allowance, repaired
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.workload import Workload

_HARDLY_ANY = 1 / 60.0  # a scale of noise that is not 0 once in e^60


@dataclass(frozen=True, eq=False)
class Proposed:
    """Tables for a whole workload."""

    measured: Together
    scales: Floats
    about: str


def applies(workload: Workload, metric: Metric) -> bool:
    """Whether there are several tables of a few cells each, whose budgets do not add up, of a public number of records.

    Where distances of attributes add up, each table has a budget of its own, and noise of its own is better.
    """
    universe = workload.universe
    if universe.absent is not None or universe.people is not None or workload.wholes:
        return False
    if present(metric).axes is not None:
        return False
    parts = components(workload.blocks, ())
    blocks = [[workload.blocks[b] for b in part.asked] for part in parts]
    return len(parts) > 1 and all(
        2 <= cells_told_apart(mine, part.axes) <= MOST_CELLS for part, mine in zip(parts, blocks, strict=True)
    )


def propose(workload: Workload, metric: Metric, share: Fraction, *, spent: Cost | None) -> Proposed:
    """One table for each component, with the scale that it could have alone."""
    questions, scales = [], []
    for part in components(workload.blocks, ()):
        cells = Cells.bare([workload.blocks[b] for b in part.asked])
        question = cells.question(np.eye(cells.count, dtype=np.int64), Fraction(1))
        rows = question.on(workload.universe)
        alone = max_ratio(TogetherCost(rows, np.ones(rows.rows)), metric).upper
        if not 0 < alone < float("inf"):
            raise NotCertified("tables together are for what a policy neither forbids nor calls public")
        least = np.full(rows.rows, round_up(Fraction(alone) / share))
        fits, _ = repaired(least, partial(TogetherCost, rows), Allowance(metric, share, spent), workload)
        if fits[0] < _HARDLY_ANY:
            raise NotCertified(
                "there is hardly any noise to save", hints=[('method="optimal"', "counts what was asked")]
            )
        questions.append(question)
        scales.append(fits)
    measured, found = Together(workload, Stack(tuple(questions))), np.concatenate(scales)
    measured.prepare(found.tolist())
    about = f"counts {len(questions)} tables with noise from one law: each has the whole budget, answers are whole"
    return Proposed(measured, found, about)
