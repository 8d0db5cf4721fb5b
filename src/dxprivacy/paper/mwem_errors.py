"""MWEM under d_X: a synthetic histogram for 100 region counts, under the Euclidean metric and under standard DP.

The paper states the mechanism (Algorithm 2) without an experiment.  The data are simulated: 10,000 records in a few
clusters of 50 random points.  The noise is simulated, too, by numpy from the seed: no private data is involved, and no
release uses this code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.direct.direct_by_hand import direct
from dxprivacy.mechanisms.mwem.mwem_by_hand import mwem
from dxprivacy.mechanisms.synthesis.tried_out import SimulatedNoise
from dxprivacy.metrics import Metric, constant, euclidean
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK
from dxprivacy.output.charts.layers import LogScale
from dxprivacy.paper.experiment import SIDE, Experiment, ExperimentOutcome, ResultTable, Settings
from dxprivacy.paper.figure_drawing import FigureLine, Ticked, beside, line_panel
from dxprivacy.paper.kernels import quantiles
from dxprivacy.paper.universes import closest
from dxprivacy.wording import digits, plural, times

ROUNDS = (2, 5, 10, 20, 40)
METRICS = {"euclidean": "Euclidean metric", "standard": "standard DP, ε of the closest pair"}
RECORDS, REGIONS, CLUSTERS = 10_000, 100, 5
PER_UNIT = "0.1"
MOST, MOST_QUICK = 40, 2  # universes; one takes seconds
_AT = (0.25, 0.5, 0.75)


def regions(points: Floats, rng: np.random.Generator) -> Floats:
    """Return counts of random rectangles, each with some points but not all."""
    out: list[Floats] = []
    while len(out) < REGIONS:
        low, high = np.sort(rng.uniform(0, SIDE, (2, 2)), axis=0)
        inside = ((points >= low) & (points <= high)).all(axis=1)
        if 0 < inside.sum() < len(points):
            out.append(inside.astype(np.float64))
    return np.array(out)


def clustered(points: Floats, rng: np.random.Generator) -> Ints:
    """Return a histogram of simulated records around a few centers."""
    centers = rng.uniform(0, SIDE, (CLUSTERS, 2))
    weights = np.exp(-((points[:, None] - centers) ** 2).sum(axis=2) / (2 * 15.0**2)).sum(axis=1) + 1e-3
    return np.asarray(rng.multinomial(RECORDS, weights / weights.sum()), dtype=np.int64)


@dataclass(frozen=True)
class MeasuredMwem:
    """Mean absolute errors of the regions' counts, in records: MWEM by metric and rounds, direct by metric, uniform."""

    by_rounds: dict[tuple[str, int], float]
    directly: dict[str, float]
    uniform: float


def measure(settings: Settings, universe: int) -> MeasuredMwem:
    """Measure one universe with one data set, for all numbers of rounds."""
    points = settings.points(universe)
    rng = settings.random(universe, 800)
    Q, counts = regions(points, rng), clustered(points, rng)
    euclid = euclidean(points, epsilon_per_unit=PER_UNIT)
    kinds: dict[str, Metric] = {
        "euclidean": euclid,
        "standard": constant(euclid.universe, euclid.exact(*closest(euclid).pair)),
    }
    truth = Q @ counts

    def error(histogram: Floats) -> float:
        return float(np.abs(Q @ histogram - truth).mean())

    by_rounds, directly = {}, {}
    for kind, metric in kinds.items():
        for rounds in ROUNDS:
            noise = SimulatedNoise(settings.random(universe, 801))
            by_rounds[kind, rounds] = error(mwem(Q, metric, counts, rounds=rounds, noise=noise).histogram)
        noise = SimulatedNoise(settings.random(universe, 802))
        directly[kind] = error(direct(Q, metric, counts, noise=noise).histogram)
    return MeasuredMwem(by_rounds, directly, error(np.full(len(counts), RECORDS / len(counts))))


