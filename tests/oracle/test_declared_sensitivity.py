"""A sensitivity holds for the rows as they were written: exact rationals of the floats given, on no grid."""

import math
import random
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.sparse import csr_array

import dxprivacy as dx
from dxprivacy.errors import QueryError
from dxprivacy.queries.kinds.matrix_query import MatrixQuery

NORMS = {"sum": sum, "max": max}


def truth(rows, metric, norm):
    """All pairs, in fractions of what was written."""
    best = F(0)
    n = metric.universe.size
    for i in range(n):
        for j in range(i):
            apart = NORMS[norm]([abs(F(row[i]) - F(row[j])) for row in rows])
            if apart and metric.exact(i, j) != math.inf:
                best = max(best, apart / F(metric.exact(i, j)))
    return best


def near_and_far(n=3, near="0.001"):
    d = [[0 if i == j else 1e9 for j in range(n)] for i in range(n)]
    d[1][2] = d[2][1] = float(near)
    return dx.metrics.from_matrix(d)


def third_is_public(near="1"):
    far = math.inf
    return dx.metrics.from_matrix([[0, float(near), far], [float(near), 0, far], [far, far, 0]])


REPRODUCTIONS = [
    ([[0, 1e-100, 2.0**800]], third_is_public()),
    ([[0, 5e-324, 2.0**63]], third_is_public()),
    ([[-5e-324, 2.0**63]], dx.metrics.constant(2, 1)),
    ([[2.0**45, 2.0**45 + 1]], dx.metrics.constant(2, 1)),
    ([[0, 1e12 + 0.5, 1e12 + 100]], near_and_far()),
    ([[1e6, 1e6 + 1e-4]], dx.metrics.constant(2, 1)),
    ([[0, 1 / 3]], dx.metrics.constant(2, 1)),
    ([[0, F(1, 3)]], dx.metrics.constant(2, 1)),
    ([[0, Decimal("0.1"), 7]], dx.metrics.constant(3, 1)),
    ([[2**60, 2**60 + 1, 0]], dx.metrics.line(3, 1)),
    ([[1e6, 0.1, 0], [1e-6, 2e-6, 0]], dx.metrics.constant(3, 1)),
]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("rows", "metric"), REPRODUCTIONS)
def test_a_bound_is_that_of_the_rows_as_they_were_written(rows, metric, norm):
    bound = dx.sensitivity(rows, metric, norm=norm)
    assert bound.upper == bound.lower == truth(rows, metric, norm)


def test_whole_numbers_that_no_float_holds_keep_their_difference():
    rows = np.array([[2**62, 2**62 + 1]], dtype=np.int64)
    assert dx.sensitivity(rows, dx.metrics.constant(2, 1)).upper == 1


def test_a_choice_by_rows_that_do_not_fit_the_grid_gets_noise():
    chosen = dx.exponential([5, 3], np.array([[2.0**45, 2.0**45 + 1]]), dx.metrics.constant(2, 1))
    assert chosen.scale >= 1
    assert chosen.certificate.ratio == F(1) / F(chosen.scale)


@pytest.mark.parametrize("seed", range(60))
def test_random_rows_of_any_sizes_against_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    sizes = 10.0 ** rng.integers(-12, 13, int(rng.integers(1, 4)))
    offsets = 10.0 ** rng.integers(-3, 16, len(sizes))
    rows = (
        rng.normal(size=(len(sizes), n)) * sizes[:, None] + offsets[:, None] * rng.integers(0, 2, len(sizes))[:, None]
    ).tolist()
    kinds = [dx.metrics.constant(n, 0.1), dx.metrics.line(n, 0.3), dx.metrics.from_matrix(_distances(rng, n))]
    for metric in kinds:
        for norm in NORMS:
            wanted = truth(rows, metric, norm)
            for given in (rows, np.array(rows), csr_array(np.array(rows)), dx.matrix(rows)):
                bound = dx.sensitivity(given, metric, norm=norm)
                assert bound.lower <= wanted <= bound.upper
                assert bound.upper == wanted


EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, -1e-310, 1e-300, 2.0**-537, 1e-100, 0.1, 1.0, -1.0, 3.0]
EXTREMES += [2.0**40, 2.0**40 + 1, 2.0**63, -(2.0**63), 1e100, 1e250, 2.0**800, -(2.0**800)]


