"""Tables that one record changes together: what is proposed, what it costs, what is refused."""

import itertools
import json
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import NotCertified
from dxprivacy.mechanisms.linear.estimators.block_max_tables import BlockMaxTables
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.linear.strategies import k_norm_strategies as block_max_proposals
from dxprivacy.mechanisms.sampling import block_max_noise
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.privacy.costs import BlockMaxCost, LaplaceCost, SumCost
from dxprivacy.queries.asking import gather
from dxprivacy.verify import verify_data


def universe(sizes):
    values = [tuple(f"v{k}" for k in range(n)) for n in sizes]
    return dx.Universe([dx.Values(name=f"a{a}", values=v, has_other=False) for a, v in enumerate(values)])


def plain(sizes, epsilon=1):
    return dx.metrics.constant(universe(sizes), epsilon)


def largest(budgets, sizes):
    """The largest of the attributes' distances."""
    u = universe(sizes)
    alone = [dx.metrics.constant(dx.Universe([one]), e) for one, e in zip(u.attributes, budgets, strict=True)]
    return AttributeMax(u, alone)


def total(plan):
    return float((plan.expected_rmse**2).sum())


YES_NO = [f"count where a{k}=v0" for k in range(5)]
TABLES = [f"count by a{k}" for k in range(3)]


def test_five_counts_of_one_record_each_get_the_whole_budget():
    metric = plain((2,) * 5)
    best, own = (dx.plan(YES_NO, metric, method=m) for m in ("auto", "optimal"))
    assert isinstance(best.measured, BlockMaxTables)
    assert total(best) <= 71
    assert total(own) > 200
    assert set(best.scales) == {1.0}
    assert best.certificate.ratio == 1
    assert best.certificate.norm == "linf"
    assert best.worst_epsilon == pytest.approx(1)
    assert list(verify_data(json.loads(json.dumps(best.to_dict()))))


@pytest.mark.parametrize("seed", range(25))
def test_no_pair_is_told_apart_by_more_than_the_certificate_says(seed):
    """All pairs, in fractions, of what each table shows; the certificate is the largest of them."""
    rng = np.random.default_rng(seed)
    sizes = [int(n) for n in rng.integers(2, 5, int(rng.integers(2, 4)))]
    budgets = [F(int(x), 8) for x in rng.integers(1, 20, len(sizes))]
    metric = largest(budgets, sizes) if seed % 2 else plain(sizes, budgets[0])
    budget = F(int(rng.integers(1, 5)), 4)
    plan = make_plan([f"count by a{k}" for k in range(len(sizes))], metric, method="k-norm", budget=budget)
    assert isinstance(plan.measured, BlockMaxTables)
    ends = list(itertools.accumulate(sizes, initial=0))
    scales = [F(plan.scales[a]) for a in ends[:-1]]
    records, most = list(itertools.product(*map(range, sizes))), F(0)
    for (i, x), (j, y) in itertools.combinations(enumerate(records), 2):
        loss = max(1 / s for s, a, b in zip(scales, x, y, strict=True) if a != b)
        assert plan.cost.exact(i, j) == loss
        assert loss <= budget * metric.exact(i, j)
        most = max(most, loss / metric.exact(i, j))
    assert plan.certificate.ratio == most <= budget


def test_under_a_largest_distance_each_table_has_its_own_budget():
    metric = largest([1, F(1, 4), 2], (3, 2, 4))
    plan = make_plan(TABLES, metric, method="k-norm")
    assert plan.scales == (1.0,) * 3 + (4.0,) * 2 + (0.5,) * 4
    assert list(verify_data(json.loads(json.dumps(plan.to_dict()))))


