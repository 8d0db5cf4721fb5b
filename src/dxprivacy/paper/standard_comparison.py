"""Two comparisons with standard DP: at the ε of our closest pair (strict), and at our worst-case ε (loose).

The paper uses the strict baseline. It keeps every guarantee of the metric, which favors us.  The loose baseline gives
standard DP the largest loss of our own plan as its ε.  For one query, or one scale for all, it then has exactly our
noise, but it does not protect close pairs as our plan does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.metrics import euclidean
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK
from dxprivacy.output.charts.layers import LogScale, Straight
from dxprivacy.paper.experiment import Experiment, ExperimentOutcome, ResultTable, Settings
from dxprivacy.paper.figure_drawing import FigureLine, beside, line_panel
from dxprivacy.paper.kernels import quantiles
from dxprivacy.paper.strategies_by_k import certified_scales, random_matrix
from dxprivacy.privacy import largest_loss
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.wording import digits, plural, times

SIZES = (1, 2, 3, 5, 10)
KINDS = ("uniform", "binary")
MOST = 60  # universes
_AT = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class MeasuredComparison:
    """One matrix: noise ratios to both baselines, and the loss of the loose one on the closest pair divided by ours."""

    kind: str
    queries: int
    strict: float
    loose: float
    exposed: float


def measure(settings: Settings, universe: int) -> list[MeasuredComparison]:
    """Measure all sizes and kinds in one universe."""
    metric = euclidean(settings.points(universe), epsilon_per_unit=1)
    out = []
    for kind in KINDS:
        for rows in SIZES:
            found = certified_scales(random_matrix(settings, universe, kind, rows), metric, ("optimal",))
            worst = largest_loss(LaplaceCost(found.workload, found.by_method["optimal"]))[0]
            gains = found.factor("optimal"), found.factor("optimal", worst)
            out.append(MeasuredComparison(kind, rows, *gains, worst / found.closest))
    return out


def _conclude(settings: Settings, pieces: Sequence[list[MeasuredComparison]]) -> ExperimentOutcome:  # noqa: ARG001
    rows: list[tuple[Any, ...]] = []
    by: dict[tuple[str, int, str], list[float]] = {}
    for kind in KINDS:
        for size in SIZES:
            here = [m for piece in pieces for m in piece if (m.kind, m.queries) == (kind, size)]
            for what in ("strict", "loose", "exposed"):
                by[kind, size, what] = quantiles(np.array([getattr(m, what) for m in here]), _AT)
            rows.append(
                (kind, size, len(here), *(x for what in ("strict", "loose", "exposed") for x in by[kind, size, what]))
            )
    names = ["kind", "K", "matrices"]
    names += [
        f"{what}_{q}"
        for what in ("over_strict", "over_loose", "closest_pair_exposed")
        for q in ("q25", "median", "q75")
    ]
    one, ten = by["uniform", 1, "exposed"][1], by["uniform", 10, "loose"][1]
    strict, exposed = by["uniform", 10, "strict"][1], by["uniform", 10, "exposed"][1]
    noise = "less" if ten < 1 else "more"
    title = f"Standard DP at our worst-case ε has {noise} noise, and exposes the closest pair {times(exposed)} more"
    subtitle = (
        "Geometric-mean noise of standard DP ÷ ours (optimum). Strict: at the ε of our closest pair. Loose: at the "
        f"worst-case ε of our plan. Median and middle half of {plural(len(pieces), 'universe')}"
    )
    across = Straight(1, 10, 230, grid=False, values=(1, 2, 3, 5, 10))
    numbers = [x for figures in by.values() for x in figures]
    up = LogScale.over([0.5, *numbers], 240, room=0.02, apart=26)
    panels = []
    looks: dict[str, tuple[str, str, tuple[int, ...]]] = {
        "exposed": ("loose: closest pair’s ε ÷ ours", INK, (2, 3)),
        "strict": ("strict: noise ÷ ours", ACCENT, (1, 0)),
        "loose": ("loose: noise ÷ ours", GRAY, (6, 4)),
    }
    for kind in KINDS:
        lines = []
        for what, (words, color, dash) in looks.items():
            figures = [(size, *by[kind, size, what]) for size in SIZES]
            band = [(k, low, high) for k, low, _, high in figures]
            lines.append(FigureLine(words, [(k, middle) for k, _, middle, _ in figures], color, dash, band=band))
        y_title = "times (log)" if kind == "uniform" else None
        panels.append(
            line_panel(lines, across, up, x_title="number of queries K", y_title=y_title, title=f"{kind} queries")
        )
    found = (
        f"Uniform queries: noise ratio {digits(by['uniform', 1, 'strict'][1])} to standard DP at the ε of our "
        "closest pair for "
        f"K = 1, {digits(strict)} for K = 10 (medians). Against standard DP at our worst-case ε "
        f"{digits(by['uniform', 1, 'loose'][1])} and "
        f"{digits(ten)}; but its privacy loss on the closest pair is {digits(one)} and {digits(exposed)} "
        "times as large as the policy allows."
    )
    facts = {f"{kind}_{size}_{what}": figures[1] for (kind, size, what), figures in by.items()}
    return ExperimentOutcome(ResultTable.of(names, rows), beside(title, subtitle, panels, spacing=170), found, facts)


EXPERIMENTS = (
    Experiment(
        "baselines",
        "Two baselines of standard DP",
        "Is it fair to compare with standard DP at the ε of the closest pair?",
        "",
        lambda settings: range(min(settings.universes, MOST)),
        measure,
        _conclude,
    ),
)
