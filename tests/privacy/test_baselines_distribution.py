"""Stretching and sampling lose no more than they guarantee: every outcome of small data sets, in exact intervals."""

from fractions import Fraction as F
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from mpmath import iv, mp, mpf

import dxprivacy as dx
from dxprivacy.mechanisms.sampling.discrete_laplace import BITS, kept
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.paper.baselines.sampled import KeptLoss

BUDGETS = ["0.1", "0.5", 1]
ROWS = {
    "one count": [[1, 1, 0]],
    "everybody": [[1, 1, 1]],
    "histogram": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "a sum": [[3, 0, 2]],
    "both signs": [[2, -1, 1], [0, 1, 1]],
}


@pytest.fixture(autouse=True)
def many_digits():
    before = iv.dps, mp.dps
    iv.dps = mp.dps = 40
    yield
    iv.dps, mp.dps = before


def data_sets(records, cells=3):
    return [x for x in product(range(records + 1), repeat=cells) if sum(x) == records]


def samples(x, chances):
    """What may be kept of a data set, with its probability as a fraction."""
    for kept_ in product(*(range(n + 1) for n in x)):
        chance = F(1)
        for n, k, p in zip(x, kept_, chances, strict=True):
            chance *= comb(n, k) * p**k * (1 - p) ** (n - k)
        if chance:
            yield kept_, chance


def distribution(rows, scales, x, chances, outcomes):
    """The probability of each outcome up to a constant, in intervals: a mixture of Laplace distributions."""
    out = {}
    mixed = [(tuple(int(a) for a in rows @ np.array(k)), c) for k, c in samples(x, chances)]
    for z in outcomes:
        total = iv.mpf(0)
        for center, c in mixed:
            gap = sum((F(abs(a - b)) / F(s) for a, b, s in zip(z, center, scales, strict=True)), F(0))
            total += (iv.mpf(c.numerator) / c.denominator) * iv.exp(-(iv.mpf(gap.numerator) / gap.denominator))
        out[z] = total
    return out


def outcomes_of(rows, records):
    """Every outcome that matters: beyond these the ratio of two distributions does not change any more."""
    sides = [range(records * min(0, int(r.min())) - 1, records * max(0, int(r.max())) + 2) for r in rows]
    return list(product(*sides))


def losses(rows, scales, chances, records):
    """The largest log ratio over all outcomes and data sets that differ by replacing i by j, for each pair."""
    found, outcomes = {}, outcomes_of(rows, records)
    distributions = {x: distribution(rows, scales, x, chances, outcomes) for x in data_sets(records)}
    for i, j in combinations(range(3), 2):
        for x in distributions:
            if not x[i]:
                continue
            y = tuple(n - (k == i) + (k == j) for k, n in enumerate(x))
            for z in outcomes:
                ratio = iv.log(distributions[x][z] / distributions[y][z])
                size = ratio if ratio.mid >= 0 else -ratio
                if (i, j) not in found or size.mid > found[i, j].mid:
                    found[i, j] = size
    return found


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("threshold", [None, "0.6", 2])
def test_no_outcome_of_sampling_tells_more_than_its_cost_and_no_cost_more_than_the_metric(name, threshold):
    found = dx.baselines.sampling(ROWS[name], BUDGETS, threshold=threshold)
    assert found.certificate.ratio <= 1
    for records in (1, 2) if len(found.scales) < 3 else (1,):
        for (i, j), loss in losses(found.given.rows, found.scales, found.parts, records).items():
            cost = found.cost.exact(i, j)
            assert loss.b <= mpf(cost.numerator) / cost.denominator
            assert cost <= found.metric.exact(i, j)


@pytest.mark.parametrize("name", ["one count", "everybody", "histogram"])
def test_the_cost_of_sampling_is_attained_by_a_single_record(name):
    """To twelve digits, on every pair: nothing is given away."""
    found = dx.baselines.sampling(ROWS[name], BUDGETS)
    for (i, j), loss in losses(found.given.rows, found.scales, found.parts, 1).items():
        assert float(loss.mid) == pytest.approx(float(found.cost.exact(i, j)), rel=1e-12, abs=1e-15)


