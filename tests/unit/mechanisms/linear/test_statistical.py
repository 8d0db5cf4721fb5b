"""Averages over records: the per-attribute problem exactly, the theorems of appendix C, ordinary plans at the end."""

import itertools
import json
import math
import random

import numpy as np
import pytest

import dxprivacy as dx
from contracts.oracle_brute import brute
from contracts.random_models import random_axis
from dxprivacy.errors import DxError, NotCertified, QueryError, UsageError
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import variance
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.verify import verify


def distances(metric):
    n = metric.universe.size
    return np.array([[float(metric.exact(i, j)) if i != j else 0.0 for j in range(n)] for i in range(n)])


def least_by_programme(values, d, n):
    """min t + c with |P_u - u| <= t and |P_u - P_v| <= c n d(u, v), as one linear programme over P, t and c."""
    from scipy.optimize import linprog

    m = len(values)
    rows, limits = [], []
    for u in range(m):
        for sign in (1, -1):
            row = np.zeros(m + 2)
            row[u], row[m] = sign, -1
            rows.append(row)
            limits.append(sign * values[u])
    for u, v in itertools.permutations(range(m), 2):
        if math.isfinite(d[u][v]):
            row = np.zeros(m + 2)
            row[u], row[v], row[m + 1] = 1, -1, -n * d[u][v]
            rows.append(row)
            limits.append(0)
    goal = np.zeros(m + 2)
    goal[m:] = 1
    bounds = [(None, None)] * m + [(0, None)] * 2
    return linprog(goal, A_ub=np.array(rows), b_ub=limits, bounds=bounds, method="highs").fun


def random_points(rng, size):
    """Values of one attribute and a metric that does not follow them."""
    at = np.array([[rng.uniform(0, 10), rng.uniform(0, 1)] for _ in range(size)])
    metric = dx.metrics.from_matrix(np.abs(at[:, None, :] - at[None, :, :]).max(axis=2).round(6))
    return [round(rng.uniform(-5, 5), 3) for _ in range(size)], metric


def test_the_per_attribute_problem_is_solved_exactly():
    rng = random.Random(1)
    kinds = set()
    for _ in range(30):
        values, metric = random_points(rng, rng.randint(2, 7))
        n = rng.choice([1, 2, 3, 8, 30])
        found = dx.statistical(metric, n=n, values=values)
        best = least_by_programme(values, distances(metric), n)
        assert found.error(1) == pytest.approx(best, rel=1e-5, abs=1e-6)
        kinds.add((found.c[0] > 0, found.bias[0] > 1e-6))
    assert kinds == {(True, False), (True, True), (False, True)}  # as asked, moved a little, a constant


def test_nothing_is_lost_by_treating_attributes_one_by_one():
    """For the same scales no map of whole records, each coordinate depending on all, moves the averages less."""
    from scipy.optimize import linprog

    rng = random.Random(2)
    for _ in range(12):
        sizes = (3, 2)
        axes = [random_points(rng, size) for size in sizes]
        d = [distances(metric) for _, metric in axes]
        n, cells = rng.choice([1, 2, 4]), list(itertools.product(*map(range, sizes)))
        c = [rng.uniform(0.05, 3) for _ in sizes]
        apart = [
            max(
                max(abs(v[i] - v[j]) - c[k] * n * d[k][i][j], 0) / 2
                for i, j in itertools.combinations(range(len(v)), 2)
            )
            for k, (v, _) in enumerate(axes)
        ]
        count, pairs = len(cells), list(itertools.combinations(range(len(cells)), 2))
        # Variables: P (2 x cells), the sizes of its errors (2 x cells) and differences (2 x pairs), and the bound.
        width = 4 * count + 2 * len(pairs) + 1
        rows, limits = [], []

        def add(entries, limit, rows=rows, limits=limits, width=width):
            row = np.zeros(width)
            for at, value in entries:
                row[at] += value
            rows.append(row)
            limits.append(limit)

        for at, cell in enumerate(cells):
            for k in range(2):
                value = axes[k][0][cell[k]]
                for sign in (1, -1):
                    add([(k * count + at, sign), ((2 + k) * count + at, -1)], sign * value)
            add([(2 * count + at, 1), (3 * count + at, 1), (width - 1, -1)], 0)
        for at, (i, j) in enumerate(pairs):
            sizes_at = [4 * count + k * len(pairs) + at for k in range(2)]
            for k, sign in itertools.product(range(2), (1, -1)):
                add([(k * count + i, sign), (k * count + j, -sign), (sizes_at[k], -1)], 0)
            limit = n * sum(d[k][cells[i][k]][cells[j][k]] for k in range(2))
            add([(sizes_at[k], 1 / c[k]) for k in range(2)], limit)
        goal = np.zeros(width)
        goal[-1] = 1
        bounds = [(None, None)] * (2 * count) + [(0, None)] * (width - 2 * count)
        best = linprog(goal, A_ub=np.array(rows), b_ub=limits, bounds=bounds, method="highs").fun
        assert best == pytest.approx(sum(apart), abs=1e-7)  # what the attributes need one by one


