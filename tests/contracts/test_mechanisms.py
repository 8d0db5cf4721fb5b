"""Every mechanism passes the same checks, whatever it does."""

import pytest

import dxprivacy as dx
from contracts.check_mechanism import check_mechanism
from dxprivacy.mechanisms.direct.plan import DirectFit, plan_direct
from dxprivacy.mechanisms.mwem.plan import plan_mwem

ROWS = [[1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 2]]
COUNTS = [40, 10, 0, 5, 25, 20]
METRICS = {
    "constant": dx.metrics.constant(6, "0.7"),
    "line": dx.metrics.line(6, "0.37"),
    "places": dx.metrics.euclidean([[0, 0], [1, 0], [3, 1], [4, 4], [0, 5], [2, 2]], epsilon_per_unit="0.21"),
}
MADE = {
    "laplace": lambda d: dx.plan(ROWS, d, n_records=100, budget="30%", dataset="d"),
    "laplace, least squares": lambda d: dx.plan(ROWS, d, method="matrix", n_records=100, budget="30%", dataset="d"),
    "laplace, biased": lambda d: dx.plan(ROWS, d, method="biased", n_records=100, budget="30%", dataset="d"),
    "selection": lambda d: dx.plan_selection(
        f"most common {d.universe.names[0]}", d, n_records=100, budget="30%", dataset="d"
    ),
    "selection by permute-and-flip": lambda d: dx.plan_selection(
        f"most common {d.universe.names[0]}", d, n_records=100, flip=True
    ),
    "mwem": lambda d: plan_mwem(ROWS, d, n_records=100, rounds=2, budget="60%", dataset="d"),
    "smalldb": lambda d: dx.plan_smalldb(ROWS, d, n_records=100, alpha=0.4, budget="50%", flatten=False),
    "direct": lambda d: DirectFit(plan_direct(ROWS, d, n_records=100, budget="30%", dataset="d")),
}


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_every_mechanism_passes_the_contract(made, metric, tmp_path):
    check_mechanism(made(metric), COUNTS, tmp_path)
