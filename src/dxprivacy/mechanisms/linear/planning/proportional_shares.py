"""Plans in which people or maps are accounted as a whole beside other rows: which part of the policy each gets.

Squared errors of rows are A / x^2 for the part x that they get, those of a whole B / y^2: the least sum under
x + y + ... = share has parts as the cube roots of A, B, ...  A whole that has reached its target gives the rest to the
rows.  A map takes parts of distances between places only, so that rows about other attributes may have all of the share
beside it: both ways are tried.  All parts are proposals: what comes out is certified together.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.linear.estimators.expected_errors import target_scales
from dxprivacy.mechanisms.linear.planning.methods import best_of_own_rows
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Task
from dxprivacy.privacy.proportional_blocks import whole_of
from dxprivacy.privacy.proportional_costs import laplace_cost
from dxprivacy.privacy.proportional_loss import Flat
from dxprivacy.privacy.refusals import separates
from dxprivacy.privacy.repair import Allowance, repaired
from dxprivacy.queries.query import placed
from dxprivacy.universe.blocks import Block

AS_A_WHOLE = "as a whole"
_LEAST = Fraction(1, 1 << 40)


def planned_with_wholes(task: Task, choose: Callable[[Task], Candidate]) -> Candidate:
    """Certified scales for rows, as some method chooses them, and for what is accounted as a whole."""
    workload = task.workload
    wholes = [_Whole(task, block, start) for block, start in workload.wholes]
    rows = None if workload.by_pairs is None else replace(task, workload=workload.by_pairs)
    if rows is None:
        return _certified(task, _scales(task, wholes, 0.0), AS_A_WHOLE)
    _ = rows.even_bound  # refuses what no noise could make private
    first = _as_asked(rows, choose)
    apart = _scales(task, wholes, 0.0)
    apart[~workload.in_wholes] = first.scales
    shared = _scales(task, wholes, math.cbrt(rows.loss_of(first.scales) * float(task.share) ** 2))
    left = task.share - _taken(task, shared)
    rest = _as_asked(replace(rows, share=max(left, task.share * _LEAST)), choose)
    shared[~workload.in_wholes] = rest.scales
    found = [_certified(task, shared, rest.method, rest.about), _certified(task, apart, first.method, first.about)]

    def loss(one: Candidate) -> float:
        scales = np.array(one.scales)
        return rows.loss_of(scales[~workload.in_wholes]) + math.fsum(whole.loss_of(scales) for whole in wholes)

    return min(found, key=loss)


def _scales(task: Task, wholes: "list[_Whole]", beside: float) -> Floats:
    """Scales of all wholes, in parts of the share as the cube roots of their losses; `beside` is that of the rows."""
    scales, together = np.zeros(task.workload.rows), beside + math.fsum(whole.root for whole in wholes)
    for whole in wholes:
        part = max(float(task.share) * whole.root / together, 2.0**-40) if whole.root else 1.0
        scales[whole.places] = np.maximum(whole.scales / part, whole.targets)
    return scales


def _taken(task: Task, scales: Floats) -> Fraction:
    """The part of the policy that all wholes together take, at most."""
    parts = [whole_of(b).part(scales[start : start + b.rows], task.metric) for b, start in task.workload.wholes]
    return Fraction(sum(parts, Flat()).most)


def _certified(task: Task, scales: Floats, method: str, about: str = "") -> Candidate:
    allowance, workload = Allowance(task.metric, task.share, task.spent), task.workload
    found, certificate = repaired(scales, lambda s: laplace_cost(workload, s, task.metric), allowance, workload)
    return Candidate(method, tuple(found.tolist()), certificate, task.as_asked, about)


def _as_asked(task: Task, choose: Callable[[Task], Candidate]) -> Candidate:
    """The rows as they are asked: beside what is accounted as a whole no others are put in their place."""
    found = choose(task)
    return found if found.measured.as_asked else best_of_own_rows(task)[0]


def _title(task: Task, row: int) -> str:
    """The question that a row belongs to, in words."""
    asked = next(answer.question for answer in task.workload.answers if row in answer.rows)
    return task.workload.titles[asked]


class _Whole:
    """One of them: scales that take the whole policy, how much these err, and what is good enough."""

    def __init__(self, task: Task, block: Block, start: int) -> None:
        whole, self.places = whole_of(block), slice(start, start + block.rows)
        with placed(_title(task, start)):
            proposed = whole.proposed(task.metric)
            part = whole.part(proposed, task.metric).most
        if part == math.inf:
            near = whole.closest(task.metric)
            raise separates(task.workload, task.metric, None if near is None else near.pair)
        self.scales: Floats = proposed * float(part)
        self._weights, self.targets = np.ones(block.rows), np.zeros(block.rows)
        for answer in task.workload.answers:
            (row, *_) = answer.rows
            if start <= row < start + block.rows:
                self._weights[row - start] = float(answer.weight)
                self.targets[row - start] = target_scales(answer, task.records).get(row, 0.0)
        self._reference = float(whole.changed or 1)
        self.root = math.cbrt(self._loss(self.scales))

    def loss_of(self, scales: Floats) -> float:
        """How much scales of all rows of a workload err here."""
        return self._loss(scales[self.places])

    def _loss(self, scales: Floats) -> float:
        return float(self._weights @ (scales / self._reference) ** 2)