def test_what_was_spent_before_is_left_to_every_table():
    metric = plain((3, 2, 4))
    first = make_plan("count by a0", metric, budget="50%")
    second = make_plan(TABLES, metric, method="k-norm", spent=first.cost)
    assert isinstance(second.measured, BlockMaxTables)
    both = SumCost(metric.universe, [first.cost, second.cost])
    pairs = list(itertools.combinations(range(metric.universe.size), 2))
    used = [both.exact(i, j) / metric.exact(i, j) for i, j in pairs]
    assert max(used) <= 1
    assert max(used) > 1 - F(1, 1000)
    third = make_plan(TABLES, metric, method="k-norm", budget="25%")
    fourth = make_plan(YES_NO[:3], metric, method="k-norm", budget="75%", spent=third.cost)
    assert all(third.cost.exact(i, j) + fourth.cost.exact(i, j) <= metric.exact(i, j) for i, j in pairs)


def test_answers_are_whole_and_tables_add_up():
    metric = plain((3, 2, 4))
    plan = make_plan([*TABLES, "count where a0=v0,v2", "count", "count where a2=v1"], metric, method="k-norm")
    counts = np.arange(24)
    for _ in range(20):
        found = dx.laplace(plan, counts)
        assert (found == np.round(found)).all()
        assert found[:3].sum() == found[3:5].sum() == found[5:9].sum() == counts.sum()
        assert found[9] == found[0] + found[2]
        assert found[10] == counts.sum()
        assert found[11] == found[6]
    cells, pair = plan.errors[0], plan.errors[9]
    assert cells.rmse == pytest.approx(pair.rmse)  # two of three cells are all but one
    assert plan.is_exact(plan.workload.answers[10])


def test_what_is_drawn_errs_as_planned():
    plan = make_plan(TABLES, largest([1, F(1, 2), 2], (3, 2, 4)), method="k-norm")
    counts = np.full(24, 100)
    found = np.array([dx.laplace(plan, counts) for _ in range(1_500)])
    truth = np.repeat([800.0, 1200.0, 600.0], [3, 2, 4])
    assert np.sqrt(((found - truth) ** 2).mean(axis=0)) == pytest.approx(plan.expected_rmse, rel=0.12)
    inside = np.abs(found - truth) <= [e.half_width for e in plan.errors]
    assert (inside.mean(axis=0) > 0.95 - 5 * np.sqrt(0.95 * 0.05 / 1_500)).all()


def test_a_plan_comes_back_from_its_file():
    metric = plain((2,) * 5)
    plan = dx.plan(YES_NO, metric)
    again = load_plan(json.loads(json.dumps(plan.to_dict())), metric)
    assert again.request == plan.request
    assert again.errors == plan.errors
    assert type(again.cost) is BlockMaxCost
    assert again.certificate == plan.certificate


def test_auto_takes_counts_that_agree_where_cells_are_many():
    """Then a part of the budget for each table is better than the whole one for all of them."""
    metric = plain((16, 7, 15, 6, 5, 2, 42, 9, 2))
    asked = [f"count by a{k}" for k in range(9)]
    best, independent = (dx.plan(asked, metric, method=m) for m in ("auto", "matrix"))
    together = block_max_proposals.propose(best.workload, metric, best.budget, spent=None)
    errors = [distribution.variance for distribution in together.measured.distributions(together.scales.tolist())]
    assert not isinstance(best.measured, BlockMaxTables)
    assert total(best) < 0.9 * total(independent)
    assert total(best) < 0.9 * sum(errors)


def test_where_budgets_add_up_tables_have_noise_of_their_own():
    u = universe((2, 2))
    metric = dx.metrics.attributes(u, {"a0": 1, "a1": 1})
    assert not block_max_proposals.applies(gather(YES_NO[:2]).on(metric.universe), metric)
    plan = make_plan(YES_NO[:2], metric)
    assert not isinstance(plan.measured, BlockMaxTables)


def cells_of(*attributes):
    return gather([f"count by a{k}" for k in attributes])


