"""Fig. 1c and 1d: K queries at once; strategies 1, 2, 3 of the paper and the optimum, by the improvement factor.

Every scale is that of a certified plan.  Each matrix is drawn on a universe of its own: the paper draws 100 matrices on
one universe, so that its closest pair affects all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.linear.planning.planner import chosen, prepare
from dxprivacy.mechanisms.linear.planning.standard_quantiles import standard_sensitivities
from dxprivacy.metrics import Metric, euclidean
from dxprivacy.output.charts.chart_style import ACCENT, GRAY
from dxprivacy.output.charts.layers import Straight
from dxprivacy.paper.experiment import SIZE, Experiment, ExperimentOutcome, ResultTable, Settings, each_universe
from dxprivacy.paper.figure_drawing import FigureLine, beside, line_panel
from dxprivacy.paper.kernels import quantiles
from dxprivacy.wording import digits, plural, times

MOST_QUERIES = 10
METHODS = ("equal-split", "same-scale", "psa", "optimal")
WORDS = {
    "equal-split": "1: equal split",
    "same-scale": "2: same scale",
    "psa": "3: PSA, repaired",
    "optimal": "ours: optimum",
}
KINDS = {"uniform": "coefficients uniform in [0, 1]", "binary": "coefficients 0 or 1"}
_LOOKS: dict[str, tuple[str, tuple[int, ...]]] = {
    "equal-split": ("#9b9b9b", (2, 3)),
    "same-scale": (GRAY, (6, 4)),
    "psa": ("#4d4d4d", (8, 3, 2, 3)),
    "optimal": (ACCENT, (1, 0)),
}


def random_matrix(settings: Settings, universe: int, kind: str, rows: int) -> Floats:
    """Return K random queries, uniform or binary; they depend on the arguments only."""
    rng = settings.random(universe, 1 + rows + (100 if kind == "binary" else 0))
    return rng.uniform(0, 1, (rows, SIZE)) if kind == "uniform" else rng.integers(0, 2, (rows, SIZE)).astype(np.float64)


@dataclass(frozen=True)
class Scales:
    """Certified scales by method, joint sensitivity of standard DP, and ε of the closest pair, in the same units."""

    by_method: dict[str, Floats]
    plain: float
    closest: float
    workload: Any

    def factor(self, method: str, epsilon: float | None = None) -> float:
        """Return the geometric mean over all queries of standard DP's scale divided by ours."""
        scales = self.by_method[method]
        noisy = scales > 0
        return float(np.exp(np.mean(np.log(self.plain / (epsilon or self.closest) / scales[noisy]))))


def certified_scales(Q: Floats, metric: Metric, methods: Sequence[str] = METHODS) -> Scales:
    """Return the scales of `dx.plan(Q, metric, method=…)` for several methods; the problem is prepared once."""
    _, task = prepare(Q, metric, objective="geometric")
    found = {method: np.array(chosen(task, method).scales) for method in methods}
    near = metric.closest
    if near is None:
        raise ValueError("a universe of at least two points is needed")
    return Scales(found, standard_sensitivities(task.workload)[0], near.distance, task.workload)


def measure(settings: Settings, universe: int, kind: str) -> list[tuple[float, ...]]:
    """Return for every K the factors of all methods."""
    metric = euclidean(settings.points(universe), epsilon_per_unit=1)
    out = []
    for rows in range(1, MOST_QUERIES + 1):
        scales = certified_scales(random_matrix(settings, universe, kind, rows), metric)
        out.append(tuple(scales.factor(method) for method in METHODS))
    return out


