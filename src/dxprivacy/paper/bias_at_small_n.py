"""Bias at small n: biased answers whose separation of records is smaller, so that less noise is needed.

The paper drops bias “since n is very large”.  With n records and one pair at distance d, bias multiplies the error by
sqrt(x / (x + 8)), x = (n d)².  The factor is 1/3 at n d = 1, and almost 1 beyond n d = 64.  Every number compares a
certified plan (`method="biased"`) with a plan without bias.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics import euclidean, line
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK, quantitative
from dxprivacy.output.charts.layers import LogScale, Straight, written
from dxprivacy.paper.experiment import SIZE, Experiment, ExperimentOutcome, ResultTable, Settings
from dxprivacy.paper.figure_drawing import FigureLine, beside, dots, line_panel
from dxprivacy.paper.kernels import quantiles
from dxprivacy.wording import digits, plural

PRODUCTS = (0.5, 1, 2, 4, 8, 16, 30, 64)  # n times the ε of the pair that limits the query
STRICT = Fraction(1, 100)  # ε of the two records: so small that noise on a grid is nearly continuous
MOST = 60  # universes
PER_UNIT = "0.001"
_AT = (0.05, 0.25, 0.5, 0.75, 0.95)


def least_ratio(product: float) -> float:
    """Return the factor by which bias multiplies the error if one pair determines the noise (docs/theorems.md).

    >>> round(least_ratio(1), 6), round(least_ratio(30), 3)
    (0.333333, 0.996)
    """
    x = product * product
    return math.sqrt(x / (x + 8))


@dataclass(frozen=True)
class MeasuredBias:
    """One query with n records: n times the ε of its limiting pair, and its error divided by that without bias."""

    wanted: float
    product: float
    ratio: float


def measure(settings: Settings, universe: int) -> list[MeasuredBias]:
    """Measure one uniform query in one universe; universe -1 is the one of two records."""
    if universe < 0:
        return [_two_records(product) for product in PRODUCTS]
    metric = euclidean(settings.points(universe), epsilon_per_unit=PER_UNIT)
    query = settings.random(universe, 700).uniform(0, 1, (1, SIZE))
    plain = make_plan(query, metric, method="same-scale", n_records=1)
    pair = plain.certificate.witness
    if pair is None:
        raise ValueError("a query that needs noise has a pair that limits it")
    critical = float(metric.exact(*pair))
    out = []
    for product in PRODUCTS:
        n = max(1, round(product / critical))
        biased = make_plan(query, metric, method="biased", n_records=n)
        out.append(MeasuredBias(product, n * critical, _ratio(biased, plain)))
    return out


def _two_records(product: float) -> MeasuredBias:
    metric, n = line(2, STRICT), round(product / float(STRICT))
    plans = [make_plan([[0, 1]], metric, method=m, n_records=n) for m in ("biased", "same-scale")]
    return MeasuredBias(product, n * float(STRICT), _ratio(*plans))


def _ratio(biased: Any, plain: Any) -> float:
    return min(1.0, float(biased.expected_rmse[0] / plain.expected_rmse[0]))


def _conclude(settings: Settings, pieces: Sequence[list[MeasuredBias]]) -> ExperimentOutcome:  # noqa: ARG001
    two, many = pieces[0], pieces[1:]
    rows: list[tuple[Any, ...]] = [("two records", m.product, 1, *(m.ratio,) * 5, least_ratio(m.product)) for m in two]
    by = {p: quantiles(np.array([m.ratio for piece in many for m in piece if m.wanted == p]), _AT) for p in PRODUCTS}
    rows += [("50 points", p, len(many), *q, least_ratio(p)) for p, q in by.items()]
    x, y = LogScale(0.48, 67, 420), Straight(0, 1.05, 250, 5, ".1f")
    steps = [0.5 * 128 ** (k / 60) for k in range(61)]
    lines = [
        FigureLine("", [(a, least_ratio(a)) for a in steps], GRAY, (6, 4)),
        FigureLine(
            "", [(p, q[2]) for p, q in by.items()], ACCENT, band=[(p, q[0], q[4]) for p, q in by.items()], dots=True
        ),
    ]
    spot = {"x": quantitative("x", scale=x.scale), "y": quantitative("y", scale=y.scale)}
    marks = dots([(m.product, m.ratio) for m in two], spot, size=45, filled=False, stroke=INK)
    words = [
        written("50 random points: median, 5 to 95 %", x.pixel(4), y.below_top(0.4), color=ACCENT),
        written("dashed: one pair decides, √(x² / (x² + 8))", x.pixel(4), y.below_top(0.32), color=GRAY),
        written("circles: plans for two records", x.pixel(4), y.below_top(0.24), color=INK),
    ]
    panel = line_panel(
        lines, x, y, x_title="x = number of records × ε of the pair that limits the query (log)",
        y_title="error ÷ error without bias", more=[marks, *words],
    )  # fmt: skip
    at = {m.wanted: m.ratio for m in two}
    title = f"Bias leaves {digits(at[1])} of the error at n·ε = 1, and saves {digits(100 - 100 * at[30])} % of it at 30"
    subtitle = (
        "Root mean square error in the worst case over all data sets of n records; certified plans for one uniform "
        "random query in each "
        f"of {plural(len(many), 'universe')}, and for two records"
    )
    worst = max(abs(m.ratio / least_ratio(m.product) - 1) for m in two)
    found = (
        f"Two records: {', '.join(f'{digits(m.ratio)} at n·ε = {digits(m.wanted)}' for m in two)}; the formula is "
        "met to "
        f"{digits(100 * worst)} %. 50 points, median: "
        f"{', '.join(f'{digits(by[p][2])} at {digits(p)}' for p in (1, 8, 30))}."
    )
    facts = {f"two_{digits(m.wanted)}": m.ratio for m in two} | {f"points_{digits(p)}": q[2] for p, q in by.items()}
    names = ["universe", "n_times_epsilon", "queries", "q05", "q25", "median", "q75", "q95", "formula"]
    return ExperimentOutcome(
        ResultTable.of(names, rows), beside(title, subtitle, [panel]), found, {**facts, "worst_off_formula": worst}
    )


EXPERIMENTS = (
    Experiment(
        "bias",
        "Bias at small n",
        "When does a biased answer, which needs less noise, have a smaller error?",
        "",
        lambda settings: range(-1, min(settings.universes, MOST)),
        measure,
        _conclude,
    ),
)
