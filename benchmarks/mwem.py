"""MWEM: what a round takes with a million cells, and how good histograms are against the uniform one and SmartNoise."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dxprivacy import metrics
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.direct.plan import plan_direct
from dxprivacy.mechanisms.direct.run import fit_histogram
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.mwem.run import run_mwem
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.mechanisms.spending import Unrecorded
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import count, gather, marginals
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

SMALL = Universe(
    [Values(name=n, values=("p", "q"), has_other=False) for n in "abc"]
    + [Integers(name="v", low=0, high=9, has_other=False)]
)
RECORDS = 10_000
TABLES = 5
SMARTNOISE = "smartnoise-synth==1.0.8"  # brings torch along: minutes to install
UNEQUAL = {"a": 1, "b": 8, "c": 8, "v": 8}


def run(*, long: bool = False) -> list[dict[str, object]]:
    """With `long`, SmartNoise too: 11 minutes."""
    return [*rounds(), *quality(long=long)]


def rounds() -> list[dict[str, object]]:
    """Processor seconds of a round, and of single passes between the rounds."""
    universe = Universe([Values(name=f"a{k}", values=tuple("abcdefghij"), has_other=False) for k in range(6)])
    metric = metrics.attributes(universe, dict.fromkeys(universe.names, 1))
    rng = np.random.default_rng(0)
    cells = (rng.beta(0.7, 1.5, (100_000, 6)) * 10).astype(np.int64) @ np.array(universe.strides)
    histogram = Histogram.of(universe, np.bincount(cells, minlength=universe.size))
    plan = plan_mwem(marginals(3), metric, n_records=100_000)
    some = rng.random(universe.size)
    single: list[float] = []
    starts: list[float] = []
    ends: list[float] = []

    def between(*_: int) -> None:
        ends.append(time.process_time())
        some.sum()
        single.append(time.process_time() - ends[-1])
        starts.append(time.process_time())

    run_mwem(plan, lambda: histogram, Unrecorded(metric), SystemNoise(), progress=between)
    ends.append(time.process_time())
    each = [end - start for start, end in zip(starts, ends[1:], strict=True)]
    ours, peer = float(np.mean(each[1:])), float(np.mean(single[1:]))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    what = (
        f"MWEM, 1,000,000 cells, 20,000 answers: a round after the first, against a single pass "
        f"(the first, which counts the data: {each[0]:.2g} s; memory of the whole benchmark so far: {memory:.0f} MB)"
    )
    return [{"what": what, "ours_s": ours, "peer_s": peer, "ratio": ours / peer, "target": "≤ 60"}]


def boxes(rng: np.random.Generator, number: int = 100) -> Stack:
    """Counts of random boxes of the small universe."""
    out = []
    for _ in range(number):
        where: dict[str, object] = {}
        for name in "abc":
            first, last = sorted(rng.integers(0, 2, 2).tolist())
            where[name] = ["p", "q"][first : last + 1]
        where["v"] = tuple(sorted(rng.integers(0, 10, 2).tolist()))
        out.append(count(**where))
    return gather(*out)


def random_table(rng: np.random.Generator) -> np.ndarray:
    return rng.multinomial(RECORDS, rng.dirichlet(np.full(SMALL.cells, 0.5)))


def quality(*, long: bool) -> list[dict[str, object]]:
    """Mean absolute error per answer over random tables, and the seconds that it took."""
    constant, unequal = metrics.constant(SMALL, 1), metrics.attributes(SMALL, UNEQUAL)
    errors: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    asked = []
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        queries, table = boxes(rng), random_table(rng)
        rows = queries.on(SMALL)
        truth, histogram = rows.answer(table), Histogram.of(SMALL, table)
        asked.append((rows.dense().tolist(), table.tolist()))

        def note(name: str, answers: np.ndarray, started: float, truth: np.ndarray = truth) -> None:
            errors.setdefault(name, []).append(float(np.abs(answers - truth).mean()))
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - started

        note("uniform", rows.dense() @ np.full(SMALL.cells, RECORDS / SMALL.cells), time.process_time())
        options = {
            "several passes": (constant, {}),
            "one update, averaged": (constant, {"passes": 0, "averaged": True, "again": True}),
            "unequal": (unequal, {}),
            "unequal, each on its own scale": (unequal, {"alike": False}),
        }
        for name, (metric, options_of) in options.items():
            plan = plan_mwem(queries, metric, n_records=RECORDS, **options_of)
            for _ in range(4):
                started = time.process_time()
                found = run_mwem(plan, lambda h=histogram: h, Unrecorded(metric), SystemNoise())
                note(name, found.answers(), started)
        started = time.process_time()
        plan = plan_direct(queries, constant, n_records=RECORDS)
        note("direct", fit_histogram(plan, _noisy(plan, histogram)).answers(), started)
    theirs = smartnoise(asked) if long else None
    rows_out = [
        _row("several passes over all measurements", "several passes", "uniform", "≤ 0.4", errors, seconds),
        _row(
            "one update per round, averaged (Algorithm 2)", "one update, averaged", "uniform", "none", errors, seconds
        ),
        _row("unequal budgets, against constant", "unequal", "several passes", "≤ 1", errors, seconds),
        _row(
            "unequal budgets, choosing on each row's own scale, against one scale",
            "unequal, each on its own scale",
            "unequal",
            "none",
            errors,
            seconds,
        ),
        _row("direct fit", "direct", "uniform", "≤ 0.05", errors, seconds),
    ]
    if theirs is not None:
        errors["SmartNoise"], seconds["SmartNoise"] = theirs
        rows_out.append(_row("against SmartNoise MWEM", "several passes", "SmartNoise", "≤ 1.1", errors, seconds))
    return rows_out


def _noisy(plan, histogram):
    from dxprivacy.mechanisms.linear.run import noisy_rows

    return noisy_rows(plan, histogram, SystemNoise())


def _row(
    what: str, ours: str, peer: str, target: str, errors: dict[str, list[float]], seconds: dict[str, float]
) -> dict[str, object]:
    mine, their = np.mean(errors[ours]), np.mean(errors[peer])
    text = f"MWEM, 80 cells, 100 boxes, 10,000 records, ε 1: mean error {mine:.3g} of {their:.3g}, {what}"
    return {
        "what": text.replace("MWEM", "direct") if ours == "direct" else text,
        "ours_s": seconds[ours],
        "peer_s": seconds[peer],
        "ratio": float(mine / their),
        "target": target,
    }


_THEIRS = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np, pandas as pd
from snsynth.mwem import MWEMSynthesizer
out = []
started = time.process_time()
for rows, table in json.load(open(sys.argv[1])):
    rows, table = np.array(rows), np.array(table)
    cells = np.repeat(np.arange(80), table)
    data = pd.DataFrame(np.stack(np.unravel_index(cells, (2, 2, 2, 10)), axis=1), columns=list("abcv"))
    made = MWEMSynthesizer(epsilon=1.0)
    made.fit(data, categorical_columns=list("abcv"), preprocessor_eps=0.0)
    assert made.histograms[0].data.shape == (2, 2, 2, 10)
    y = made.synthetic_histograms[0]
    y = np.asarray(y[0] if isinstance(y, tuple) else y).reshape(-1)
    truth = np.asarray(made.histograms[0].data).reshape(-1)  # in the order of their encoding
    out.append(float(np.abs(rows @ (y * (truth.sum() / y.sum())) - rows @ truth).mean()))
print(json.dumps([out, time.process_time() - started]))
"""


def smartnoise(asked: list[tuple[list, list]]) -> tuple[list[float], float] | None:
    """SmartNoise MWEM's errors on the same tables, from an environment of its own; None where it cannot be had."""
    with tempfile.TemporaryDirectory() as here:
        python = Path(here) / "venv" / "bin" / "python"
        quiet = {"capture_output": True, "check": True, "timeout": 1800}
        try:
            subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], **quiet)
            subprocess.run([str(python), "-m", "pip", "install", "-q", SMARTNOISE], **quiet)
            (Path(here) / "asked.json").write_text(json.dumps(asked))
            (Path(here) / "theirs.py").write_text(_THEIRS)
            done = subprocess.run(
                [str(python), str(Path(here) / "theirs.py"), str(Path(here) / "asked.json")],
                env={**os.environ, "PYTHONPATH": ""}, text=True, **quiet,
            )  # fmt: skip
            errors, seconds = json.loads(done.stdout.strip().splitlines()[-1])
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            print(
                f"SmartNoise is skipped: it cannot be installed or run here ({type(error).__name__})", file=sys.stderr
            )
            return None
    return errors, seconds


if __name__ == "__main__":
    for row in run(long=True):
        print(row)
