"""Plans of tables that share margins, of boxes, and of components with and without noise that agrees."""

import itertools
import json

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow, slow
from contracts.nest_cases import foreseen
from dxprivacy.mechanisms.linear.estimators.k_norm_counts import Alone, NestedSums, Starred
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.verify import verify_data


def universe(sizes):
    values = [tuple(f"v{k}" for k in range(n)) for n in sizes]
    return dx.Universe([dx.Values(name=f"a{a}", values=v, has_other=False) for a, v in enumerate(values)])


def two_way(sizes):
    return [f"count by a{i}, a{j}" for i, j in itertools.combinations(range(len(sizes)), 2)]


def policy(sizes, epsilons):
    return dx.metrics.attributes(universe(sizes), {f"a{a}": e for a, e in enumerate(epsilons)})


class NoNoise(SystemNoise):
    def laplace(self, scales):
        return np.zeros(len(scales), dtype=np.int64)

    def together(self, family):
        return np.zeros(family.size, dtype=np.int64)


class Foreseen(NoNoise):
    def together(self, family):
        return foreseen(family, 3, 1)


def total(plan):
    return float((plan.expected_rmse**2).sum())


def verified(plan):
    return list(verify_data(json.loads(json.dumps(plan.to_dict()))))


@pytest.mark.parametrize(("epsilons", "at_most"), [((1,) * 4, 3_820), ((1, 0.5, 0.25, 0.1), 179_000)])
def test_auto_takes_them_and_the_total_is_that_of_the_lattice(epsilons, at_most):
    plan = dx.plan(two_way((4,) * 4), policy((4,) * 4, epsilons))
    assert plan.method == "k-norm"
    assert total(plan) <= at_most
    assert plan.certificate.ratio <= 1
    assert verified(plan)


SETTINGS = [
    ((3, 2, 4), (1, 0.5, 0.2), ["count by a0, a1", "count by a1, a2"]),
    ((3, 2, 4), (1, 0.5, 0.2), ["count by a0, a1, a2", "count by a1"]),
    ((2, 2, 2, 2), (0.3, 0.3, 1, 1), two_way((2,) * 4)),
    ((5, 3, 2), (1, 1, 1), ["count by a0, a1", "count by a2", "count where a0=v1 and a1=v2"]),
]


@pytest.mark.parametrize(("sizes", "epsilons", "asked"), mostly_slow(SETTINGS, slice(3, 4)))
def test_answers_are_the_truth_and_noise_that_was_stated(sizes, epsilons, asked):
    plan = dx.plan(asked, policy(sizes, epsilons), method="k-norm")
    counts = np.random.default_rng(3).integers(0, 20, plan.metric.universe.cells)
    truth = plan.workload.answer(dx.Histogram.of(plan.metric.universe, counts)).astype(float)
    assert dx.laplace(plan, counts, noise=NoNoise()) == pytest.approx(truth, abs=1e-6)
    assert not np.allclose(dx.laplace(plan, counts, noise=Foreseen()), truth)
    errors = np.array([dx.laplace(plan, counts) - truth for _ in range(400)])
    assert (errors**2).mean() == pytest.approx(total(plan) / len(truth), rel=0.2)
    assert np.abs(errors.mean(axis=0)).max() < 6 * np.sqrt((plan.expected_rmse**2).max() / 400)
    inside = np.abs(errors) <= [e.half_width for e in plan.errors]
    assert inside.mean() >= 0.945
    assert verified(plan)


def test_answers_agree_with_one_another():
    """Every margin is the same, whichever table it is summed from."""
    sizes = (3, 4, 2)
    plan = dx.plan(two_way(sizes), policy(sizes, (1, 0.5, 0.2)), method="k-norm")
    answers, margins = dx.laplace(plan, np.arange(24)), {}
    for a, b in itertools.combinations(range(3), 2):
        table, answers = np.split(answers, [sizes[a] * sizes[b]])
        table = table.reshape(sizes[a], sizes[b])
        for which, sums in ((a, table.sum(axis=1)), (b, table.sum(axis=0))):
            assert sums.sum() == pytest.approx(276)
            assert margins.setdefault(which, sums) == pytest.approx(sums, abs=1e-6)