def test_the_scale_of_sampling_is_the_least_that_can_be_certified():
    found = dx.baselines.sampling(ROWS["a sum"], BUDGETS)
    assert float(found.certificate.ratio) == pytest.approx(1, abs=1e-9)
    less = tuple(s * 0.999 for s in found.scales)
    cost = KeptLoss(found.metric.universe, found.given.rows, less, found._chances)
    assert dx.max_ratio(cost, found.metric).upper > 1


@pytest.mark.parametrize("name", ROWS)
def test_adding_a_record_to_a_sample_loses_its_own_budget_at_the_printed_scale(name):
    """The authors' theorem, from its formula: 1 + pi (e^a - 1) with a <= t, so at most e^eps; attained where a = t."""
    rows, t = np.array(ROWS[name]), F(1)
    found = dx.baselines.sampling(rows, BUDGETS)
    attained = []
    for cell, (epsilon, p) in enumerate(zip(found.given.budgets, found.parts, strict=True)):
        a = F(int(np.abs(rows[:, cell]).sum())) / found.printed
        assert a <= t
        loss = iv.log(1 + (iv.mpf(p.numerator) / p.denominator) * (iv.exp(iv.mpf(a.numerator) / a.denominator) - 1))
        assert loss.a <= mpf(epsilon.numerator) / epsilon.denominator + mpf(10) ** -30
        attained.append(float(loss.mid) == pytest.approx(float(epsilon), rel=1e-12))
    assert any(attained)


def test_rounded_probabilities_are_never_above_the_formula_and_close_to_it():
    found = dx.baselines.sampling([[1] * 4], ["0.001", "0.3", "0.7", 1])
    for epsilon, p in zip(found.given.budgets, found.parts, strict=True):
        x = iv.mpf(epsilon.numerator) / epsilon.denominator
        formula = (iv.exp(x) - 1) / (iv.exp(1) - 1)
        missing = formula - iv.mpf(p.numerator) / p.denominator
        assert missing.b >= 0
        assert missing.a <= mpf(2) ** -62


@pytest.mark.parametrize("name", ROWS)
def test_no_outcome_of_stretching_tells_more_than_its_cost_and_no_cost_more_than_the_metric(name):
    """In fractions: the log ratio of two Laplace distributions is a difference of distances."""
    found = dx.baselines.stretching(ROWS[name], BUDGETS)
    weights = np.array([int(w * 10) for w in found.parts])  # budgets in tenths
    rows = np.array(ROWS[name]) * weights
    assert (found.counted.dense() == rows).all()
    for i, j in combinations(range(3), 2):
        steps = [sorted({0, int(r[i]), int(r[j])}) for r in rows]
        most = max(
            abs(
                sum(
                    F(abs(z - int(r[j])) - abs(z - int(r[i]))) / F(s)
                    for z, r, s in zip(outcome, rows, found.scales, strict=True)
                )
            )
            for outcome in product(*steps)
        )
        assert most == found.cost.exact(i, j) <= found.metric.exact(i, j)


def test_the_histogram_attains_the_guarantee_of_stretching_on_every_pair_at_the_printed_scale():
    found = dx.baselines.stretching(ROWS["histogram"], BUDGETS)
    assert float(found.scale) == pytest.approx(float(found.printed), rel=1e-12)
    for i, j in combinations(range(3), 2):
        assert float(found.cost.exact(i, j) / found.metric.exact(i, j)) == pytest.approx(1, abs=1e-12)


