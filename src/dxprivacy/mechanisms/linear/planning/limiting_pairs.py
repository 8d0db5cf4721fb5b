"""Find the pair that limits each answer's accuracy, and how much of the policy a plan uses.

The limiting pair is the most used generating pair that the answer separates.

Only public numbers are used: the plan's cost, its metric and the queries.
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.metrics.metric import all_pairs
from dxprivacy.privacy import largest_pairs, ratios
from dxprivacy.privacy.proportional_costs import proportional_block

_CHUNK = 1 << 8
_KEPT = 100_000
_WALKED = 5_000  # along attributes with many values
_COUNTED = 2_000
_MOST_RECORDS = 3_000  # up to here, the use of all pairs is computed


@dataclass(frozen=True)
class LimitingPair:
    """The pair that limits an answer, with the used fraction of its distance; None if nothing limits it."""

    pair: tuple[int, int] | None
    used: float
    also: int = 0  # number of other pairs that are as tight: under an optimal plan, several limit the same answer


def limits(plan: Plan) -> list[LimitingPair]:
    """Return the most used pair per answer: pairs in falling order of use, until every row is touched by one."""
    used, first, second = _most_used_pairs(plan)
    order = np.argsort(-used, kind="stable")
    owner = np.full(plan.workload.rows, -1, dtype=np.int64)
    for start in range(0, len(order), _CHUNK):
        chunk = order[start : start + _CHUNK]
        pair, row = plan.workload.touched(first[chunk], second[chunk])
        at = np.full(plan.workload.rows, len(order), dtype=np.int64)
        np.minimum.at(at, row, pair)
        fresh = (owner < 0) & (at < len(order))
        owner[fresh] = chunk[at[fresh]]
        if (owner >= 0).all():
            break
    _lend(plan, owner, used)
    tight_pairs = _tight_pairs(plan, used, first, second)
    out = []
    for answer in plan.workload.answers:
        tight = max((int(owner[row]) for row in answer.rows), key=lambda k: float(used[k]) if k >= 0 else -1.0)
        if tight < 0:
            out.append(LimitingPair(None, 0.0))
            continue
        also = max(max(int(tight_pairs[row]) for row in answer.rows) - 1, 0)
        out.append(LimitingPair((int(first[tight]), int(second[tight])), float(used[tight]), also))
    return _limits_of_proportional(plan, out) if plan.workload.proportional else out


def separated_answers(plan: Plan, pair: tuple[int, int]) -> list[int]:
    """Return the answers that change if a record moves along the pair."""
    rows = set(plan.workload.touched(np.array([pair[0]]), np.array([pair[1]]))[1].tolist())
    return [k for k, answer in enumerate(plan.workload.answers) if rows & set(answer.rows)]


@dataclass(frozen=True)
class PolicyUse:
    """The used fraction of the distances of all pairs: how many use up the budget, and the median."""

    pairs: int
    used_up: int
    median: float


def policy_use(plan: Plan) -> PolicyUse | None:
    """Return how much of the policy a plan uses over all pairs; None with too many possible records."""
    n = plan.metric.universe.size
    if n > _MOST_RECORDS:
        return None
    used = np.concatenate([ratios(plan.cost, plan.metric, i, j) for i, j in all_pairs(n)] or [np.zeros(1)])
    return PolicyUse(len(used), int((used > 0.99 * float(plan.budget)).sum()), float(np.median(used)))


def _limits_of_proportional(plan: Plan, found: list[LimitingPair]) -> list[LimitingPair]:
    """People and maps are limited by the closest two records that they separate."""
    pairs: dict[int, tuple[int, int]] = {}
    for block, start in plan.workload.proportional:
        told = zip(range(start, start + block.rows), proportional_block(block).limiting(plan.metric), strict=True)
        pairs |= {row: near.pair for row, near in told if near is not None}
    used = float(plan.certificate.ratio)
    answers = zip(plan.workload.answers, found, strict=True)
    return [LimitingPair(pairs[a.rows[0]], used) if a.rows[0] in pairs else limit for a, limit in answers]


def _tight_pairs(plan: Plan, used: Floats, first: Ints, second: Ints) -> Ints:
    """Per row, the number of used-up generating pairs along which it changes; all 0 if there are very many."""
    tight = np.flatnonzero(used >= (1 - 1e-6) * float(plan.budget))
    if len(tight) > _COUNTED:
        return np.zeros(plan.workload.rows, dtype=np.int64)
    row = plan.workload.touched(first[tight], second[tight])[1]
    return np.bincount(row, minlength=plan.workload.rows).astype(np.int64)


def _lend(plan: Plan, owner: Ints, used: Floats) -> None:
    """Noisy rows that no generating pair touches get the pair of a row of the same block with equal noise, in place.

    Generating pairs cover only one context of the other attributes, and messages name only the attributes that differ.
    """
    block, noise = (
        np.asarray(plan.workload.block_of),
        np.array([distribution.variance for distribution in plan.distributions]),
    )
    tightest: dict[tuple[int, float], int] = {}
    for row in np.flatnonzero(owner >= 0).tolist():
        key, at = (int(block[row]), float(noise[row])), int(owner[row])
        if key not in tightest or used[at] > used[tightest[key]]:
            tightest[key] = at
    for row in np.flatnonzero((owner < 0) & (noise > 0)).tolist():
        owner[row] = tightest.get((int(block[row]), float(noise[row])), -1)


def _most_used_pairs(plan: Plan) -> tuple[Floats, Ints, Ints]:
    """The generating pairs with the largest used fraction: fractions, first records, second records."""
    used: Floats = np.zeros(0)
    first: Ints = np.zeros(0, dtype=np.int64)
    second: Ints = np.zeros(0, dtype=np.int64)
    for i, j in largest_pairs(plan.cost, plan.metric, _WALKED, 1 << 14):
        r = ratios(plan.cost, plan.metric, i, j)
        some = r > 0
        used = np.concatenate([used, r[some]])
        first, second = np.concatenate([first, i[some]]), np.concatenate([second, j[some]])
        if len(used) > 2 * _KEPT:
            top = np.argpartition(-used, _KEPT)[:_KEPT]
            used, first, second = used[top], first[top], second[top]
    return used, first, second
