"""Plans: certifying by rules against all pairs, and the demo's noise against the paper's simple strategies."""

import tempfile
import time
from pathlib import Path

import numpy as np

import dxprivacy as dx
from dxprivacy.demo.demo_story import QUERIES
from dxprivacy.demo.demo_survey import RESPONDENTS, write_survey
from dxprivacy.metrics.metric import all_pairs
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.queries.asking import gather


def run() -> list[dict[str, object]]:
    return [_certify(), *_noise()]


def _certify() -> dict[str, object]:
    """All two-way tables over four attributes of seven values: 4,096 cells, 8.4 million pairs."""
    names = "abcd"
    universe = dx.Universe([dx.Values(name=n, values=tuple(map(str, range(7)))) for n in names])
    metric = dx.metrics.attributes(universe, dict.fromkeys(names, 1))
    workload = gather(*(dx.table(x, y) for x in names for y in names if x < y)).on(universe)
    cost = LaplaceCost(workload, np.ones(workload.rows))
    start = time.process_time()
    bound = dx.max_ratio(cost, metric)
    ours = time.process_time() - start
    start = time.process_time()
    worst = max(float((cost.pairwise(i, j) / metric.pairwise(i, j)).max()) for i, j in all_pairs(universe.size))
    peer = time.process_time() - start
    assert abs(worst - float(bound.upper)) < 1e-9
    what = "max_ratio of 6 tables over 4,096 cells, exact by rule, against all pairs in floats"
    return {"what": what, "ours_s": ours, "peer_s": peer, "ratio": ours / peer, "target": "≤ 0.1"}


def _noise() -> list[dict[str, object]]:
    """The demo's counts by state against strategies 1 and 2 of the paper: the median state's error."""
    with tempfile.TemporaryDirectory() as folder:
        write_survey(Path(folder) / "demo")
        policy = dx.Policy.load(Path(folder) / "demo" / "policy.toml")
    rows = []
    start = time.process_time()
    ours = _states(dx.plan([QUERIES[1]], policy.metric, n_records=RESPONDENTS))
    seconds = time.process_time() - start
    for method in ("same-scale", "equal-split"):
        start = time.process_time()
        theirs = _states(dx.plan([QUERIES[1]], policy.metric, n_records=RESPONDENTS, method=method))
        what = f"median error of the demo's states, against {method} (seconds: planning)"
        peer = time.process_time() - start
        rows.append({"what": what, "ours_s": seconds, "peer_s": peer, "ratio": ours / theirs, "target": "≤ 0.2"})
    return rows


def _states(plan: dx.Plan) -> float:
    return float(np.median([e.rmse for e in plan.errors]))


if __name__ == "__main__":
    for row in run():
        print(row)