def ages(n_values=4, epsilon="0.5"):
    u = dx.Universe(
        [
            dx.Integers(name="age", low=0, high=n_values - 1, has_other=False),
            dx.Values(name="vote", values=("no", "yes"), has_other=False),
        ]
    )
    return dx.metrics.attributes(u, {"age": {"epsilon": epsilon, "per": 1}, "vote": "0.25"})


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_never_worse_than_the_best_plan_without_bias(loss):
    rng = random.Random(3)
    gained = 0
    for _ in range(15):
        axes = [random_axis(rng, f"a{k}", plain=True) for k in range(2)]
        universe = dx.Universe([a for a, _ in axes])
        metric = AttributeSum(universe, [m for _, m in axes])
        values = {a.name: [rng.randint(-9, 9) for _ in range(a.size)] for a, _ in axes}
        n = rng.choice([1, 2, 5, 40])
        found = dx.statistical(metric, n=n, values=values, objective=loss)
        plain = dx.plan(found.plan.queries, metric, n_records=n, method="optimal")
        size = max(float(np.abs(part.asked).max()) for part in found.parts)
        if loss == "absolute":
            mine, theirs = (sum(e.typical for e in p.errors) for p in (found.plan, plain))
        else:
            mine, theirs = (sum(e.rmse**2 for e in p.errors) for p in (found.plan, plain))
        assert mine <= theirs + 1e-5 * size
        gained += mine < 0.9 * theirs
        assert brute(found.plan.cost, metric) == found.plan.certificate.ratio <= 1
    assert gained > 1


def test_theorem_10_the_mapped_universe_keeps_n_times_the_distances():
    rng = random.Random(4)
    for loss in ("absolute", "squared"):
        for _ in range(10):
            values, metric = random_points(rng, 6)
            n = rng.choice([1, 2, 6])
            found = dx.statistical(metric, n=n, values=values, objective=loss)
            (part,) = found.parts
            assert part.asked[0] == pytest.approx(values)
            d = distances(metric)
            mapped = part.mapped[0]
            assert (np.abs(mapped[:, None] - mapped[None, :]) <= n * d * (1 + 1e-9)).all()
            assert np.abs(part.c * mapped - part.counted).max() <= 1e-9 or part.c[0] == 0


def worst_data(found):
    """n copies of the record whose averages the map moves most, as counts."""
    plan = found.plan
    universe = plan.metric.universe
    counts = np.zeros(universe.size, dtype=np.int64)
    mine = plan.counted.dense() * np.array([float(x) for x in plan.counted.units])[:, None]
    theirs = plan.workload.dense() * np.array([float(x) for x in plan.workload.units])[:, None]
    counts[np.square(mine - theirs).sum(axis=0).argmax()] = found.n
    return counts


def test_theorem_11_1_the_mean_square_is_bias_squared_plus_twice_the_scales_squared_and_not_twice_that():
    found = dx.statistical(ages(), n=3, values={"age": None, "vote": [-1, 1]}, objective="squared")
    plan, counts = found.plan, worst_data(found)
    assert (found.bias > 0.1).all()
    assert (found.c > 0.1).all()
    steps = [float(a.recipe.factor) for a in plan.workload.answers]
    units = [float(m / t) for m, t in zip(plan.counted.units, plan.workload.units, strict=True)]
    per = [3 if a.recipe.per_record else 1 for a in plan.workload.answers]
    true, moved = plan.workload.answer(counts), plan.counted.answer(counts)
    mean_square = 0.0
    for k in range(2):
        bias = (moved[k] * units[k] - true[k]) * steps[k] / per[k]
        mean_square += bias**2 + variance(plan.scales[k]) * (units[k] * steps[k] / per[k]) ** 2
    assert found.squared_error == pytest.approx(mean_square, rel=1e-5)
    printed = 2 * (found.moved(2) ** 2 + 2 * found.c @ found.c)
    assert mean_square < 0.51 * printed


def test_theorem_11_2_and_3_bound_the_errors_of_real_noise():
    found = dx.statistical(ages(), n=6, values={"age": None, "vote": [-1, 1]}, objective="squared")
    plan, counts = found.plan, worst_data(found)
    truth = [
        float(found.parts[k].asked[0][plan.metric.universe.along(k, np.array([counts.argmax()]))[0]]) for k in range(2)
    ]
    errors = np.array([dx.laplace(plan, counts) for _ in range(800)]) - truth
    for p in (1, 2, 3, math.inf):
        sizes = np.linalg.norm(errors, ord=p, axis=1)
        assert sizes.mean() <= found.error(p) + 5 * sizes.std() / math.sqrt(len(sizes))
    one = np.abs(errors).sum(axis=1)
    assert one.mean() >= found.moved(1)  # there is bias, and no noise makes up for it on average
    for delta in (0.05, 0.5):
        outside = (np.abs(errors).max(axis=1) > found.within(delta)).mean()
        assert outside <= delta + 5 * math.sqrt(delta / len(errors))