@pytest.mark.parametrize("draws", [400, slow(3_000)])
def test_intervals_hold_for_every_cell_of_a_small_star(draws):
    """20,000 draws of one plan: every answer's 95 % interval, not only on average."""
    plan = dx.plan(["count by a0, a1", "count by a0, a2"], policy((2, 2, 3), (2, 3, 1)), method="k-norm")
    counts = np.zeros(12, dtype=np.int64)
    errors = np.array([dx.laplace(plan, counts) for _ in range(draws)])
    inside = (np.abs(errors) <= [e.half_width for e in plan.errors]).mean(axis=0)
    assert inside.min() >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / draws)


def test_components_agree_each_in_its_way():
    """Stars, a nest, and a line, whose prefixes with noise of their own are as good as it gets."""
    attributes = [dx.Values(name=n, values=tuple("abcd"), has_other=False) for n in ("x", "y", "z")]
    whole = dx.Universe([*attributes, dx.Integers(name="age", low=0, high=20)])
    metric = dx.metrics.attributes(whole, {"x": 0.5, "y": 0.5, "z": 0.5, "age": {"epsilon": 0.2, "per": 1}})
    asked = ["count by x, y", "count by z", "count by age"]
    plan = dx.plan(asked, metric, method="k-norm")
    assert {type(part) for part in plan.measured.parts} == {Starred, NestedSums, Alone}
    assert total(plan) < total(dx.plan(asked, metric, method="matrix"))
    counts = np.random.default_rng(3).integers(0, 3, whole.cells)
    truth = plan.workload.answer(dx.Histogram.of(whole, counts)).astype(float)
    assert dx.laplace(plan, counts, noise=NoNoise()) == pytest.approx(truth, abs=1e-6)
    assert verified(plan)


@pytest.mark.parametrize(("size", "every"), [(8, 4), slow(16, 8)])
def test_boxes_are_halved_where_all_records_are_alike(size, every):
    """Ranges over two attributes of sixteen values."""
    whole = dx.Universe([dx.Integers(name=n, low=0, high=size - 1, has_other=False) for n in ("x", "y")])
    ends = list(itertools.combinations(range(size + 1), 2))
    rows = np.array([[int(a <= x < b) for x in range(size)] for a, b in ends])
    asked = np.array([np.outer(one, other).ravel() for one in rows[::every] for other in rows[::every]])
    plan = dx.plan(asked, dx.metrics.constant(whole, 1), method="k-norm")
    assert "a hierarchy of boxes" in plan.about
    assert total(plan) < total(dx.plan(asked, dx.metrics.constant(whole, 1), method="matrix"))
    assert plan.certificate.ratio <= 1


def test_what_was_spent_before_is_respected():
    """Both releases together, on every pair, in fractions."""
    metric = policy((3, 2, 4), (1, 0.5, 0.2))
    first = make_plan(["count by a0", "count by a1"], metric, budget="50%")
    second = make_plan(two_way((3, 2, 4)), metric, budget="50%", spent=first.cost, method="k-norm")
    for i, j in itertools.combinations(range(24), 2):
        assert first.cost.exact(i, j) + second.cost.exact(i, j) <= metric.exact(i, j)


@pytest.mark.parametrize(
    ("asked", "metric", "what"),
    [
        (["count by a0, a1"], policy((3, 3), (1, float("inf"))), "public"),
        (["count by a0, a1"], dx.metrics.with_absent(policy((3, 3), (1, 1)), 1, max_records=100), "public number"),
        (["count by a0"], dx.metrics.with_absent(policy((3, 3), (1, 1)), 1, max_records=100), "public number"),
    ],
)
def test_refusals_have_one_reason(asked, metric, what):
    with pytest.raises(dx.errors.NotCertified, match=what):
        dx.plan(asked, metric, method="k-norm")


def test_another_loss_is_refused_by_name():
    with pytest.raises(dx.errors.DxError, match="no objective “absolute” for method “k-norm”"):
        dx.plan(two_way((3, 3)), policy((3, 3), (1, 1)), method="k-norm", objective="absolute")


