"""What every step of MWEM tells about one record, enumerated: at most what was reserved for it, and d in all."""

import json
import random
from fractions import Fraction as F

import numpy as np
import pytest
from mpmath import iv

from contracts.random_models import random_metric, random_queries
from dxprivacy import metrics
from dxprivacy.errors import BudgetExceeded, DxError, UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.mwem.run import run_mwem
from dxprivacy.mechanisms.spending import Unrecorded
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost
from dxprivacy.queries.asking import gather
from dxprivacy.releases.guarantee import NOWHERE

iv.prec = 200


class Observed:
    """Runs the steps, notes what the data gave to the noise, and returns a transcript that does not depend on it."""

    def __init__(self, script):
        self.script, self.steps = script, []
        self._last = None

    def laplace(self, scales):
        self._last = ("laplace", scales.copy())
        return np.zeros(len(scales), dtype=np.int64)

    def select(self, scores, scales, *, flip=False):
        self._last = ("selection", scores.copy(), scales.copy())
        return 0

    def step(self, cost, queries, name, act, *, asked=None):
        self._last = ("exact",)
        happened = json.loads(act(NOWHERE))
        if self._last[0] == "selection":
            outcome = json.dumps({"row": self.script[name]})
        elif self._last[0] == "laplace":
            self._last = (*self._last, happened["noisy"])  # without noise: where the distribution stands
            outcome = json.dumps({"noisy": self.script[name]})
        else:
            self._last = (*self._last, happened["exact"])
            outcome = json.dumps(happened)
        self.steps.append((cost, self._last))
        return outcome


def log_ratio_stays_within(one, other, loss):
    """P(k | x) / P(k | x') <= exp(loss) for every k, and the other way round, in intervals."""
    (_, scores, scales), (_, scores2, scales2) = one, other
    assert np.array_equal(scales, scales2)
    weights, weights2 = (
        [iv.exp(iv.mpf(int(u)) / (2 * iv.mpf(float(s)))) for u, s in zip(v, scales, strict=True)]
        for v in (scores, scores2)
    )
    most = iv.exp(iv.mpf(loss.numerator) / loss.denominator)
    total, total2 = sum(weights), sum(weights2)
    for w, w2 in zip(weights, weights2, strict=True):
        assert (w * total2).a <= (most * w2 * total).b
        assert (w2 * total).a <= (most * w * total2).b


def script_for(plan, rng):
    """Some transcript: rows in an order, with any measurements."""
    rows = rng.sample(plan.candidates.tolist(), plan.rounds)
    out = {}
    for turn, row in enumerate(rows, 1):
        out[f"round {turn} selection"] = row
        out[f"round {turn} measurement"] = rng.randint(-20, 60)
    return out


@pytest.mark.parametrize("seed", range(60))
def test_each_step_tells_at_most_what_was_reserved_and_all_together_at_most_d(seed):
    rng = random.Random(seed)
    metric = random_metric(rng)
    try:
        plan = plan_mwem(
            random_queries(rng, metric.universe), metric, n_records=12, rounds="bound", budget=rng.choice([1, "30%"]),
            passes=rng.choice([0, 3]), alike=rng.random() < 0.5,
        )  # fmt: skip
    except DxError:  # n is private, nothing to choose, or no noise is enough
        return
    universe, n = metric.universe, metric.universe.cells
    x = np.bincount([rng.randrange(n) for _ in range(12)], minlength=n)
    script = script_for(plan, rng)
    for _ in range(4):
        i = rng.choice(np.flatnonzero(x).tolist())
        j = rng.randrange(n)
        d = metric.exact(i, j)
        if i == j or d == float("inf"):
            continue
        neighbor = x.copy()
        neighbor[i] -= 1
        neighbor[j] += 1
        runs = []
        for counts in (x, neighbor):
            seen = Observed(script)
            run_mwem(plan, lambda c=counts: Histogram.of(universe, c), seen, seen)
            runs.append(seen.steps)
        total = F(0)
        for (cost, one), (_, other) in zip(*runs, strict=True):
            loss = F(cost.exact(i, j))
            total += loss
            assert F(max_ratio(cost, metric).upper) <= plan.part
            if one[0] == "selection":
                log_ratio_stays_within(one, other, loss)
            elif one[0] == "laplace":
                assert F(abs(one[2] - other[2])) / F(float(one[1][0])) <= loss
            else:
                assert one == other  # public answers of records that differ elsewhere
        assert total <= plan.budget * F(d)


def test_the_enumeration_would_notice_too_little_noise():
    metric = metrics.constant(3, 1)
    plan = plan_mwem([[1, 0, 0], [0, 1, 0]], metric, n_records=10, rounds=1)
    script = {"round 1 selection": 0, "round 1 measurement": 3}
    steps = []
    for counts in ([5, 5, 0], [4, 6, 0]):  # one score falls, the other rises
        seen = Observed(script)
        run_mwem(plan, lambda c=counts: Histogram.of(metric.universe, c), seen, seen)
        steps.append(seen.steps)
    (cost, one), (_, other) = steps[0][0], steps[1][0]
    loss = F(cost.exact(0, 1))
    log_ratio_stays_within(one, other, loss)
    less = [("selection", scores, scales / 4) for _, scores, scales in (one, other)]
    with pytest.raises(AssertionError):
        log_ratio_stays_within(*less, loss)


# -- spending


def test_unrecorded_steps_stop_before_the_share_is_exceeded():
    metric, asked = metrics.constant(2, 1), gather([[1, 0]])
    rows = asked.on(metric.universe)
    spend = Unrecorded(metric, F(3, 4))
    acted = []
    third = LaplaceCost(rows, [3.0])
    for name in ("first", "second"):
        spend.step(third, asked, name, lambda _: acted.append(1) or "done")
    with pytest.raises(BudgetExceeded, match="nothing spent"):
        spend.step(third, asked, "third", lambda _: acted.append(1) or "done")
    assert len(acted) == 2
    assert spend.spent == F(2, 3)
    spend.step(SelectionCost(rows, [12.0]), asked, "last", lambda _: "done")  # just what is left
    assert spend.left == 0


def test_a_step_that_was_taken_returns_what_was_kept():
    metric, asked = metrics.constant(2, 1), gather([[1, 0]])
    cost, spend = LaplaceCost(asked.on(metric.universe), [1.0]), Unrecorded(metric)
    assert spend.step(cost, asked, "one", lambda _: "7") == spend.step(cost, asked, "one", lambda _: "8") == "7"
    assert spend.spent == 1
    with pytest.raises(UsageError, match="another cost"):
        spend.step(LaplaceCost(asked.on(metric.universe), [9.0]), asked, "one", lambda _: "8")


def test_a_step_without_limit_is_refused_and_a_share_beyond_the_policy_too():
    metric, asked = metrics.constant(2, 1), gather([[1, 0]])
    with pytest.raises(BudgetExceeded, match="∞"):
        Unrecorded(metric).step(LaplaceCost(asked.on(metric.universe), [0.0]), asked, "exact", lambda _: "7")
    for budget in (0, 2, F(-1, 2)):
        with pytest.raises(UsageError, match="budget"):
            Unrecorded(metric, budget)
