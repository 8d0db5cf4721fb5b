"""Fig. 3 and 4: Blowfish and smooth thresholds T = 2, 4, 8, 16, against standard DP with the same ε.

Blowfish is closed to a metric (shortest paths), which does not change the noise: the maximum is over its edges.  Some
universes have no pair within T = 2. Then Blowfish needs no noise, the factor is infinite and its mean diverges; so we
show medians.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.metrics import Metric, blowfish, smooth
from dxprivacy.output.charts.chart_style import GRAY
from dxprivacy.output.charts.layers import LogScale
from dxprivacy.paper.experiment import Experiment, ExperimentOutcome, ResultTable, Settings, each_universe
from dxprivacy.paper.figure_drawing import RAMP, FigureLine, FigureSpread, Ticked, beside, line_panel, spread_panel
from dxprivacy.paper.kernels import Reach, own_scales, quantiles
from dxprivacy.wording import digits, plural, times

THRESHOLDS = (2, 4, 8, 16)
KINDS = {"blowfish": "Blowfish metric", "smooth": "smooth metric"}
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
_FARTHEST = 10.0  # larger factors are drawn at the edge
_AT = (0.05, 0.25, 0.5, 0.75, 0.95)


def threshold_metric(kind: str, points: Floats, reach: int) -> Metric:
    """Return the metric at ε = 1; every scale is proportional to 1/ε."""
    return blowfish(points, 1, threshold=reach) if kind == "blowfish" else smooth(points, 1, threshold=reach)


@dataclass(frozen=True, eq=False)
class MeasuredThresholds:
    """One universe: the scales of all queries at ε = 1, for standard DP and for each metric."""

    plain: Floats
    scales: dict[tuple[str, int], Floats]

    def factors(self, kind: str, reach: int) -> Floats:
        """Return the improvement factors of all queries."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.plain / self.scales[kind, reach], dtype=np.float64)


def measure(settings: Settings, universe: int) -> MeasuredThresholds:
    """Measure all queries of one universe under all metrics."""
    points, queries = settings.points(universe), settings.uniform_queries(universe)
    scales = {
        (kind, reach): own_scales(queries, Reach.of(threshold_metric(kind, points, reach)))
        for kind in KINDS
        for reach in THRESHOLDS
    }
    return MeasuredThresholds(np.ptp(queries, axis=1), scales)


def _conclude_error(settings: Settings, pieces: Sequence[MeasuredThresholds]) -> ExperimentOutcome:
    """Conclude Fig. 3 from root mean squared errors sqrt(2) c: mean over queries, quartiles over universes."""
    at_one = {
        key: quantiles(np.array([float(np.mean(m.scales[key])) for m in pieces]) * np.sqrt(2), (0.25, 0.5, 0.75))
        for key in pieces[0].scales
    }
    plain = quantiles(np.array([float(np.mean(m.plain)) for m in pieces]) * np.sqrt(2), (0.25, 0.5, 0.75))
    rows: list[tuple[Any, ...]] = []
    for (kind, reach), figures in at_one.items():
        rows += [(kind, reach, e, *(x / e for x in figures)) for e in EPSILONS]
    rows += [("standard DP", None, e, *(x / e for x in plain)) for e in EPSILONS]
    y = LogScale.over([x for row in rows for x in row[3:]], 250, room=0.05, apart=30)
    x = Ticked.at_each(EPSILONS, 250)
    panels = []
    for kind, name in KINDS.items():
        lines = [FigureLine("standard DP", [(e, plain[1] / e) for e in EPSILONS], GRAY, (5, 4))]
        for reach, color in zip(THRESHOLDS, RAMP, strict=True):
            low, middle, high = at_one[kind, reach]
            band = [(e, max(low / e, y.low), high / e) for e in EPSILONS]
            lines.append(FigureLine(f"T = {reach}", [(e, middle / e) for e in EPSILONS], color, band=band, dots=True))
        y_title = "root mean square error (log)" if kind == "blowfish" else None
        panels.append(line_panel(lines, x, y, x_title="ε (log)", y_title=y_title, title=name))
    title = "The farther protection reaches (T), the closer to standard DP"
    subtitle = (
        f"Mean error of {settings.queries:,} uniform random queries on 50 points; median and middle half of "
        f"{plural(len(pieces), 'universe')}. "
        "Every line falls as 1/ε: only the gaps between them matter"
    )
    fewer = sum(
        bool(m.scales["smooth", t].mean() < m.scales["blowfish", t].mean() * (1 - 1e-12))
        for m in pieces
        for t in THRESHOLDS
    )
    found = (
        f"At ε = 1 the error is {digits(plain[1])} for standard DP; Blowfish "
        + ", ".join(f"{digits(at_one['blowfish', t][1])} (T = {t})" for t in THRESHOLDS)
        + "; smooth "
        + ", ".join(f"{digits(at_one['smooth', t][1])} (T = {t})" for t in THRESHOLDS)
        + f". Smooth has a smaller error in {fewer} of {len(pieces) * len(THRESHOLDS):,} universes and thresholds."
    )
    facts = {f"{kind}_{reach}": figures[1] for (kind, reach), figures in at_one.items()}
    facts |= {"plain": plain[1], "smooth_below_blowfish": fewer}
    table = ResultTable.of(["metric", "T", "epsilon", "rmse_q25", "rmse_median", "rmse_q75"], rows)
    return ExperimentOutcome(table, beside(title, subtitle, panels, spacing=100), found, facts)