def _conclude(settings: Settings, pieces: Sequence[MeasuredMwem]) -> ExperimentOutcome:  # noqa: ARG001
    by = {key: quantiles(np.array([m.by_rounds[key] for m in pieces]), _AT) for key in pieces[0].by_rounds}
    directly = {kind: quantiles(np.array([m.directly[kind] for m in pieces]), _AT) for kind in METRICS}
    uniform = quantiles(np.array([m.uniform for m in pieces]), _AT)
    rows: list[tuple[Any, ...]] = [("mwem", kind, rounds, len(pieces), *by[kind, rounds]) for kind, rounds in by]
    rows += [("direct", kind, None, len(pieces), *directly[kind]) for kind in METRICS]
    rows.append(("uniform histogram", None, None, len(pieces), *uniform))
    x = Ticked.at_each(ROUNDS, 270)
    y = LogScale.over([number for row in rows for number in row[4:]], 250, room=0.05, apart=30)
    panels = []
    for kind, name in METRICS.items():
        figures = [(rounds, *by[kind, rounds]) for rounds in ROUNDS]
        lines = [
            FigureLine("uniform histogram", [(t, uniform[1]) for t in ROUNDS], GRAY, (2, 3)),
            FigureLine(
                "MWEM",
                [(t, middle) for t, _, middle, _ in figures],
                ACCENT,
                width=2.4,
                band=[(t, low, high) for t, low, _, high in figures],
                dots=True,
            ),
            FigureLine("direct fit", [(t, directly[kind][1]) for t in ROUNDS], INK, (6, 4)),
        ]
        y_title = "mean absolute error, records (log)" if kind == "euclidean" else None
        panels.append(line_panel(lines, x, y, x_title="rounds T (log)", y_title=y_title, title=name))
    best = {kind: min(ROUNDS, key=lambda t, kind=kind: by[kind, t][1]) for kind in METRICS}  # type: ignore[misc]
    least = {kind: by[kind, best[kind]][1] for kind in METRICS}
    title = (
        f"MWEM at its best errs {times(least['standard'] / least['euclidean'])} less under the metric; a direct fit "
        f"{times(least['euclidean'] / directly['euclidean'][1])} less than that"
    )
    subtitle = (
        f"{REGIONS} counts of random rectangles over 50 random points, {RECORDS:,} simulated records, ε {PER_UNIT} "
        "per unit of distance; "
        f"median and middle half of {plural(len(pieces), 'universe')}. Direct fit: noisy counts of one plan, fitted "
        "by least squares"
    )
    found = (
        f"Median error of {plural(len(pieces), 'universe')}: MWEM {digits(least['euclidean'])} records under the "
        "Euclidean metric "
        f"(best T = {best['euclidean']}), {digits(least['standard'])} under standard DP (best T = {best['standard']}); "
        "direct fit "
        f"{digits(directly['euclidean'][1])} and {digits(directly['standard'][1])}; the uniform histogram "
        f"{digits(uniform[1])}."
    )
    facts = {f"mwem_{kind}_{rounds}": figures[1] for (kind, rounds), figures in by.items()}
    facts |= {f"direct_{kind}": figures[1] for kind, figures in directly.items()} | {"uniform": uniform[1]}
    names = ["method", "metric", "rounds", "universes", "error_q25", "error_median", "error_q75"]
    return ExperimentOutcome(ResultTable.of(names, rows), beside(title, subtitle, panels, spacing=130), found, facts)


EXPERIMENTS = (
    Experiment(
        "mwem",
        "MWEM under d_X",
        "Does a synthetic histogram gain from the metric, and is MWEM the way to make one?",
        "States MWEM for d_X-privacy (Algorithm 2) with a bound on its error; there is no experiment.",
        lambda settings: range(min(settings.universes, MOST_QUICK if settings.quick else MOST)),
        measure,
        _conclude,
    ),
)
