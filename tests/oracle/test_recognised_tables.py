"""Tables found in explicit matrices: the same rows, the same order, and a plan no worse than that of the tables."""

import random

import numpy as np
import pytest
from scipy.sparse import csr_array

import dxprivacy as dx
from contracts.long_forms import slow
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.queries.asking import gather
from dxprivacy.queries.kinds.matrix_query import MatrixQuery
from dxprivacy.queries.strategy_rows import recognized
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


def universe(rng):
    return Universe(
        [
            Values(name="sex", values=("F", "M"), has_other=rng.random() < 0.5),
            Values(name="job", values=tuple("xyz"), has_other=rng.random() < 0.5),
            Integers(name="age", low=0, high=rng.randint(1, 4), has_other=rng.random() < 0.5),
            Values(name="one", values=("only",), has_other=False),
        ]
    )


def whole(stack, u):
    return stack.on(u).columns(np.arange(u.cells, dtype=np.int64))


@pytest.mark.parametrize("seed", range(30))
def test_random_stacks_of_tables_are_recognized_and_stay_the_same_rows(seed):
    rng = random.Random(seed)
    u = universe(rng)
    tables = [rng.sample(["sex", "job", "age"], rng.randint(1, 3)) for _ in range(rng.randint(1, 4))]
    rows = whole(gather(*(dx.table(*by) for by in tables)), u)
    given = gather(csr_array(rows) if seed % 2 else rows)
    found = recognized(given, u)
    assert not any(isinstance(q, MatrixQuery) for q in found.queries)
    assert np.array_equal(whole(found, u), rows)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_no_table_stays_a_matrix(seed):
    rng = random.Random(seed)
    u = universe(rng)
    rows = whole(gather(dx.table("sex", "age"), dx.table("job")), u).copy()
    change = rng.randrange(4)
    if change == 0:  # a record that counts elsewhere
        rows[rng.randrange(len(rows)), rng.randrange(u.cells)] ^= 1
    elif change == 1:  # twice as much
        rows[rng.randrange(len(rows))] *= 2
    elif change == 2:  # a row too few
        rows = np.delete(rows, rng.randrange(len(rows)), axis=0)
    else:  # in another order
        rows[[0, 1]] = rows[[1, 0]]
    found = recognized(gather(rows), u)
    assert np.array_equal(whole(found, u), rows)
    assert any(isinstance(q, MatrixQuery) for q in found.queries)


def test_labels_are_kept_and_so_is_the_matrix():
    u = universe(random.Random(1))
    rows = whole(gather(dx.table("sex")), u)
    named = gather(dx.matrix(rows, labels=["women", "men"]))
    assert recognized(named, u).queries == named.queries


@pytest.mark.parametrize(("axes", "cells"), [(3, 1e9), slow(4, 368_372)])
def test_two_way_tables_given_as_a_matrix_have_the_plan_of_the_tables(axes, cells):
    u = Universe([Integers(name=f"x{k}", low=0, high=3, has_other=False) for k in range(axes)])
    metric = dx.metrics.attributes(u, dict(list({"x0": 1, "x1": 0.5, "x2": 0.25, "x3": 0.1}.items())[:axes]))
    rows = whole(gather(dx.marginals(2)), u)
    plan, tables = make_plan(rows.astype(float), metric), make_plan(dx.marginals(2), metric)
    assert plan.method == tables.method == "k-norm"
    assert plan.expected_rmse == pytest.approx(tables.expected_rmse, rel=1e-9)
    assert float((plan.expected_rmse**2).sum()) < 0.49 * cells  # the optimum of counting the rows themselves
    others = [make_plan(queries, metric, method="matrix") for queries in (rows.astype(float), dx.marginals(2))]
    assert others[0].expected_rmse == pytest.approx(others[1].expected_rmse, rel=1e-9)
    assert float((others[0].expected_rmse ** 2).sum()) < 0.64 * cells


def test_an_attribute_whose_name_would_be_read_otherwise_is_left_alone():
    u = Universe([Values(name="age/2", values=("x", "y"), has_other=False), Integers(name="age", low=0, high=3)])
    rows = np.repeat(np.eye(2, dtype=np.int64), u.shape[1], axis=1)
    assert isinstance(recognized(gather(rows), u).queries[0], MatrixQuery)