def _conclude_factors(settings: Settings, pieces: Sequence[MeasuredThresholds]) -> ExperimentOutcome:
    factors = {key: np.concatenate([m.factors(*key) for m in pieces]) for key in pieces[0].scales}
    found_at = {key: quantiles(values, _AT) for key, values in factors.items()}
    exact = {key: float(np.isinf(values).mean()) for key, values in factors.items()}
    above = sum(int((factors["smooth", t] > factors["blowfish", t] * (1 + 1e-12)).sum()) for t in THRESHOLDS)
    rows = [(*key, len(factors[key]), *found_at[key], 100 * exact[key]) for key in factors]
    x = LogScale(1 / 1.03, _FARTHEST, 250)
    panels = []
    for kind, name in KINDS.items():
        bars = []
        for reach, color in zip(THRESHOLDS, RAMP, strict=True):
            q = found_at[kind, reach]
            words = f"{digits(q[2])}×" + (f"; {digits(100 * exact[kind, reach])} % exact" if exact[kind, reach] else "")
            bars.append(FigureSpread(f"T = {reach}", (q[0], q[1], q[2], q[3], q[4]), words, color))
        panels.append(spread_panel(bars, x, x_title="improvement factor (log)", title=name, step=38))
    two = {kind: found_at[kind, 2][2] for kind in KINDS}
    title = (
        f"T = 2: median factor {times(two['blowfish'])} for Blowfish, {times(two['smooth'])} for smooth; T = 16: next "
        "to 1"
    )
    subtitle = (
        f"Noise of standard DP ÷ noise under the metric, same ε; {settings.queries:,} uniform random queries in "
        f"each of {plural(len(pieces), 'universe')}. Thin: 5 to 95 %, thick: middle half, tick: median. "
        "Exact: no pair within T"
    )
    found = (
        "Median factor: "
        + "; ".join(f"{k} " + ", ".join(f"{digits(found_at[k, t][2])} (T = {t})" for t in THRESHOLDS) for k in KINDS)
        + f". Smooth is above Blowfish for {above:,} of {len(factors['smooth', 2]) * len(THRESHOLDS):,} queries. "
        "The mean diverges: "
        f"{digits(100 * exact['blowfish', 2])} % of queries need no noise under Blowfish with T = 2."
    )
    facts = {f"{kind}_{reach}": q[2] for (kind, reach), q in found_at.items()} | {"smooth_above_blowfish": above}
    names = ["metric", "T", "queries", "q05", "q25", "median", "q75", "q95", "percent_exact"]
    return ExperimentOutcome(ResultTable.of(names, rows), beside(title, subtitle, panels, spacing=120), found, facts)


EXPERIMENTS = (
    Experiment(
        "fig3",
        "Fig. 3: error under Blowfish and smooth thresholds",
        "How large is the error if only pairs within a distance T are protected?",
        "Roughly the same under both metrics; the higher T, the higher the error; smooth is higher than Blowfish.",
        each_universe,
        measure,
        _conclude_error,
    ),
    Experiment(
        "fig4",
        "Fig. 4: improvement factors under thresholds",
        "How is the gain over standard DP distributed, and does it matter how a threshold is smoothed?",
        "For high thresholds both distributions are alike; for T = 2 Blowfish is better than smooth.",
        each_universe,
        measure,
        _conclude_factors,
    ),
)
