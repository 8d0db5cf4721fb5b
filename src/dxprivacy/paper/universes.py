"""Fig. 1a and 1b: 50 random points, 1,000 random queries, and how much the improvement factor depends on the points.

Standard DP must protect every pair like the closest one, so the closest pair determines the factor.  One universe, as
in the paper, is not representative: we draw many and show the distribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from dxprivacy.metrics import Extreme, Metric, euclidean
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK, Spec
from dxprivacy.output.charts.layers import LogScale, Straight, bordered, layer, mark, written
from dxprivacy.paper.experiment import SIDE, Experiment, ExperimentOutcome, ResultTable, Settings, each_universe
from dxprivacy.paper.figure_drawing import beside, dots, histogram, panel
from dxprivacy.paper.kernels import Reach, improvement
from dxprivacy.wording import digits, plural, times

BINS = tuple(1.1**k for k in range(45))


@dataclass(frozen=True)
class MeasuredUniverses:
    """One universe: its closest pair and the factors of its queries."""

    universe: int
    pair: tuple[int, int]
    closest: float
    mean: float
    middle: float
    least: float
    most: float
    counts: tuple[int, ...]  # queries per bin


def closest(metric: Metric) -> Extreme:
    """Return the closest pair of a universe of different points."""
    if metric.closest is None:
        raise ValueError("a universe of at least two points is needed")
    return metric.closest


def measure(settings: Settings, universe: int) -> MeasuredUniverses:
    """Measure all queries of one universe."""
    metric = euclidean(settings.points(universe), epsilon_per_unit=1)
    near = closest(metric)
    factors = improvement(settings.uniform_queries(universe), Reach.of(metric), near.distance)
    counts = np.histogram(np.minimum(factors, BINS[-1] * 0.999), BINS)[0]
    return MeasuredUniverses(
        universe, near.pair, near.distance, float(factors.mean()), float(np.median(factors)), float(factors.min()),
        float(factors.max()), tuple(int(n) for n in counts),
    )  # fmt: skip


def _conclude_points(settings: Settings, pieces: Sequence[MeasuredUniverses]) -> ExperimentOutcome:
    """Conclude Fig. 1a: show the universes with the least, the median and the largest mean factor."""
    ranked = sorted(pieces, key=lambda m: (m.mean, m.universe))
    shown = list(dict.fromkeys([0, (len(ranked) - 1) // 2, len(ranked) - 1]))
    names = (
        ("least", "median", "largest") if len(shown) == 3 else ("least", "largest") if len(shown) == 2 else ("only",)
    )
    rows: list[tuple[Any, ...]] = []
    panels = []
    for name, at in zip(names, shown, strict=True):
        m = ranked[at]
        points = settings.points(m.universe)
        rows += [(name, m.universe, k, x, y, int(k in m.pair)) for k, (x, y) in enumerate(points.tolist())]
        panels.append(_map(f"{name} mean factor: {times(m.mean)}", points.tolist(), m))
    low, high = ranked[0], ranked[-1]
    title = f"The closest pair decides: mean factor from {times(low.mean)} to {times(high.mean)}"
    subtitle = (
        f"Three of {plural(len(pieces), 'universe')} of 50 random points, distances in the square's own unit. "
        "Ringed: the closest pair, "
        "whose distance standard DP must apply to every pair"
    )
    found = (
        f"Over {plural(len(pieces), 'universe')} the closest pair is {digits(min(m.closest for m in pieces))} to "
        f"{digits(max(m.closest for m in pieces))} apart (median {digits(median(m.closest for m in pieces))}), and "
        "the mean "
        f"factor runs from {digits(low.mean)} to {digits(high.mean)}."
    )
    table = ResultTable.of(["which", "universe", "point", "x", "y", "in_closest_pair"], rows)
    return ExperimentOutcome(
        table, beside(title, subtitle, panels, spacing=34), found, {"least": low.mean, "most": high.mean}
    )


def _map(title: str, points: list[list[float]], m: MeasuredUniverses) -> Spec:
    axis = Straight(0, SIDE, 200, values=(0, 50, 100))
    pair = [points[k] for k in m.pair]
    middle = [sum(p[c] for p in pair) / 2 for c in (0, 1)]
    left = middle[0] > 0.6 * SIDE
    side = {"align": "right", "dx": -13} if left else {"align": "left", "dx": 13}
    up = {"dy": 12} if middle[1] > 0.9 * SIDE else {}
    spot = {"x": axis.channel("u", "x"), "y": axis.channel("v", "y")}
    label = [{"x": middle[0], "y": middle[1], "t": f"{digits(m.closest)} apart"}]
    layers = [
        dots(points, spot, color=GRAY),
        dots(pair, spot, color=ACCENT, size=26),
        dots([middle], spot, size=330, filled=False, stroke=ACCENT, strokeWidth=1.8),
        *bordered(label, {"fontWeight": "bold", "color": ACCENT, **side, **up}, width=5, **spot),
    ]
    return panel(title, axis.pixels, axis.pixels, layers)


def _conclude_factors(settings: Settings, pieces: Sequence[MeasuredUniverses]) -> ExperimentOutcome:
    total = sum(sum(m.counts) for m in pieces)
    fractions = [100 * sum(m.counts[k] for m in pieces) / total for k in range(len(BINS) - 1)]
    last = max(k for k, fraction in enumerate(fractions) if fraction)
    means = [m.mean for m in pieces]
    middle = median(means)
    rows: list[tuple[Any, ...]] = [
        ("universe", m.universe, m.closest, m.mean, m.middle, m.least, m.most, None, None, None) for m in pieces
    ]
    bars = list(zip(BINS[: last + 1], BINS[1 : last + 2], fractions[: last + 1], strict=True))
    rows += [("histogram", None, None, None, None, None, None, *bar) for bar in bars]
    names = ["panel", "universe", "closest_pair", "mean", "median", "least", "most", "from", "to", "percent_of_queries"]
    title = (
        f"A random query gets {times(middle)} less noise in the median universe, {times(min(means))} to "
        f"{times(max(means))} over all"
    )
    subtitle = (
        f"Noise of standard DP (ε of the closest pair) ÷ noise under the Euclidean metric; {settings.queries:,} "
        "uniform random queries "
        f"in each of {plural(len(pieces), 'universe')} of 50 points"
    )
    picture = beside(title, subtitle, [_bars(bars, settings), _by_closest(pieces, middle)], spacing=70)
    within = sorted(means)
    found = (
        f"Mean factor of a universe: median {digits(middle)}, from {digits(within[0])} to {digits(within[-1])} over "
        f"{plural(len(pieces), 'universe')}; largest single factor {digits(max(m.most for m in pieces))}."
    )
    facts = {"median_of_means": middle, "least_mean": within[0], "largest_mean": within[-1]}
    return ExperimentOutcome(ResultTable.of(names, rows), picture, found, facts)


def _bars(bars: list[tuple[float, float, float]], settings: Settings) -> Spec:
    x = LogScale(1.0, bars[-1][1] * 1.02, 280)
    top = max(n for *_, n in bars)
    y = Straight(0, top * 1.1, 230, 4, "~r")
    name = f"all {settings.universes * settings.queries:,} queries"
    drawn = histogram(bars, x, y, x_title="improvement factor (log)", y_title="% of queries")
    return panel(name, x.pixels, y.pixels, [drawn])


def _by_closest(pieces: Sequence[MeasuredUniverses], middle: float) -> Spec:
    x = LogScale.over([m.closest for m in pieces], 280, room=0.04)
    y = LogScale.over([1.0, *(m.mean for m in pieces)], 230, room=0.04, apart=26)
    x_title, y_title = "distance of the closest pair (log)", "mean improvement factor (log)"
    up = y.channel(y_title, "y")
    points = dots([(m.closest, m.mean) for m in pieces], {"x": x.channel(x_title, "x"), "y": up}, color=ACCENT)
    rule = layer([{"y": middle}], mark("rule", color=INK, strokeDash=[4, 3]), y=up)
    words = written(f"median {times(middle)}", x.pixels + 6, y.below_top(middle), baseline="middle", color=INK)
    return panel("each dot a universe", x.pixels, y.pixels, [rule, points, words])


EXPERIMENTS = (
    Experiment(
        "fig1a",
        "Fig. 1a: a universe of 50 points",
        "What does the universe look like, and does it matter which one is drawn?",
        "One universe of N = 50 points, uniform in [0, 100]², roughly evenly spread.",
        each_universe,
        measure,
        _conclude_points,
    ),
    Experiment(
        "fig1b",
        "Fig. 1b: improvement factors of single queries",
        "How much less noise than standard DP does a random linear query need under the Euclidean metric?",
        "“Significant improvement” for 1,000 random queries on one universe (a histogram; no figure is printed).",
        each_universe,
        measure,
        _conclude_factors,
    ),
)
