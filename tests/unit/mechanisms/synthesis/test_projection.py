"""Answers of float histograms and the way back, against the rows as one matrix."""

import random

import numpy as np
import pytest

from contracts.random_models import random_metric, random_queries
from dxprivacy.mechanisms.synthesis import histogram_answers
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.privacy.pullback import Pullback, PulledBack
from dxprivacy.queries.asking import gather, marginals
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload


def agrees_with_the_matrix(workload, seed=0):
    rows, rng = Projection(workload), np.random.default_rng(seed)
    A = workload.dense()[:, : workload.universe.cells].astype(float)
    y, r = rng.normal(size=A.shape[1]), rng.normal(size=A.shape[0])
    assert np.allclose(rows.answers(y), A @ y, rtol=1e-9, atol=1e-9 * np.abs(A).max(initial=1))
    assert np.allclose(rows.back(r), A.T @ r, rtol=1e-9, atol=1e-9 * np.abs(A).max(initial=1))
    for k in rng.integers(0, len(A), 4).tolist():
        line = rows.line(k)
        assert np.array_equal(np.flatnonzero(A[k]), line.cells)
        assert np.array_equal(A[k][line.cells], line.weights)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("seed", range(25))
def test_answers_and_the_way_back_are_those_of_the_matrix(seed, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(histogram_answers, "DENSE_ENTRIES", 0)
    rng = random.Random(seed)
    universe = random_metric(rng).universe
    agrees_with_the_matrix(random_queries(rng, universe).on(universe), seed)


def test_rows_of_a_kind_that_nobody_knows_are_taken_cell_by_cell(monkeypatch):
    monkeypatch.setattr(histogram_answers, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(histogram_answers, "_PIECE", 8)
    old, new = Universe.listed("abc"), Universe.listed("abcd")
    inner = gather("count by element").on(old).blocks[0]
    block = PulledBack(inner, Pullback(old, new, (0,), (np.array([0, 1, 2, 1]),)))
    answers = tuple(Answer(str(k), 0, Linear(k, block.unit)) for k in range(block.rows))
    agrees_with_the_matrix(Workload(new, (block,), answers))


def test_tables_share_their_sums():
    universe = Universe([Values(name=f"a{k}", values=tuple("pqr"), has_other=False) for k in range(6)])
    steps = histogram_answers._Tables(universe, {b.axes for b in marginals(3).on(universe).blocks})._steps
    from_all_cells = [axes for axes, (parent, _) in steps if len(parent) == 6]
    assert len(from_all_cells) == 4  # of twenty tables