def test_by_attribute_stretching_is_a_plan_with_a_scale_for_each():
    """Rows about one attribute, shrunk by its weight and stretched back afterwards: noise S / eps_a, and no bias."""
    u = dx.Universe([dx.Values(name=n, values=("a", "b", "c"), has_other=False) for n in ("sex", "job")])
    d = dx.metrics.attributes(u, {"sex": "0.1", "job": 1})
    rows = dx.matrix([[1, 1, 1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 1, 0, 0]])
    shrunk = dx.matrix([[1, 1, 1, 0, 0, 0, 0, 0, 0], [10, 0, 0, 10, 0, 0, 10, 0, 0]])  # in tenths: weights 1/10 and 1
    assert dx.sensitivity(shrunk, d).upper == 10  # so the printed scale, 1 / max eps = 10 tenths, is enough
    plan = dx.plan(rows, d, method="optimal")
    assert plan.scales == pytest.approx((10, 1))


def test_where_values_choose_budgets_sampling_cannot_keep_the_smaller_of_two_without_more_noise():
    """Whether a record is kept tells its value: per_value (the smaller budget) needs much more noise than the sum."""
    budgets = ["0.1", 1, 1]
    smaller = dx.metrics.per_value({"a": "0.1", "b": 1, "c": 1})
    at_sum = dx.baselines.sampling([[1, 1, 1]], budgets)
    at_least = dx.baselines.sampling([[1, 1, 1]], budgets, metric=smaller)
    assert at_least.scale > 5 * at_sum.scale
    assert at_least.certificate.ratio <= 1


def test_budgets_of_people_are_a_public_group():
    """The authors' setting: the group is public, and inside of it everybody has the group's budget; attained."""
    classes = dx.Values(name="group", values=("strict", "loose"), has_other=False)
    value = dx.Values(name="ill", values=("yes", "no"), has_other=False)
    u = dx.Universe([classes, value])
    inf = float("inf")
    d = dx.metrics.from_matrix([[0, "0.1", inf, inf], ["0.1", 0, inf, inf], [inf, inf, 0, 1], [inf, inf, 1, 0]])
    found = dx.baselines.sampling([[1, 0, 1, 0]], ["0.1", "0.1", 1, 1], metric=d)
    assert float(found.scale) == pytest.approx(1, rel=1e-9)  # S / t, as printed: the budget of each is used up
    assert u.size == d.universe.size


# What is kept at random


def test_records_are_kept_with_exactly_their_probability():
    chances = np.array([0, 1 << BITS - 2, 3 << BITS - 2, 1 << BITS])
    n = 40_000
    found = kept(np.full(4, n), chances, SystemNoise().entropy)
    assert found[0] == 0
    assert found[3] == n
    for k, p in ((1, 0.25), (2, 0.75)):  # six standard errors; a probability that is off by a tenth would be seen
        assert abs(found[k] - n * p) < 6 * (n * p * (1 - p)) ** 0.5 < 0.1 * n * p


def test_every_record_is_decided_by_its_own_bits_alone():
    """Bits just below the probability keep, the probability itself does not."""
    p = 12345678901234567
    words = np.array([p - 1, p, 0, (1 << BITS) - 1, p - 1], dtype=np.uint64) << np.uint64(64 - BITS)
    given = iter([words.tobytes()])
    assert kept(np.array([2, 0, 3]), np.array([p, 1 << BITS, p]), lambda n: next(given)).tolist() == [1, 0, 2]


def test_as_many_words_are_drawn_as_there_are_records_whatever_their_values():
    asked = []

    def entropy(n):
        asked.append(n)
        return bytes(n)

    for counts in ([100_000, 0], [0, 100_000], [50_000, 50_000]):
        kept(np.array(counts), np.array([1, 1 << BITS]), entropy)
    assert asked[:2] == asked[2:4] == asked[4:]
    assert sum(asked[:2]) == 800_000


@pytest.mark.parametrize("chances", [[-1, 0], [0, (1 << 62) + 1], [0]])
def test_what_is_no_probability_is_refused(chances):
    with pytest.raises(ValueError, match="probability"):
        kept(np.array([1, 1]), np.array(chances), SystemNoise().entropy)