def explicit(plan):
    """The rows of a plan as a matrix, in another order."""
    cells = plan.metric.universe.cells
    rows = plan.workload.columns(np.arange(cells))
    return rows[np.random.default_rng(5).permutation(len(rows))]


def test_tables_are_recognized_in_a_matrix():
    sizes = (3, 2, 4)
    metric = policy(sizes, (1, 0.5, 0.2))
    named = dx.plan([*two_way(sizes), "count by a2"], metric, method="k-norm")
    plan = dx.plan(explicit(named), metric)
    assert plan.method == "k-norm"
    assert isinstance(plan.measured.parts[0], Starred)
    assert total(plan) == pytest.approx(total(named), rel=1e-6)
    counts = np.random.default_rng(3).integers(0, 20, 24)
    truth = plan.workload.answer(dx.Histogram.of(metric.universe, counts)).astype(float)
    assert dx.laplace(plan, counts, noise=NoNoise()) == pytest.approx(truth, abs=1e-6)
    assert verified(plan)


def test_a_total_among_the_rows_of_a_matrix_is_exact():
    metric = policy((3, 2, 4), (1, 0.5, 0.2))
    rows = np.vstack([explicit(dx.plan(["count by a0, a1"], metric)), np.ones((1, 24), dtype=int)])
    plan = dx.plan(rows, metric, method="k-norm")
    assert plan.expected_rmse[-1] == 0
    assert dx.laplace(plan, np.arange(24))[-1] == 276
    assert verified(plan)


@pytest.mark.parametrize("change", mostly_slow(["two values", "twice", "a weight"], 1))
def test_what_is_no_table_is_not_taken_for_one(change):
    metric = policy((3, 3, 3), (1, 0.5, 0.2))
    rows = explicit(dx.plan(["count by a0, a1"], metric))
    if change == "twice":
        rows = np.vstack([rows, rows[:1]])
    elif change == "two values":
        rows = np.vstack([rows[1:], np.repeat([1, 1, 0], 9)[None]])
    else:
        rows = np.vstack([rows[1:], 2 * rows[:1]])
    plan = dx.plan(rows, metric)
    assert plan.method != "k-norm"
    assert plan.certificate.ratio <= 1


@pytest.mark.parametrize("size", [60, slow(400)])
def test_chains_may_be_longer_than_calls_may_be_deep(size):
    plan = dx.plan(
        np.eye(size, dtype=int),
        dx.metrics.blowfish(np.arange(size)[:, None], epsilon=1.0, threshold=3),
        method="k-norm",
    )
    assert "prefixes" in plan.about
    assert plan.certificate.ratio <= 1


@pytest.mark.parametrize("size", [20, slow(60)])
def test_nested_rows_are_tallies_of_rows_without_a_common_cell(size):
    """Sixty values that are alike: five levels of ranges, each a tally, and no row is lost."""
    rows = np.array(
        [[int(a <= c < b) for c in range(size)] for a, b in itertools.combinations(range(size + 1), 2) if b - a < size]
    )
    plan = dx.plan(rows, dx.metrics.constant(size, 1), method="k-norm")
    counted = plan.counted.columns(np.arange(size))
    assert len(plan.measured.queries.queries) <= 8
    assert len(np.unique(counted, axis=0)) == len(counted) >= size
    assert all(
        (counted[start : start + block.rows].sum(axis=0) <= 1).all()
        for block, start in zip(plan.counted.blocks, plan.counted.offsets, strict=True)
        if block.rows > 2
    )
    assert verified(plan)


@pytest.mark.parametrize("loose", [61, 300, 1000, 10**6])
@pytest.mark.parametrize("asked", [["count by a0, a1"], ["count by a0, a1", "count by a1"]])
def test_an_attribute_of_which_almost_everything_may_be_shown(asked, loose):
    """Its noise vanished in floats, and with it the numbers to divide by."""
    plan = dx.plan(asked, policy((3, 4), (1, loose)), method="k-norm")
    assert plan.certificate.ratio <= 1
    assert verified(plan)


def test_hardly_any_noise_is_left_to_others():
    with pytest.raises(dx.errors.NotCertified, match="hardly any noise"):
        dx.plan(["count by a0, a1"], policy((3, 4), (50, 50)), method="k-norm")