def _conclude(settings: Settings, pieces: Sequence[list[tuple[float, ...]]], kind: str) -> ExperimentOutcome:
    factors = np.array(pieces)  # universe, K, method
    ours = METHODS.index("optimal")
    rows: list[tuple[Any, ...]] = []
    for k in range(MOST_QUERIES):
        for m, method in enumerate(METHODS):
            here, ratio = factors[:, k, m], factors[:, k, m] / factors[:, k, ours]
            low, middle, high = quantiles(here, (0.25, 0.5, 0.75))
            rows.append((k + 1, WORDS[method], len(here), float(here.mean()), low, middle, high,
                         *quantiles(ratio, (0.0, 0.25, 0.5, 0.75, 1.0))))  # fmt: skip
    names = ["K", "strategy", "matrices", "mean", "q25", "median", "q75",
             "of_ours_least", "of_ours_q25", "of_ours_median", "of_ours_q75", "of_ours_most"]  # fmt: skip
    mean = dict(zip(METHODS, factors[:, -1].mean(axis=0).tolist(), strict=True))
    over_psa = factors[:, -1, ours] / factors[:, -1, METHODS.index("psa")]
    below = int((over_psa < 1 - 1e-9).sum())
    first = plural(len(pieces), "matrix").replace("matrixes", "matrices")
    title = (
        f"Ten {kind} queries gain {times(mean['optimal'])} at the optimum, {times(mean['psa'])}, "
        f"{times(mean['same-scale'])}, {times(mean['equal-split'])} by strategies 3, 2, 1"
    )
    subtitle = (
        f"Geometric-mean improvement factor; {KINDS[kind]}; {len(pieces):,} random "
        f"{'matrix' if len(pieces) == 1 else 'matrices'} for each K, "
        "each on 50 random points of its own. Left: means, right: medians; bands: the middle half of the matrices"
    )
    found = (
        f"K = 10: mean factor {digits(mean['equal-split'])} (strategy 1), {digits(mean['same-scale'])} (2), "
        f"{digits(mean['psa'])} (3), {digits(mean['optimal'])} (optimum). Ours is below strategy 3 for {below} of "
        f"{first}; it gains "
        f"{digits(100 * float(np.median(over_psa)) - 100)} % on it in the median, "
        f"{digits(100 * float(over_psa.max()) - 100)} % at most."
    )
    facts = {
        **{f"mean_{m}": v for m, v in mean.items()},
        "ours_below_psa": below,
        "least_over_psa": float(over_psa.min()),
    }
    return ExperimentOutcome(ResultTable.of(names, rows), _picture(title, subtitle, rows, settings), found, facts)


def _picture(title: str, subtitle: str, rows: Sequence[tuple[Any, ...]], settings: Settings) -> Any:  # noqa: ARG001
    across = Straight(1, MOST_QUERIES, 250, grid=False, values=(1, 2, 4, 6, 8, 10))
    top = max(max(row[3], row[6] if row[1] == WORDS["optimal"] else 0) for row in rows)
    up = Straight(1, top * 1.04, 230, 6, ".1f")
    part = Straight(min(row[8] for row in rows) - 0.02, 1.03, 230, 6, ".1f")
    left, right = [], []
    for method in METHODS:
        own = [row for row in rows if row[1] == WORDS[method]]
        color, dash = _LOOKS[method]
        band = [(row[0], row[4], row[6]) for row in own] if method == "optimal" else []
        width = 2.4 if method == "optimal" else 2
        left.append(FigureLine(WORDS[method], [(row[0], row[3]) for row in own], color, dash, width, band))
        band = [(row[0], row[8], row[10]) for row in own] if method != "optimal" else []
        right.append(FigureLine(WORDS[method], [(row[0], row[9]) for row in own], color, dash, width, band))
    queries = "number of queries K"
    return beside(
        title,
        subtitle,
        [
            line_panel(left, across, up, x_title=queries, y_title="improvement factor", title="over standard DP"),
            line_panel(
                right, across, part, x_title=queries, y_title="factor ÷ ours", title="on the same matrix, ours = 1"
            ),
        ],
        spacing=110,
    )


def _experiment(name: str, kind: str, title: str, claim: str) -> Experiment:
    return Experiment(
        name,
        title,
        f"How should the budget be divided among K queries ({KINDS[kind]})?",
        claim,
        each_universe,
        partial(measure, kind=kind),
        partial(_conclude, kind=kind),
    )


EXPERIMENTS = (
    _experiment(
        "fig1c",
        "uniform",
        "Fig. 1c: several uniform queries",
        "Strategy 3 outperforms strategies 1 and 2; 100 matrices for each K = 1, …, 10 on one universe.",
    ),
    _experiment(
        "fig1d",
        "binary",
        "Fig. 1d: several binary queries",
        "Strategy 3 outperforms the others and does much better than for uniform queries; strategy 1 gains 1.5 at "
        "most.",
    ),
)
