"""Individual budgets: stretching and sampling, which the paper mentions, compared with our plan and standard DP.

Of 10,000 records, m are strictly protected (ε 0.1) and all others loosely (ε 1).  *By value*: there are 50 values, ten
of them strict; the distance of two records is the sum of their budgets, which is the guarantee of both baselines.
*By person*: it is public who is strict, and only the answers inside a group are protected.

Stretching and sampling give strict records less weight, so that their error grows with m; our noise does not.  Every
scale is certified.  The baselines get the least noise that our certificate allows, which is never more than the
authors' own.  Sampling also gets its best threshold for each m, although m is not known in practice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics import Metric, constant, from_matrix, per_element
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK
from dxprivacy.output.charts.layers import LogScale
from dxprivacy.paper.baselines import Baseline, sampling, stretching
from dxprivacy.paper.experiment import Experiment, ExperimentOutcome, ResultTable, Settings
from dxprivacy.paper.figure_drawing import RAMP, FigureLine, beside, line_panel
from dxprivacy.paper.kernels import quantiles
from dxprivacy.wording import digits, plural

RECORDS = 10_000
STRICT, LOOSE = Fraction(1, 10), Fraction(1)
VALUES, STRICT_VALUES = 50, 10
MANY = (1, 3, 10, 30, 100, 300, 1_000, 3_000)  # records that are strictly protected
THRESHOLDS = tuple(Fraction(k, 20) for k in (2, 3, 4, 6, 8, 12, 16, 20))
MOST = 20  # universes
SETTINGS = {
    "counts": "ten counts, by value",
    "sums": "ten sums, by value",
    "person": "one count, by person",
}
METHODS = {
    "best": "sampling, best t",
    "plain": "standard DP, strictest ε",
    "ours": "our plan",
    "stretching": "stretching",
    "sampling": "sampling, t = 1",
}


@dataclass(frozen=True)
class PersonalSetting:
    """Queries, budgets of the possible records, and the metric."""

    rows: Ints
    budgets: tuple[Fraction, ...]
    metric: Metric

    def records(self, strict: int) -> Ints:
        """Return a data set with this many strict records; each kind is spread evenly over its possible records."""
        out = np.zeros(len(self.budgets), dtype=np.int64)
        for budget, many in ((STRICT, strict), (LOOSE, RECORDS - strict)):
            alike = np.flatnonzero([e == budget for e in self.budgets])
            each, more = divmod(many, len(alike))
            out[alike] = each
            out[alike[:more]] += 1
        return out


def setting(settings: Settings, universe: int, name: str) -> PersonalSetting:
    """Return one setting with random strict values and queries; the setting by person is not random."""
    if name == "person":  # strict yes, strict no, loose yes, loose no
        inside = [[0 if i == j else e if i // 2 == j // 2 else math.inf for j in range(4)]
                  for i, e in enumerate((STRICT, STRICT, LOOSE, LOOSE))]  # fmt: skip
        return PersonalSetting(np.array([[1, 0, 1, 0]]), (STRICT, STRICT, LOOSE, LOOSE), from_matrix(inside))
    rng = settings.random(universe, 900)
    strict = set(rng.choice(VALUES, STRICT_VALUES, replace=False).tolist())
    budgets = tuple(STRICT if i in strict else LOOSE for i in range(VALUES))
    rows = rng.integers(0, 2, (10, VALUES)) if name == "counts" else rng.integers(0, 101, (10, VALUES))
    return PersonalSetting(rows, budgets, per_element(budgets))


def _mean(errors: Floats) -> float:
    # The root mean square over all answers.
    return float(np.sqrt((errors**2).mean()))


def measure(settings: Settings, universe: int) -> dict[tuple[str, str, int], float]:
    """Return root mean squared errors by setting, method and number of strict records."""
    out: dict[tuple[str, str, int], float] = {}
    for name in SETTINGS:
        here = setting(settings, universe, name)
        nearest = here.metric.closest
        if nearest is None:
            raise ValueError("some two records are protected from one another")
        strict = constant(here.metric.universe, here.metric.exact(*nearest.pair))
        fixed = {
            "plain": _mean(make_plan(here.rows, strict, method="optimal").expected_rmse),
            "ours": _mean(make_plan(here.rows, here.metric, method="optimal").expected_rmse),
        }
        tried = [sampling(here.rows, here.budgets, threshold=t, metric=here.metric) for t in THRESHOLDS]
        others: dict[str, Baseline] = {
            "stretching": stretching(here.rows, here.budgets, metric=here.metric),
            "sampling": tried[-1],
        }
        for many in MANY:
            data = here.records(many)
            out |= {(name, method, many): error for method, error in fixed.items()}
            out |= {(name, method, many): _mean(found.rmse(data)) for method, found in others.items()}
            out[name, "best", many] = min(_mean(found.rmse(data)) for found in tried)
    return out


def _crossing(errors: Sequence[float], ours: Sequence[float]) -> float:
    """Return up to how many strict records a baseline has a smaller error than ours (log-linear interpolation)."""
    if errors[0] >= ours[0]:
        return 0.0
    for k in range(1, len(MANY)):
        if errors[k] >= ours[k]:
            gaps = [math.log(errors[at] / ours[at]) for at in (k - 1, k)]
            logs = math.log(MANY[k - 1]), math.log(MANY[k])
            return math.exp(logs[0] - gaps[0] * (logs[1] - logs[0]) / (gaps[1] - gaps[0]))
    return float(MANY[-1])


def _conclude(settings: Settings, pieces: Sequence[dict[tuple[str, str, int], float]]) -> ExperimentOutcome:  # noqa: ARG001
    middle = {key: quantiles(np.array([piece[key] for piece in pieces]), (0.25, 0.5, 0.75)) for key in pieces[0]}
    lines = {(s, m): [middle[s, m, many][1] for many in MANY] for s in SETTINGS for m in METHODS}
    rows = [
        (SETTINGS[s], METHODS[m], many, len(pieces), *middle[s, m, many])
        for s in SETTINGS
        for m in METHODS
        for many in MANY
    ]
    crossings = {(s, m): _crossing(lines[s, m], lines[s, "ours"]) for s in SETTINGS for m in ("stretching", "sampling")}
    looks: dict[str, tuple[str, tuple[int, ...]]] = {
        "plain": (GRAY, (1, 0)),
        "ours": (ACCENT, (1, 0)),
        "stretching": (INK, (7, 5)),
        "sampling": (GRAY, (2, 3)),
        "best": (RAMP[1], (1, 0)),
    }
    across = LogScale(0.9, 3_500, 210)
    panels = []
    for s, title in SETTINGS.items():
        up = LogScale.over([x for m in METHODS for x in lines[s, m]], 240, room=0.03, apart=26)
        drawn = [
            FigureLine(
                METHODS[m], list(zip(MANY, lines[s, m], strict=True)), *looks[m], width=3.5 if m == "best" else 2.0
            )
            for m in METHODS
        ]
        y_title = "root mean square error (log)" if s == "counts" else None
        panels.append(line_panel(drawn, across, up, x_title="strict records (log)", y_title=y_title, title=title))
    last = MANY[-1]
    times = {(s, m): lines[s, m][-1] / lines[s, "ours"][-1] for s in SETTINGS for m in ("stretching", "sampling")}
    few, more = round(min(crossings.values())), round(max(crossings.values()))
    title = f"Stretching and sampling are better if few records are strict: up to {few} to {more} of {RECORDS:,}"
    subtitle = (
        f"{RECORDS:,} records, some strictly protected (ε 0.1), the others loosely (ε 1). Certified plans; baselines "
        f"with the least noise that keeps the same metric, bias included. Medians of {plural(len(pieces), 'universe')}"
    )
    best = min(lines[s, "best"][0] / lines[s, "ours"][0] for s in SETTINGS)
    late = [lines[s, "best"][-1] / lines[s, "ours"][-1] for s in ("person", "counts")]
    found = (
        "The baselines have a smaller error than our plan up to this many strict records: "
        + "; ".join(
            f"{SETTINGS[s]} {round(crossings[s, 'stretching'])} (stretching) and "
            f"{round(crossings[s, 'sampling'])} (sampling)"
            for s in SETTINGS
        )
        + f". With {last:,} of {RECORDS:,} they err "
        + ", ".join(f"{digits(times[s, 'stretching'])} and {digits(times[s, 'sampling'])}" for s in SETTINGS)
        + f" times as much. With one strict record, sampling at its best threshold has {digits(best)} of our error; "
        f"with {last:,} its best threshold is the smallest budget, where it keeps all records: "
        f"{digits(late[0])} of our error for one count, {digits(late[1])} for ten."
    )
    facts = {f"{s}_{m}_{many}": middle[s, m, many][1] for s, m, many in middle}
    facts |= {f"{s}_{m}_wins_up_to": x for (s, m), x in crossings.items()}
    names = ["setting", "method", "strict_records", "universes", "q25", "median", "q75"]
    return ExperimentOutcome(ResultTable.of(names, rows), beside(title, subtitle, panels, spacing=30), found, facts)


EXPERIMENTS = (
    Experiment(
        "personal",
        "Stretching and sampling",
        "Are published mechanisms for individual budgets better than our plan?",
        "mentions both (related work) without a comparison: noise fixed by the global sensitivity, and an "
        "additional error due to sampling.",
        lambda settings: range(min(settings.universes, 3 if settings.quick else MOST)),
        measure,
        _conclude,
    ),
)
