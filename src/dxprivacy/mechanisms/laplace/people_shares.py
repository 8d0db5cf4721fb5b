"""Plans in which people are counted beside rows: which part of the policy each gets.

Squared errors of rows are A / x^2 for the part x that they get, those of a table of people B / y^2: the least sum under
x + y + ... = share has parts as the cube roots of A, B, ...  A table that has reached its target gives the rest to the
rows.  All parts are proposals: what comes out is certified as a whole.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dxprivacy.accounting.people import best_scales, closest_groups, most_groups, part_of_people
from dxprivacy.accounting.refusals import separates
from dxprivacy.accounting.repair import Allowance, repaired
from dxprivacy.accounting.with_people import laplace_cost
from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.laplace.expected import target_scales
from dxprivacy.mechanisms.laplace.methods import best_of_own_rows
from dxprivacy.mechanisms.laplace.task import Candidate, Task
from dxprivacy.model.blocks import PeopleTable

PEOPLE = "people"
_LEAST = Fraction(1, 1 << 40)


def planned_with_people(task: Task, choose: Callable[[Task], Candidate]) -> Candidate:
    """Certified scales for rows, as some method chooses them, and for counts of people."""
    workload = task.workload
    tables = [_Table(task, block, start) for block, start in workload.people]
    rows = None if workload.of_rows is None else replace(task, workload=workload.of_rows)
    if rows is not None:
        _ = rows.even_bound  # refuses what no noise could make private
    first = None if rows is None else _as_asked(rows, choose)
    share = float(task.share)
    own = 0.0 if rows is None or first is None else rows.loss_of(first.scales) * share**2
    roots = [math.cbrt(table.loss) for table in tables]
    together = math.cbrt(own) + math.fsum(roots)
    scales, left = np.zeros(workload.rows), task.share
    for table, root in zip(tables, roots, strict=True):
        noise = np.maximum(table.scales / max(share * root / together, 2.0**-40), table.targets) if root else 0.0
        scales[table.places] = noise
        left -= Fraction(part_of_people(table.block, scales[table.places], task.metric))
    method, about = PEOPLE, ""
    if rows is not None:
        found = _as_asked(replace(rows, share=max(left, task.share * _LEAST)), choose)
        scales[~workload.counts_people] = found.scales
        method, about = found.method, found.about
    allowance = Allowance(task.metric, task.share, task.spent)
    certified, certificate = repaired(scales, lambda s: laplace_cost(workload, s, task.metric), allowance, workload)
    return Candidate(method, tuple(certified.tolist()), certificate, task.as_asked, about)


def _as_asked(task: Task, choose: Callable[[Task], Candidate]) -> Candidate:
    """The rows as they are asked: beside counts of people no others are put in their place."""
    found = choose(task)
    return found if found.measured.as_asked else best_of_own_rows(task)[0]


class _Table:
    """One table of people: scales that take the whole policy, how much these err, and what is good enough."""

    def __init__(self, task: Task, block: PeopleTable, start: int) -> None:
        self.block, self.places = block, slice(start, start + block.rows)
        proposed = best_scales(block, task.metric)
        part = part_of_people(block, proposed, task.metric)
        if part == math.inf:
            near = closest_groups(block, task.metric)
            raise separates(task.workload, task.metric, None if near is None else near.pair)
        self.scales: Floats = proposed * float(part)
        weights, self.targets = np.ones(block.rows), np.zeros(block.rows)
        for answer in task.workload.answers:
            (row, *_) = answer.rows
            if start <= row < start + block.rows:
                weights[row - start] = float(answer.weight)
                self.targets[row - start] = target_scales(answer, task.records).get(row, 0.0)
        reference = min(most_groups(block), block.rows)
        self.loss = float(weights @ (self.scales / reference) ** 2)
