"""The matrix mechanism on all ranges of a line: measure a strategy, and estimate the ranges by least squares.

The paper answers every query by itself.  All ranges of N values are N (N + 1) / 2 redundant queries.  Each of these
strategies determines them all: prefixes (on a line), smoothed prefixes and single values (under a threshold), or single
values (standard DP).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.optimize.strategies import StrategyProblem, choose, limit
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK
from dxprivacy.output.charts.layers import LogScale
from dxprivacy.paper.experiment import Experiment, ExperimentOutcome, ResultTable, Settings
from dxprivacy.paper.figure_drawing import FigureLine, Ticked, beside, line_panel
from dxprivacy.wording import times

SIZES = (16, 32, 64, 128, 256)
POLICIES = {"line": 1, "Blowfish, T = 4": 4, "standard DP": None}
SEARCHED = ("standard DP",)  # for the other policies, a longer search finds nothing better
QUICK_SIZE = 64


@dataclass(frozen=True)
class MeasuredRanges:
    """Total squared errors at ε = 1: of ranges measured directly at one scale, of ours, and a lower bound for any."""

    policy: str
    size: int
    asked: float
    ours: float
    limit: float
    counted: str

    def rmse(self, total: float) -> float:
        """Return the root mean squared error of a range; the whole line is left out, because it needs no noise."""
        return math.sqrt(total / (self.size * (self.size + 1) / 2 - 1))


def pairs_within(size: int, reach: int | None) -> tuple[Ints, Ints]:
    """Return the pairs of values within the threshold `reach` of a policy; all pairs for None."""
    first, second = np.triu_indices(size, 1)
    near = second - first <= (reach or size)
    return first[near], second[near]


def asked_total(size: int, first: Ints, second: Ints) -> float:
    """Return the total squared error if every range is measured directly with the same scale (strategy 2).

    The scale is the largest number of ranges that contain exactly one value of a pair i < j:
    (i + 1) (j - i) ranges contain i but not j, (j - i) (N - j) contain j but not i.

    >>> asked_total(2, np.array([0]), np.array([1]))
    16.0
    """
    changed = (second - first) * (first + 1 + size - second)
    scale = float(changed.max())
    return 2 * scale * scale * (size * (size + 1) / 2 - 1)


def problem(size: int, first: Ints, second: Ints) -> StrategyProblem:
    """Return the problem of all ranges but the whole line, with privacy loss at most 1 for every pair."""
    i = np.arange(1, size + 1)
    gram = np.minimum.outer(i, i) * (size + 1.0 - np.maximum.outer(i, i)) - 1
    return StrategyProblem(gram, first, second, np.ones(len(first)))


def measure(settings: Settings, piece: tuple[str, int]) -> MeasuredRanges:  # noqa: ARG001
    """Measure one policy and size."""
    policy, size = piece
    first, second = pairs_within(size, POLICIES[policy])
    asked = problem(size, first, second)
    found = choose(asked, effort="search" if policy in SEARCHED else "quick")
    floor = limit(asked)
    return MeasuredRanges(policy, size, asked_total(size, first, second), found.total, floor.value, found.name)


def _pieces(settings: Settings) -> list[tuple[str, int]]:
    sizes = [n for n in SIZES if not settings.quick or n <= QUICK_SIZE]
    return [(policy, n) for n in reversed(sizes) for policy in POLICIES]  # the longest first


def _conclude(settings: Settings, pieces: Sequence[MeasuredRanges]) -> ExperimentOutcome:  # noqa: ARG001
    ordered = sorted(pieces, key=lambda m: (list(POLICIES).index(m.policy), m.size))
    rows: list[tuple[Any, ...]] = [
        (m.policy, m.size, m.asked, m.ours, m.limit, m.rmse(m.asked), m.rmse(m.ours), m.rmse(m.limit), m.counted)
        for m in ordered
    ]
    sizes = sorted({m.size for m in ordered})
    y = LogScale.over([x for row in rows for x in row[5:8]], 230, room=0.05, apart=30)
    panels = []
    for k, policy in enumerate(POLICIES):
        own = [m for m in ordered if m.policy == policy]
        lines = [
            FigureLine("direct", [(m.size, m.rmse(m.asked)) for m in own], GRAY, (6, 4), dots=True),
            FigureLine("ours", [(m.size, m.rmse(m.ours)) for m in own], ACCENT, width=2.4, dots=True),
            FigureLine("bound", [(m.size, m.rmse(m.limit)) for m in own], INK, (2, 3), 1.4),
        ]
        across = Ticked.at_each(sizes, 165)
        y_title = "error of a range (log)" if not k else None
        panels.append(line_panel(lines, across, y, x_title="values N (log)", y_title=y_title, title=policy))
    line = [m for m in ordered if m.policy == "line"][-1]
    fish = [m for m in ordered if m.policy.startswith("Blowfish")][-1]
    title = (
        f"Measuring a strategy: {times(line.rmse(line.asked) / line.rmse(line.ours))} less error for ranges on a "
        "line, "
        f"{times(fish.rmse(fish.asked) / fish.rmse(fish.ours))} within T = 4"
    )
    subtitle = (
        "Root mean squared error of a range at ε = 1, continuous noise, n public. Direct: every range measured, one "
        "scale. Ours: a strategy "
        "measured, ranges by least squares. Bound: no strategy with independent Laplace noise has less"
    )
    found = " ".join(
        f"{policy}, N = {m.size}: total squared error {m.asked:.3g} direct, {m.ours:.4g} with {m.counted}, "
        f"{m.ours / m.limit:.3g} times the lower bound."
        for policy in POLICIES
        for m in [m for m in ordered if m.policy == policy][-1:]
    )
    facts = {f"{m.policy} {m.size}: {what}": getattr(m, what) for m in ordered for what in ("asked", "ours", "limit")}
    names = [
        "policy",
        "cells",
        "total_asked",
        "total_ours",
        "total_limit",
        "rmse_asked",
        "rmse_ours",
        "rmse_limit",
        "counted",
    ]
    return ExperimentOutcome(ResultTable.of(names, rows), beside(title, subtitle, panels, spacing=64), found, facts)


EXPERIMENTS = (
    Experiment(
        "ranges",
        "The matrix mechanism on ranges",
        "How much does it help to measure a strategy in place of the workload?",
        "",
        _pieces,
        measure,
        _conclude,
    ),
)
