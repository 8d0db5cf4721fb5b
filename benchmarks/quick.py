"""The most telling ratios at small sizes, in less than a minute: `make bench-quick`, the last step of `.ci/run`.

Each is ours over a reference of the same run, in processor time; fails where one was lost (benchmarks/losses.py).
`python -m benchmarks.quick --renew` writes new baselines: where something got faster, or slower for a good reason.
"""

import functools
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.figures import processor_time, seconds
from benchmarks.losses import BASELINE, FACTOR, Measure, judge, read_baseline, write_baseline


def noise() -> float | None:
    """Discrete Laplace noise, against OpenDP: at least 40 times as fast."""
    from benchmarks.noise import SCALE, opendp_laplace
    from dxprivacy.mechanisms.sampling.discrete_laplace import discrete_laplace

    try:
        peer = opendp_laplace()
    except ImportError:
        return None
    scales, zeros = np.full(100_000, SCALE), [0] * 100_000
    discrete_laplace(scales)
    return seconds(lambda: [discrete_laplace(scales) for _ in range(2)], 5) / 2 / seconds(lambda: peer(zeros))


def tree() -> float:
    """A certified Lipschitz constant over 10,000 points, against all pairs in blocks of numpy."""
    import benchmarks.trees as trees

    points = trees.points_of(10_000)
    values = trees.smooth(points)
    trees.constant(points, values)
    # Blocks of 2 MB stay in the processor's cache.  Larger ones are given back to the system and fetched anew each
    # time, and what that takes differs threefold between two machines, and between two runs on one.
    peer = min(trees.all_pairs(points, values, 4, 1 << 18) for _ in range(3))
    return min(trees.constant(points, values) for _ in range(5)) / peer


def histogram() -> float:
    """Counting a million Parquet rows, against the bare GROUP BY."""
    import duckdb

    from benchmarks.histogram import UNIVERSE
    from dxprivacy.engines import open_source

    path = _people()

    def peer() -> None:
        with duckdb.connect() as con:
            con.execute(f"SELECT sex, age, region, count(*) FROM read_parquet('{path}') GROUP BY ALL").fetchnumpy()

    open_source(path).count(UNIVERSE)
    return seconds(lambda: open_source(path).count(UNIVERSE), 3) / seconds(peer, 3)


@functools.cache
def _people() -> Path:
    import duckdb

    from benchmarks.histogram import MAKE

    path = Path(_folder().name) / "people.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY ({MAKE.format(rows=1_000_000, more='')}) TO '{path}' (FORMAT parquet)")
    return path


@functools.cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="dxprivacy-bench-")


def start() -> float:
    """`dxp --help`, against `import numpy`."""

    def run(*command: str) -> float:
        return seconds(lambda: subprocess.run(command, capture_output=True, check=True), 4)

    return run(str(Path(sys.executable).with_name("dxp")), "--help") / run(sys.executable, "-c", "import numpy")


def ledger() -> float:
    """Reserving in a ledger with 300 entries, against 10."""
    from benchmarks.ledgers import one_more

    return one_more(300, 8) / one_more(10, 8)


def flights() -> float:
    """Planning the three queries about flights, against a fixed piece of Python and numpy."""
    from benchmarks.flights import COUNTS, ROWS, write_policy
    from dxprivacy.mechanisms.linear.planning.planner import make_plan
    from dxprivacy.policy import Policy

    metric = Policy.load(write_policy(Path(_folder().name))).metric
    return seconds(lambda: make_plan(list(COUNTS), metric, n_records=ROWS, budget="10%"), 2) / seconds(reference, 2)


def places() -> float:
    """Checking and planning over 3,300 places, against a fixed piece of Python and numpy."""
    from benchmarks.places import QUERIES, write_places
    from dxprivacy.mechanisms.linear.planning.planner import make_plan
    from dxprivacy.policy import Policy

    path = write_places(Path(_folder().name), 3_300)

    def work() -> None:
        policy = Policy.load(path)
        policy.check()
        make_plan(list(QUERIES), policy.metric, n_records=20_000)

    return seconds(work, 2) / seconds(reference, 2)


def reference() -> None:
    """Small values and small arrays, as in planning: what this machine makes of them now."""
    rng = np.random.default_rng(1)
    a = rng.random((120, 120))
    for _ in range(60):
        a = np.linalg.solve(a @ a.T + np.eye(120), a)
    table: dict[tuple[int, int], int] = {}
    for k in range(300_000):
        table[k % 977, k % 31] = table.get((k % 977, k % 31), 0) + k


MEASURES: dict[str, Measure] = {f.__name__: f for f in (noise, tree, histogram, start, ledger, flights, places)}


def main(arguments: list[str], *, measures: Mapping[str, Measure] = MEASURES, baseline: Path = BASELINE) -> int:
    """1 where a ratio was lost."""
    known, began, spent = read_baseline(baseline), time.monotonic(), processor_time()
    verdicts = []
    for name, measure in measures.items():
        verdict = judge(name, measure, None if "--renew" in arguments else known.get(name))
        verdicts.append(verdict)
        about = (measure.__doc__ or "").split("\n")[0]
        if verdict.ratio is None:
            print(f"{name:10} skipped: its peer is not installed  {about}")
            continue
        state = "LOST" if verdict.lost else "kept"
        print(f"{name:10} {verdict.ratio:8.3g}  baseline {known.get(name, float('nan')):8.3g}  {state}  {about}")
    print(f"{time.monotonic() - began:.0f} s, {processor_time() - spent:.0f} s of processor time")
    if "--renew" in arguments:
        write_baseline({**known, **{v.name: v.ratio for v in verdicts if v.ratio is not None}}, baseline)
        return 0
    for v in verdicts:
        if v.lost:
            print(f"{v.name} was lost: {v.ratio:.3g} is more than {FACTOR} × {v.baseline:.3g}, the baseline, twice")
    return int(any(v.lost for v in verdicts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
