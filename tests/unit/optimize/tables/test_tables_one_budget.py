"""Tables that share one budget, and a total that has to be measured: against all pairs, absence and dense matrices."""

import itertools
import math

import numpy as np
import pytest

from contracts.dense_tables import rows_of, strategy, universe
from dxprivacy.errors import QueryError, UsageError
from dxprivacy.optimize.tables import Budgets, MeasuredTable, Reconstruction, choose
from dxprivacy.optimize.tables.table_components import build
from dxprivacy.optimize.tables.table_limits import limit
from unit.optimize.tables.test_tables_reconstruction import CASES, cumulants, variances

INF = math.inf
SHAPES = {"binary": ((2, 2, 2), 2), "mixed": ((2, 3, 4), 2), "one attribute": ((5,), 1), "three way": ((3, 2, 2, 2), 3)}
BUDGETS = {
    "plain": lambda d: Budgets((INF,) * d, together=1.5),
    "add-remove": lambda d: Budgets((INF,) * d, presence=0.7),
    "plain and presence": lambda d: Budgets((INF,) * d, together=1.0, presence=2.0),
    "attributes and presence": lambda d: Budgets(tuple(0.4 + 0.5 * a for a in range(d)), presence=0.5),
}


def columns(sizes, tables, scales):
    """One for each record, and one of noughts for nobody."""
    A = np.vstack([rows / s for rows, s in zip(strategy(sizes, tables), scales, strict=True)])
    return np.column_stack([A, np.zeros(len(A))])


def most(sizes, budgets):
    """What every two records may show, the last being absent: the closure of what the budgets say."""
    records = universe(sizes)
    n = len(records)
    d = np.full((n + 1, n + 1), INF)
    for i, j in itertools.combinations(range(n), 2):
        differ = np.flatnonzero(records[i] != records[j])
        d[i, j] = d[j, i] = min(budgets.together, sum(budgets.attributes[a] for a in differ))
    d[:n, n] = d[n, :n] = budgets.presence
    return np.minimum(d, (d[:, :, None] + d[None]).min(axis=1))


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_pair_and_no_absence_shows_more_than_it_may(shape, kind):
    sizes, order = SHAPES[shape]
    budgets = BUDGETS[kind](len(sizes))
    asked = list(itertools.combinations(range(len(sizes)), order))
    plan = choose(sizes, budgets, asked, [1] * len(asked))
    A, allowed = columns(sizes, plan.tables, plan.scales), most(sizes, budgets)
    loss = np.abs(A[:, :, None] - A[:, None, :]).sum(axis=0)
    apart = ~np.eye(len(loss), dtype=bool) & np.isfinite(allowed)
    used = loss[apart] / allowed[apart]
    assert used.max() <= 1 + 1e-9
    if shape != "binary":  # of rows with halved attributes only, no two records differ in all
        assert used.max() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_total_is_that_of_dense_least_squares(shape, kind):
    sizes, order = SHAPES[shape]
    budgets = BUDGETS[kind](len(sizes))
    asked = [*itertools.combinations(range(len(sizes)), order), (0,), ()]
    weights = [1 + k / 3 for k in range(len(asked))]
    plan = choose(sizes, budgets, asked, weights)
    A = np.vstack([rows / s for rows, s in zip(strategy(sizes, plan.tables), plan.scales, strict=True)])
    W = np.vstack([math.sqrt(w) * rows_of(sizes, t) for t, w in zip(asked, weights, strict=True)])
    if not budgets.total_is_private:
        A, W = (x - x.mean(axis=1, keepdims=True) for x in (A, W))
    assert 2 * float(((W @ np.linalg.pinv(A)) ** 2).sum()) == pytest.approx(plan.total, rel=1e-8)
    assert 0 < plan.limit <= plan.total


@pytest.mark.parametrize("case", CASES)
def test_a_private_total_is_estimated_as_by_dense_least_squares(case):
    sizes, asked, tables = CASES[case]
    tables = [*tables, MeasuredTable(())]
    spread, k4 = variances(tables), cumulants(tables)
    fast = Reconstruction(sizes, asked, tables, spread, k4, private_total=True)
    A = np.vstack(strategy(sizes, tables))
    v, fourth = (
        np.concatenate([np.full(t.rows(sizes), x) for t, x in zip(tables, y, strict=True)]) for y in (spread, k4)
    )
    back = np.linalg.pinv(A / np.sqrt(v)[:, None], rcond=1e-10) / np.sqrt(v)
    rng = np.random.default_rng(4)
    x = rng.integers(0, 9, A.shape[1])
    noisy = [rows @ x + rng.integers(-5, 6, len(rows)) for rows in strategy(sizes, tables)]
    told = zip(asked, fast.estimate(noisy), fast.variance(), fast.excess(), strict=True)
    for t, estimate, variance, excess in told:
        K = rows_of(sizes, t) @ back
        assert estimate == pytest.approx(K @ np.concatenate(noisy), abs=1e-8)
        assert K**2 @ v == pytest.approx(np.full(len(K), variance), rel=1e-9)
        assert K**4 @ fourth / variance**2 == pytest.approx(np.full(len(K), excess), rel=1e-9)