def test_paper_example_of_signs_is_a_constant_or_unbiased_by_the_number_of_records():
    """X = {-1, +1}^d with d_i = eps_i 1[u != v]: a constant below n eps = 2, the plain mean above."""
    u = dx.Universe([dx.Values(name=f"a{k}", values=("-1", "1"), has_other=False) for k in range(3)])
    metric = dx.metrics.attributes(u, {"a0": 1, "a1": "0.1", "a2": "0.01"})
    found = dx.statistical(metric, n=50, values={name: [-1, 1] for name in u.names})
    assert found.c == pytest.approx([2 / 50, 2 / 5, 0])
    assert found.bias == pytest.approx([0, 0, 1], abs=1e-5)
    assert found.plan.scales[2] == 0
    assert found.error(1) == pytest.approx(0.04 + 0.4 + 1, rel=1e-5)
    assert "mean a2" in str(found)
    assert "dx.laplace" in str(found)
    nothing = dx.statistical(metric, n=1, values={name: [-1, 1] for name in u.names})
    assert nothing.plan.certificate.ratio == 0  # three constants tell nobody apart
    assert dx.laplace(nothing.plan, [1, 0, 0, 0, 0, 0, 0, 0]).tolist() == [0, 0, 0]


def test_a_large_universe_is_no_matter_as_long_as_the_attributes_asked_about_are_small(tmp_path):
    towns = ", ".join(f'"t{k}"' for k in range(300))
    policy = dx.Policy.parse(
        'title = "T"\ndataset = "t"\n'
        "[attributes.age]\nintegers = [0, 39]\nepsilon = 0.01\nper = 1\nmax_epsilon = 0.05\n"
        "[attributes.children]\nintegers = [0, 7]\nepsilon = 0.5\nper = 1\n"
        f"[attributes.town]\nvalues = [{towns}]\nepsilon = 1\n"
    )
    assert policy.universe.size > 1 << 16
    found = dx.statistical(policy.metric, n=20, dataset="t", title="T")
    assert [a.label for a in found.plan.workload.answers] == ["mean age", "mean children"]
    assert found.bias[0] > 15  # so few records, so strict a policy: a constant is better than any noise
    assert found.bias[1] == 0
    assert found.plan.certificate.ratio <= 1
    found.plan.save(tmp_path / "plan.json")
    assert [check.name for check in verify(tmp_path / "plan.json")][-1] == "worst case"
    again = load_plan(json.loads((tmp_path / "plan.json").read_text()), policy.metric, dataset="t")
    assert (again.request, again.method, again.scales) == (found.plan.request, "statistical", found.plan.scales)


