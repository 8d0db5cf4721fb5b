"""Methods that measure a strategy in place of the workload: matrix mechanism, k-norm noise and biased rows."""

import math
from collections.abc import Iterator

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Proposal, Task
from dxprivacy.mechanisms.linear.strategies import biased_rows, hierarchies
from dxprivacy.mechanisms.linear.strategies import k_norm_strategies as block_max_proposals
from dxprivacy.mechanisms.linear.strategies import matrix_mechanism as matrix
from dxprivacy.mechanisms.linear.strategies.separated_records import count_representatives, moves
from dxprivacy.optimize.objectives import SQUARED

_SAFETY = 1.0 + 2.0**-40


def may_use_strategy(task: Task) -> bool:
    """Whether squared errors are minimized, no person has several rows, and there is more than one row."""
    return task.objective is SQUARED and task.workload.universe.people is None and task.workload.rows > 1


def redundant(task: Task) -> bool:
    """Whether there are far more rows than possible records that they separate, so that the answers are redundant."""
    if not may_use_strategy(task) or (task.targets > 0).any():
        return False
    blocks = task.workload.blocks
    axes = sorted(set().union(*(moves(b) for b in blocks)))
    return task.workload.rows > 4 * count_representatives(blocks, axes)


def by_strategy(task: Task, own: Candidate) -> Iterator[Proposal]:
    """Propose the matrix mechanism's strategy, if one applies."""
    found = matrix.propose(
        task.workload,
        task.metric,
        task.budget,
        _importance(task),
        own.scales,
        spent=task.spent,
        watch=task.watch,
        effort=task.effort,
    )
    if found is None:
        raise NotCertified(
            "found no strategy: queries that share attributes must be tables, or separate few possible records",
            hints=[("several plans", "one for each kind of query"), ('method="optimal"', "counts what was asked")],
        )
    yield Proposal(found.scales * _SAFETY, measured=found.measured, about=found.about)


def may_use_k_norm(task: Task) -> bool:
    """Whether a strategy may be used, and hierarchies or block-max tables apply."""
    return may_use_strategy(task) and (
        hierarchies.applies(task.workload, task.metric) or block_max_proposals.applies(task.workload, task.metric)
    )


def by_k_norm_noise(task: Task, own: Candidate) -> Iterator[Proposal]:
    """Propose hierarchies of counts and, if tables share one budget, also tables with block-max noise."""
    _require_k_norm(task)
    refusals: list[NotCertified] = []
    made = False
    for proposed in (_block_max, _hierarchical):
        try:
            found = proposed(task, own)
        except NotCertified as refused:
            refusals.append(refused)
            continue
        if found is not None:
            made = True
            yield found
    if refusals and not made:
        raise refusals[0]


def _block_max(task: Task, own: Candidate) -> Proposal | None:  # noqa: ARG001
    if not block_max_proposals.applies(task.workload, task.metric):
        return None
    tables = block_max_proposals.propose(task.workload, task.metric, task.budget, spent=task.spent)
    return Proposal(tables.scales, measured=tables.measured, about=tables.about)


def _hierarchical(task: Task, own: Candidate) -> Proposal | None:
    if not hierarchies.applies(task.workload, task.metric):
        return None
    under = hierarchies.Policed(task.metric, task.budget, task.spent, task.watch, task.effort)
    found = hierarchies.propose(task.workload, under, _importance(task), own.scales)
    return Proposal(found.scales * _SAFETY, measured=found.measured, about=found.about)


def _require_k_norm(task: Task) -> None:
    """Raise with the reason why k-norm noise does not apply."""
    if may_use_k_norm(task):
        return
    universe, other = task.workload.universe, ('method="matrix"', "independent noise")
    if task.objective is not SQUARED:
        raise NotCertified(
            "k-norm noise is planned for squared errors", hints=['objective="squared"', 'method="optimal"']
        )
    if universe.absent is not None:
        raise NotCertified("k-norm noise needs a public number of records", hints=[other])
    if universe.people is not None or task.workload.proportional:
        raise NotCertified("k-norm noise is for rows, not for people with several rows or maps", hints=[other])
    raise NotCertified(
        "k-norm noise needs several answers: along one attribute, in tables, or about few possible records",
        hints=[other],
    )


def may_be_shifted(task: Task) -> bool:
    """Whether bias can lower an error at all: only with few records, or a very strict policy."""
    if not biased_rows.applies(task.workload, task.records) or task.objective is not SQUARED:
        return False
    closest = task.metric.closest
    allowed = math.inf if closest is None else closest.distance * float(task.budget)
    if task.spent is None and (task.records or 0) * allowed > biased_rows.WORTH_IT:  # no pair is closer
        return False
    return any(biased_rows.worth_trying(part, task.records or 0) for part in _parts(task))


def quickly_shifted(task: Task) -> bool:
    """Whether bias is cheap to plan: one row is a problem in one variable, solved exactly; several rows
    need a search.
    """
    return task.workload.rows == 1


def by_shifting(task: Task, own: Candidate) -> Iterator[Proposal]:
    """Propose rows with bias."""
    records = biased_rows.require_applicable(task.workload, task.records)
    parts = _parts(task)
    if task.free.all():  # the policy protects nothing that is asked, so the answers are noise-free
        yield Proposal(np.zeros(task.workload.rows))
        return
    if all(part.cells is None for part in parts):
        raise NotCertified("too many possible records for a biased plan", hints=['method="optimal"'])
    if task.objective.absolute and any(len(part.rows) > 1 for part in parts):
        raise NotCertified(
            "the least absolute error with bias is known only for queries that share no pair of records",
            details=["Those about different attributes, one query each, where distances add up, share none."],
            hints=[('objective="squared"', "squared errors, for any queries"), ('method="optimal"', "without bias")],
        )
    found = biased_rows.propose(
        task.workload,
        parts,
        _importance(task),
        np.asarray(own.scales),
        records,
        objective=task.objective,
        watch=task.watch,
    )
    if found is None:  # bias would not help: keep the workload's own rows
        yield Proposal(np.asarray(own.scales))
        return
    yield Proposal(found.scales * _SAFETY, measured=found.measured, about=found.about)


def _importance(task: Task) -> Floats:
    """The weight of each row's squared error, in steps of its grid."""
    return np.asarray(task.weights / task.reference**2, dtype=np.float64)


def _parts(task: Task) -> list[biased_rows.BiasedPart]:
    return biased_rows.parts_of(task.workload, task.metric, task.budget, task.spent)