def test_no_feasible_strategy_of_any_kind_goes_below_the_limit():
    rng = np.random.default_rng(5)
    sizes, asked = (2, 3, 2), [(0, 1), (1, 2), (0, 2), (1,)]
    W = np.vstack([rows_of(sizes, t) for t in asked])
    for kind in ("plain", "add-remove", "plain and presence"):
        budgets = BUDGETS[kind](3)
        allowed = most(sizes, budgets)[:12, :12] if not budgets.total_is_private else most(sizes, budgets)
        i, j = np.nonzero(np.triu(np.isfinite(allowed), 1))
        floor, lowest = limit(sizes, budgets, asked, [1] * 4), INF
        for _ in range(300):
            extra = rng.choice([-1.0, 0, 1.0], (int(rng.integers(1, 12)), 12)) * rng.uniform(0, 1)
            A = np.column_stack([np.vstack([np.eye(12), extra]), np.zeros(12 + len(extra))])[:, : len(allowed)]
            A = A / (np.abs(A[:, i] - A[:, j]).sum(axis=0) / allowed[i, j]).max()
            A, asked_rows = A[:, :12], W
            if not budgets.total_is_private:
                A, asked_rows = (x - x.mean(axis=1, keepdims=True) for x in (A, W))
            lowest = min(lowest, 2 * float(((asked_rows @ np.linalg.pinv(A)) ** 2).sum()))
        assert floor <= choose(sizes, budgets, asked, [1] * 4).total * (1 + 1e-12) <= lowest * 1.2
        assert floor <= lowest


@pytest.mark.parametrize(
    ("sizes", "budgets", "order", "at_most"),
    [
        ((4,) * 4, Budgets((INF,) * 4, together=1), 2, 11_521),
        ((4,) * 4, Budgets((INF,) * 4, presence=1), 2, 3_073),
        ((16, 7, 15, 6, 5, 2, 42, 9, 2), Budgets((INF,) * 9, together=1), 2, 1.5391e7),
        ((16, 7, 15, 6, 5, 2, 42, 9, 2), Budgets((INF,) * 9, presence=1), 2, 3.858e6),
    ],
)
def test_known_totals_are_reached(sizes, budgets, order, at_most):
    asked = list(itertools.combinations(range(len(sizes)), order))
    assert choose(sizes, budgets, asked, [1] * len(asked)).total <= at_most


def test_one_budget_that_no_constraint_shares_is_that_of_attributes():
    sizes, asked = (3, 4), [(0, 1), (0,)]
    alone = choose(sizes, (1.0, 0.5), asked, [1, 1])
    same = choose(sizes, Budgets((1.0, 0.5)), asked, [1, 1])
    assert alone.tables == same.tables
    assert (alone.scales == same.scales).all()
    assert build(sizes, (1.0, 0.5), asked, [1, 1]).limits == {0: 1.0, 1: 0.5}


def test_the_number_of_records_alone_is_measured_where_it_is_private():
    plan = choose((3,), Budgets((INF,), presence=2), [()], [1])
    assert (plan.tables, plan.scales.tolist()) == ((MeasuredTable(()),), [0.5])
    with pytest.raises(QueryError, match="number of records"):
        Reconstruction((2,), [(0,)], [MeasuredTable((0,), (0,))], [1], private_total=True)


def test_a_total_is_given_where_it_is_public_and_only_there():
    for private, total in ((True, 5), (False, None)):
        answers = Reconstruction((2,), [(0,)], [MeasuredTable((0,))], [1], private_total=private)
        with pytest.raises(UsageError, match="total"):
            answers.estimate([[1, 2]], total)


@pytest.mark.parametrize(
    "wrong", [Budgets((1.0,), together=0), Budgets((1.0,), presence=-1), Budgets((1.0, 1.0)), Budgets(("x",))]
)
def test_budgets_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UsageError, match="budget"):
        choose((3,), wrong, [(0,)], [1])