def test_an_average_is_released_from_a_ledger_and_verified(tmp_path):
    (tmp_path / "policy.toml").write_text(
        'title = "T"\ndataset = "t"\n[attributes.age]\nintegers = [0, 9]\ncomplete = true\n'
        "epsilon = 0.1\nper = 1\nmax_epsilon = 0.3\n"
        '[attributes.vote]\nvalues = ["no", "yes"]\nepsilon = 0.5\n'
    )
    (tmp_path / "people.csv").write_text("age,vote\n" + "3,yes\n8,no\n" * 6)
    with dx.Session(
        tmp_path / "policy.toml", tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as session:
        d = session.policy.metric
        found = dx.statistical(
            d, n=session.n_records, values={"age": None, "vote": [-1, 1]}, objective="squared", title="T", dataset="t"
        )
        assert (found.bias > 0).any()
        release = session.release(found.plan, anyway=True)
        assert [a.label for a in release.answers] == ["mean age", "mean vote"]
        assert all(a.low <= a.value <= a.high for a in release.answers)
        assert session.ledger.between({"age": 3}, {"age": 4}).spent > 0
        release.save(tmp_path / "release.json")
        assert session.release(found.plan, anyway=True).to_json() == release.to_json()
        assert session.plan("mean age", method="biased", objective="absolute", budget="10%").measured.as_asked is False
    assert [c.name for c in verify(tmp_path / "release.json", tmp_path / "ledger.db")][-1] == "budget"


def test_any_query_and_any_metric_by_the_search_with_bias():
    metric = dx.metrics.euclidean([[0, 0], [1, 0], [0, 1], [1, 1]], epsilon_per_unit="0.7")
    found = dx.statistical(metric, n=3, query=[[0, 1, 2, 3], [1, 0, 0, 1]], objective="squared")
    assert [a.label for a in found.plan.workload.answers] == ["mean q1", "mean q2"]
    (part,) = found.parts
    np.testing.assert_allclose(part.asked, [[0, 1, 2, 3], [1, 0, 0, 1]])
    mapped, d = part.mapped, distances(metric)
    apart = np.abs(mapped[:, :, None] - mapped[:, None, :]).sum(axis=0)
    assert (apart <= 3 * d * (1 + 1e-9)).all()
    plain = dx.plan([[0, 1, 2, 3], [1, 0, 0, 1]], metric, n_records=3, method="optimal")
    assert found.squared_error <= sum(e.rmse**2 for e in plain.errors) / 9 * (1 + 1e-6)
    with pytest.raises(NotCertified, match="share no pair"):
        dx.statistical(metric, n=3, query=[[0, 1, 2, 3], [1, 0, 0, 1]])
    one = dx.statistical(metric, n=3, query=[0, 1, 2, 3])
    assert one.error(1) == pytest.approx(least_by_programme([0, 1, 2, 3], d, 3), rel=1e-5)


def test_public_and_constant_averages_are_exact():
    public = dx.metrics.from_matrix([[0, math.inf], [math.inf, 0]])
    found = dx.statistical(public, n=5, values=[0, 1])
    assert (found.c.tolist(), found.bias.tolist(), found.error(1), found.within()) == ([0], [0], 0, 0)
    assert dx.laplace(found.plan, [2, 3]).tolist() == [0.6]
    assert dx.statistical(dx.metrics.line(3, 1), n=5, values=[2, 2, 2]).error(1) == 0


def test_a_share_of_the_policy_is_a_smaller_distance():
    metric = dx.metrics.line(3, 4)
    half, whole = (
        dx.statistical(metric, n=n, values=[0, 1, 2], budget=budget) for n, budget in ((10, "50%"), (5, "100%"))
    )
    assert half.c == pytest.approx(whole.c)
    assert half.plan.certificate.ratio <= half.plan.budget == 0.5


def test_attributes_without_other_numbers_get_the_middle_for_it():
    policy = dx.Policy.parse('title = "T"\ndataset = "t"\n[attributes.vote]\nvalues = ["no", "yes"]\nepsilon = 9\n')
    found = dx.statistical(policy.metric, n=100, values={"vote": [0, 1]})
    assert found.parts[0].asked.tolist() == [[0, 1, 0.5]]
    assert dx.statistical(policy.metric, n=100, values={"vote": [0, 1, 9]}).parts[0].asked.tolist() == [[0, 1, 9]]


@pytest.mark.parametrize("bad", [0, -1, 1.5, "10", None, True, math.nan, math.inf, 2**63])
def test_a_number_of_records_that_is_none_is_refused(bad):
    with pytest.raises(DxError):
        dx.statistical(ages(), n=bad)


@pytest.mark.parametrize(
    "bad",
    [
        {}, {"ages": None}, {"age": [1, 2]}, {"age": [1, 2, 3, math.nan]}, {"age": "abcd"}, {"age": 3}, [1, 2, 3, 4],
        {"age": [1, 2, 3, None]}, {"vote": None}, {"age": [0, 1, 2, 1e200]}, {"age": ["a", "b", "c", "d"]}, 7, "age",
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_refused(bad):
    with pytest.raises((UsageError, QueryError)):
        dx.statistical(ages(), n=10, values=bad)


def test_other_bad_input_is_refused():
    metric = ages()
    for more in (
        {"objective": "max"}, {"objective": None}, {"budget": 0}, {"budget": "200%"},
        {"values": {"age": None}, "query": [1] * 8},
        {"query": [[1, 2]]}, {"query": []}, {"query": "abc"}, {"query": [[math.nan] * 8]},
    ):  # fmt: skip
        with pytest.raises((UsageError, QueryError)):
            dx.statistical(metric, n=10, **more)
    with pytest.raises(UsageError, match="a metric is needed"):
        dx.statistical([[0, 1], [1, 0]], n=10)
    with pytest.raises(QueryError, match="no attribute has numbers"):
        dx.statistical(dx.metrics.per_value({"a": 1, "b": 2}), n=10)
    with pytest.raises(NotCertified, match="public number of records"):
        dx.statistical(dx.metrics.with_absent(metric, 1, max_records=50), n=10)
    found = dx.statistical(metric, n=10, values={"age": None})
    for order in (0, 0.5, -1, math.nan, "2", True, None):
        with pytest.raises(UsageError):
            found.error(order)
    for delta in (0, -1, 2, math.nan, "x", True):
        with pytest.raises(UsageError):
            found.within(delta)