@pytest.mark.parametrize("seed", range(100))
def test_rows_of_the_smallest_and_the_largest_floats_against_all_pairs(seed):
    """What vanished beside a large number, when both were scaled down, was taken for 0."""
    rng = random.Random(seed)
    rows = [[rng.choice(EXTREMES) for _ in range(3)] for _ in range(rng.choice([1, 1, 2, 3]))]
    for row in rows:
        if max(map(abs, row)) < 1e-250:
            row[0] = 1.0  # one of which all are so small is refused
    for metric in (dx.metrics.constant(3, "0.1"), dx.metrics.line(3, 7), third_is_public(), third_is_public("1e140")):
        for norm in NORMS:
            bound = dx.sensitivity(rows, metric, norm=norm)
            assert bound.lower == truth(rows, metric, norm) == bound.upper


@pytest.mark.parametrize("rows", [[[0, F(1, 10**400)]], [[F(1, 3), F(1, 3) + F(1, 10**400)]], [[0, F(10**399, 7)]]])
def test_fractions_that_no_float_comes_near_are_refused(rows):
    """They counted as 0."""
    with pytest.raises(QueryError):
        dx.sensitivity(rows, dx.metrics.constant(2, 1))


def _distances(rng, n):
    """Of points on a circle, very close and very far: rational, and a metric."""
    at = np.concatenate([[0], np.cumsum(10.0 ** rng.integers(-6, 6, n - 1))])
    return np.abs(at[:, None] - at[None, :]).tolist()


def test_what_is_known_only_after_rounding_is_charged_for_it():
    asked = dx.matrix([[0.0, 1 / 3, 1e6]])
    rounded = MatrixQuery(asked.whole, asked.factor, asked.bias)  # as a plan file has it: how it was written is gone
    metric = dx.metrics.constant(3, 1)
    exact, bound = dx.sensitivity(asked, metric), dx.sensitivity(rounded, metric)
    assert bound.lower <= exact.lower == exact.upper <= bound.upper
    assert bound.upper - bound.lower <= 8 * asked.bias


@pytest.mark.parametrize("norm", NORMS)
def test_sums_of_numbers_that_were_rounded_are_bounded_from_both_sides(norm, tmp_path):
    heights = ["0.123456789012345678", "0.123456789012345679", "812345"]
    rows = "".join(f"{k},{k},0,{h}\n" for k, h in enumerate(heights))
    (tmp_path / "p.csv").write_text("id,latitude,longitude,height\n" + rows)
    (tmp_path / "p.toml").write_text(
        'title = "fine"\ndataset = "fine"\n[attributes.home]\npoints = "p.csv"\nepsilon = 1\nper = "100 km"\n'
    )
    metric = dx.Policy.load(tmp_path / "p.toml").metric
    bound = dx.sensitivity(dx.sum_of("height"), metric, norm=norm)
    values = [F(h) for h in heights]
    wanted = max(abs(values[i] - values[j]) / metric.exact(i, j) for i in range(3) for j in range(i))
    assert bound.lower <= wanted <= bound.upper
    assert bound.upper <= wanted * F(1001, 1000)


def test_a_plan_of_rounded_rows_says_by_how_much():
    plan = dx.plan([[0.0, 1 / 3, 1e6]], dx.metrics.constant(3, 1), n_records=100)
    assert "numbers are rounded to steps, by at most 0.000244 per record; errors include it" in " ".join(
        str(plan).split()
    )
    assert plan.errors[0].half_width >= 100 * float(plan.workload.answers[0].recipe.bias)


def test_rows_of_very_different_sizes_each_have_a_grid():
    plan = dx.plan([[1e6, 0.1, 0], [1e-6, 2e-6, 0]], dx.metrics.constant(3, 1), n_records=10)
    small = plan.errors[1]
    assert 0 < small.half_width < 1e-4
    assert plan.workload.dense()[1].tolist() != [0, 0, 0]
    assert [a.label for a in plan.workload.answers] == ["row 1", "row 2"]


def test_rows_of_about_one_size_share_a_grid():
    asked = dx.matrix(np.random.default_rng(1).uniform(0, 1, (20, 5)))
    assert isinstance(asked, MatrixQuery)


def test_rows_that_rounding_makes_alike_are_not_called_exact():
    plan = dx.plan([[2.0**53, 2.0**53 + 4e6]], dx.metrics.constant(2, 1), n_records=30)
    off = abs(float(dx.laplace(plan, [10, 20])[0]) - (10 * 2.0**53 + 20 * (2.0**53 + 4e6)))
    assert not plan.is_exact(plan.workload.answers[0])
    assert off <= plan.errors[0].half_width
    assert "exact" not in " ".join(str(plan).split("certified")[0].split())