def test_what_is_no_table_is_refused():
    u = universe((3, 2, 4))
    asked = gather(TABLES).on(u)
    scales = [1.0] * 3 + [2.0] * 2 + [0.5] * 4
    assert len(BlockMaxTables(asked, gather(TABLES)).distributions(scales)) == 9
    for put, told in (
        (gather([*TABLES, "count"]), "the number of all records is public"),
        (gather([*TABLES, "count where a0=v0,v1"]), "count every bin once"),
        (gather(["count by a0", "count by a1"]), "no measured row belongs"),
        (
            gather(["count by a0", "count by a1", "count where a2=v0", "count where a2!=v0"]),
            "count every bin once",
        ),
    ):
        with pytest.raises(NotCertified, match=told):
            _ = BlockMaxTables(asked, put).tables
    with pytest.raises(NotCertified, match="at least two tables"):
        _ = BlockMaxTables(gather("count by a0").on(u), gather("count by a0")).tables
    with pytest.raises(NotCertified, match="at least two tables"):  # a record changes all cells of one table alike
        _ = BlockMaxTables(gather("count by a0, a1").on(u), gather("count by a0, a1")).tables


@pytest.mark.parametrize("bad", [[1.0, 1.0, 2.0], [0.0] * 3, [float("inf")] * 3])
def test_scales_of_a_table_are_one(bad):
    u = universe((3, 2, 4))
    together = BlockMaxTables(gather(TABLES).on(u), gather(TABLES))
    metric = plain((3, 2, 4))
    for act in (together.distributions, together.prepare, lambda s: together.cost(s, metric)):
        with pytest.raises(NotCertified, match="one positive scale"):
            act([*bad, 2.0, 2.0, 0.5, 0.5, 0.5, 0.5])


def test_who_comes_and_goes_is_not_noised_together():
    metric = dx.metrics.with_absent(plain((2, 2), 2), 1, max_records=100)
    with pytest.raises(NotCertified, match="public number of records"):
        make_plan(YES_NO[:2], metric, method="k-norm")
    with pytest.raises(NotCertified, match="public number of records"):
        BlockMaxTables(gather(YES_NO[:2]).on(metric.universe), cells_of(0, 1))


def test_sums_keep_noise_of_their_own():
    u = dx.Universe([dx.Integers(name="a0", low=0, high=3), dx.Integers(name="a1", low=0, high=3)])
    asked = gather([dx.sum_of("a0"), "count by a1"])
    plan = make_plan(asked.queries, dx.metrics.constant(u, 1), method="k-norm")
    assert not isinstance(plan.measured, BlockMaxTables), "boxes of both attributes are halved instead"
    with pytest.raises(NotCertified, match="answers counts"):
        block_max_proposals.propose(plan.workload, plan.metric, plan.budget, spent=None)


def test_noise_that_is_too_wide_is_refused_from_public_numbers(monkeypatch):
    with pytest.raises(NotCertified, match="table of levels gets too long"):
        make_plan(YES_NO, plain((2,) * 5, F(1, 10**6)), method="k-norm")
    plan = make_plan(YES_NO[:2], plain((2, 2), F(1, 7)), method="k-norm")
    monkeypatch.setattr(block_max_noise, "MOST_STEPS", 10)
    block_max_noise.block_max.cache_clear()
    with pytest.raises(NotCertified, match="table of levels gets too long"):
        plan.measured.prepare(plan.scales)
    with pytest.raises(NotCertified, match="table of levels gets too long"):
        dx.laplace(plan, [1, 2, 3, 4])
    block_max_noise.block_max.cache_clear()


def test_hardly_any_noise_is_not_saved():
    with pytest.raises(NotCertified, match="hardly any"):
        make_plan(YES_NO[:2], plain((2, 2), 100), method="k-norm")


def test_the_cost_is_not_that_of_independent_noise():
    """Five counts with scale 1 each would lose 5, were their noise independent."""
    plan = dx.plan(YES_NO, plain((2,) * 5))
    assert plan.cost.exact(0, 31) == 1
    assert LaplaceCost(plan.counted, plan.scales).exact(0, 31) == 10


def test_a_histogram_is_fitted_by_what_the_noise_is_not_by_its_scale():
    plan = dx.plan(YES_NO, plain((2,) * 5), n_records=320)
    assert plan.measured.noises(plan.scales) == pytest.approx([plan.expected_rmse[0] ** 2] * 10)
    noisy = [150, 170, 164, 156, 170, 150, 161, 159, 160, 160]
    assert dx.fit_histogram(plan, noisy).histogram.sum() == pytest.approx(320)
