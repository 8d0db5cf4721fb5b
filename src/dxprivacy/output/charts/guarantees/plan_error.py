"""`plots.plan`: the expected error of each answer, next to both baselines of standard DP and the target."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.output.charts.chart_style import (
    ACCENT,
    GRAY,
    INK,
    PALE,
    TINT,
    WIDTH,
    Spec,
    clean,
    distinct,
    extent_of,
    in_rows,
    nominal,
    on,
    quantitative,
    span,
)
from dxprivacy.output.charts.layers import (
    LogScale,
    Tip,
    empty,
    heading,
    layer,
    mark,
    pictured,
    several,
    tips,
    view,
    with_values,
)
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.releases.answer_tables import names
from dxprivacy.universe.answers import ErrorOf
from dxprivacy.wording import digits, plural, times

# -- A plan's errors as rows of a picture: one row per answer, or per group of answers ---------------------------------
# A panel has few rows for any number of answers: answers with equal errors share a row. If that is not enough, all but
# the largest errors share a row with their least, median and largest error.  Nothing is averaged.


ROWS = 36
_ALONE = 24  # rows, if there is one panel only
_QUERIES = 6  # if more queries have several answers, each query gets one row
PANELS = 10


@dataclass(frozen=True)
class ErrorRow:
    """95 % half-widths of one answer or several, and those of standard DP; None if there is no comparable value."""

    label: str
    least: float
    middle: float
    most: float
    strict: float | None
    loose: float | None
    target: float | None
    least_gain: float
    most_gain: float
    silent: bool  # noise-free, or the expected noise is 0
    count: int = 1


@dataclass(frozen=True)
class ErrorPanel:
    """Rows on one axis: of one query, or of several queries for one number each."""

    kind: str
    unit: str
    name: str
    rows: tuple[ErrorRow, ...]


def answer_rows(plan: Plan) -> list[ErrorRow]:
    """Return one row for each answer, in the plan's order."""
    strict, loose = (_half_widths(errors) for errors in (plan.baselines.strict, plan.baselines.worst))
    gains = plan.improvement.tolist()
    called = names(plan.workload.answers)
    return [
        ErrorRow(
            clean(called[k]),
            error.half_width,
            error.half_width,
            error.half_width,
            strict[k],
            loose[k],
            None if answer.within is None else float(answer.within),
            gains[k],
            gains[k],
            silent=error.rmse == 0,
        )
        for k, (answer, error) in enumerate(zip(plan.workload.answers, plan.errors, strict=True))
    ]


def panels(plan: Plan, rows: Sequence[ErrorRow]) -> list[ErrorPanel]:
    """Return panels with few rows for all answers; panels of one kind and unit follow each other."""
    members: dict[int, list[ErrorRow]] = {}
    units: dict[int, str] = {}
    for answer, row in zip(plan.workload.answers, rows, strict=True):
        members.setdefault(answer.query, []).append(row)
        units.setdefault(answer.query, answer.unit)
    families: dict[tuple[str, str], list[int]] = {}
    for query in members:
        families.setdefault((_kind(plan, query), units[query]), []).append(query)
    titles = {q: clean(plan.queries.queries[q].name, 60) for q in members}
    several = [q for q in members if len(members[q]) > 1]
    out: list[ErrorPanel] = []
    for (kind, unit), queries in families.items():
        single = [q for q in queries if q not in several or len(several) > _QUERIES]
        ones = [r for q in single for r in ([_together(members[q], titles[q])] if q in several else members[q])]
        if ones:
            out.append(ErrorPanel(kind, unit, "", tuple(ones)))
        out += [ErrorPanel(kind, unit, titles[q], tuple(members[q])) for q in queries if q not in single]
    room = max(6, ROWS // len(out))
    return [replace(panel, rows=_fitted(panel.rows, room if len(out) > 1 else _ALONE)) for panel in out]


def _half_widths(errors: Sequence[ErrorOf | None]) -> list[float | None]:
    """Return the half-widths of standard DP; None if they are 0 or infinite."""
    return [e.half_width if e is not None and 0 < e.half_width < math.inf else None for e in errors]


def _kind(plan: Plan, query: int) -> str:
    # Sums and means have axes of their own; all other answers count records.
    return plan.queries.queries[query].measure


def _fitted(rows: Sequence[ErrorRow], room: int) -> tuple[ErrorRow, ...]:
    """Return at most `room` rows, by increasing error."""
    ordered = sorted(rows, key=lambda r: r.middle)
    if len(ordered) > room:
        alike: dict[tuple[object, ...], list[ErrorRow]] = {}
        for row in ordered:
            alike.setdefault((row.middle, row.strict, row.loose, row.target, row.silent), []).append(row)
        ordered = [_together(group, _several(group, len(rows))) for group in alike.values()]
    if len(ordered) > room:
        easy, hard = ordered[: len(ordered) - room + 1], ordered[len(ordered) - room + 1 :]
        ordered = [_together(easy, f"the other {sum(r.count for r in easy):,}"), *hard]
    labels = distinct(r.label for r in ordered)
    return tuple(replace(row, label=label) for row, label in zip(ordered, labels, strict=True))


def _several(group: Sequence[ErrorRow], whole: int) -> str:
    count = sum(r.count for r in group)
    if count == 1:
        return group[0].label
    return f"all {count:,}" if len(group) == whole else f"{clean(group[0].label, 26)} and {count - 1:,} more"


def _together(group: Sequence[ErrorRow], label: str) -> ErrorRow:
    """Merge rows; the median is the error of a real answer."""
    if len(group) == 1:
        return replace(group[0], label=label)
    finite = [r for r in group if math.isfinite(r.least_gain)] or list(group)
    return ErrorRow(
        label,
        min(r.least for r in group),
        median_low(r.middle for r in group for _ in range(r.count)),
        max(r.most for r in group),
        _middle([r.strict for r in group]),
        _middle([r.loose for r in group]),
        _middle([r.target for r in group]),
        min(r.least_gain for r in finite),
        max(r.most_gain for r in finite),
        all(r.silent for r in group),
        sum(r.count for r in group),
    )


def _middle(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return median_low(known) if known else None


# -- `plots.plan` ------------------------------------------------------------------------------------------------------


STEP = 20
_Number = Callable[[ErrorRow], float | None]
_Text = Callable[[ErrorRow], str]


def require_plan(plan: object) -> None:
    """Raise a UsageError unless this is a plan."""
    require(plan, Plan, "a plan", hints=["dx.plots.plan(session.plan(…))", "dx.plan(Q, d)"])


def plan_picture(plan: Plan) -> Picture:
    """Draw the error of each answer, both baselines and the targets. Uses public facts; nothing is spent.

    >>> import dxprivacy as dx
    >>> dx.plots.plan(dx.plan([[1, 1, 0, 0]], dx.metrics.line(4, 1)))
    Picture('As much noise as standard DP at the strictest ε')
    """
    require_plan(plan)
    rows = answer_rows(plan)
    every = panels(plan, rows)
    shown = every[:PANELS]
    logs: dict[tuple[str, str], LogScale] = {}
    for panel in shown:
        family = [r for p in shown if (p.kind, p.unit) == (panel.kind, panel.unit) for r in p.rows]
        logs.setdefault((panel.kind, panel.unit), LogScale.over(_numbers(family), WIDTH))
    views = []
    extent = extent_of(row.label for panel in shown for row in panel.rows)
    for k, panel in enumerate(shown):
        log = logs[panel.kind, panel.unit]
        following = shown[k + 1] if k + 1 < len(shown) else None
        last = following is None or (following.kind, following.unit) != (panel.kind, panel.unit)
        labels = _tips(plan, panel.rows, log) if not k else []
        views.append(_view(panel, log, _axis_title(plan, panel) if last else None, labels, extent))
    title, reading = _finding(rows), _reading(plan, shown, len(every) - len(shown))
    return several(views, title, reading, description="Error per query", spacing=22)


def _numbers(rows: Sequence[ErrorRow]) -> list[float]:
    return [x for r in rows for x in (r.least, r.middle, r.most, r.strict, r.loose, r.target) if x]


def _view(panel: ErrorPanel, log: LogScale, axis_title: str | None, labels: list[Tip], extent: float) -> Spec:
    """Return one panel: rows from top to bottom, every kind of mark in its own layer."""
    rows = panel.rows
    noisy = [r for r in rows if not r.silent]
    down = in_rows([r.label for r in rows], extent)
    across = quantitative("x", scale=log.scale, axis=log.axis(axis_title) if _numbers(rows) else None)

    def marks(
        of: Sequence[ErrorRow], look: Spec, x: _Number, x2: _Number | None = None, t: _Text | None = None
    ) -> Spec:
        values: list[Spec] = [{"q": r.label, "x": log.at(x(r) or 0)} for r in of]
        more: Spec = {}
        for value, row in zip(values, of, strict=True):
            if x2 is not None:
                value["x2"], more["x2"] = log.at(x2(row) or 0), {"field": "x2"}
            if t is not None:
                value["t"], more["text"] = t(row), nominal("t")
        return layer(values, look, y=down, x=across, **more)

    worst_case = mark("tick", orient="vertical", size=STEP, thickness=5, color=PALE, opacity=1)
    asked = mark("tick", orient="vertical", size=STEP - 6, thickness=1.5, color=INK, opacity=1)
    way = mark("rule", color=PALE, strokeWidth=1.2)
    spread = mark("rule", color=TINT, strokeWidth=8, opacity=1)
    as_strict = mark("point", filled=True, fill="white", stroke=GRAY, size=55, strokeWidth=1.6)
    ours = mark("circle", color=ACCENT, size=75, opacity=1)
    gain = mark("text", align="left", dx=9, color=GRAY)
    nothing = mark("text", align="left", dx=2, color=ACCENT, fontWeight="bold")
    layers = [
        marks([r for r in rows if r.loose], worst_case, lambda r: r.loose),
        marks([r for r in rows if r.target], asked, lambda r: r.target),
        marks([r for r in noisy if r.strict], way, lambda r: r.middle, x2=lambda r: r.strict),
        marks([r for r in noisy if r.most > r.least], spread, lambda r: r.least, x2=lambda r: r.most),
        marks([r for r in rows if r.strict], as_strict, lambda r: r.strict),
        marks([r for r in noisy if r.middle > 0], ours, lambda r: r.middle),
        marks(rows, gain, lambda r: max([r.most, r.strict or 0, r.target or 0, r.loose or 0]), t=_gain),
        marks([r for r in rows if r.middle <= 0], nothing, lambda _: log.low, t=_silence),
    ]
    drawn = view(WIDTH, STEP * len(rows), [*with_values(layers), *tips(labels, WIDTH)])
    return {**drawn, **heading(panel.name)}


def _silence(row: ErrorRow) -> str:
    return "no noise" if row.silent else "± 0"


def _gain(row: ErrorRow) -> str:
    """Return the noise ratio to standard DP at the strictest ε; empty if there is none."""
    if row.silent or not row.strict or not math.isfinite(row.least_gain):
        return ""
    low, high = times(row.least_gain), times(row.most_gain)
    return low if low == high else f"{low[:-1]} – {high}"


def _tips(plan: Plan, rows: Sequence[ErrorRow], log: LogScale) -> list[Tip]:
    """Return the labels of the marks, above the first row."""
    row = next((r for r in rows if r.strict or r.loose or r.target), None)
    if row is None:
        return []
    epsilon = _only_epsilon(plan)
    out = []
    if row.target:
        out.append(Tip("target", log.pixel(row.target), INK))
    same = row.loose == row.strict and digits(plan.worst_epsilon) == epsilon
    if row.loose and not same:
        out.append(Tip(f"standard DP, ε {digits(plan.worst_epsilon)}", log.pixel(row.loose), GRAY))
    if row.strict:
        out.append(
            Tip(
                f"standard DP, ε {epsilon}" if epsilon else "standard DP at the strictest ε",
                log.pixel(row.strict),
                GRAY,
            )
        )
    return out


def _only_epsilon(plan: Plan) -> str:
    """Return the ε of standard DP at the strictest ε if it is the same for all queries, otherwise an empty string."""
    known = {digits(q.epsilon) for q in plan.baselines.queries if math.isfinite(q.epsilon)}
    return known.pop() if len(known) == 1 else ""


def _axis_title(plan: Plan, panel: ErrorPanel) -> str:
    what = panel.unit
    if panel.kind == "count" and not what:
        what = f"records of {plan.records:,}" if plan.records and plan.metric.universe.absent is None else "records"
    if panel.kind == "sum":
        what = f"{what} in the sum".strip()
    return f"± {clean(what)}, 95 % (log)" if what else "± 95 % (log)"


def _finding(rows: Sequence[ErrorRow]) -> str:
    noisy = [r for r in rows if not r.silent]
    if not noisy:
        return "No noise: the answers are public, the same for all records, or hardly limited by the policy"
    asked = [r for r in rows if r.target is not None]
    missed = [r for r in asked if r.target is not None and r.middle > r.target * (1 + 1e-9)]
    if asked and not missed:
        which = "The answer reaches" if len(rows) == 1 else f"All {len(asked):,} answers with a target reach"
        which = f"All {len(rows):,} answers reach" if len(asked) == len(rows) > 1 else which
        return f"{which} the target"
    compared = [r for r in noisy if r.strict and math.isfinite(r.least_gain)]
    if missed:
        worst = max(missed, key=lambda r: r.middle / (r.target or math.inf))
        of = f"{len(asked) - len(missed):,} of {plural(len(asked), 'answer')} reach the target"
        got, wanted = digits(worst.middle), digits(worst.target or 0)
        return f"{of}; hardest: {clean(worst.label, 30)}, ± {got} instead of {wanted}"
    if not compared:
        worst = max(noisy, key=lambda r: r.middle)
        return f"Errors up to ± {digits(worst.middle)}; no limiting pair, so no comparable standard DP"
    hardest = min(compared, key=lambda r: r.least_gain)
    low, high = hardest.least_gain, max(r.most_gain for r in compared)
    if high < 1.05:
        few = "As much noise as" if low > 0.95 else f"Up to {times(1 / low)} more noise than"
        return f"{few} standard DP at the strictest ε"
    if math.isclose(low, high, rel_tol=0.02):
        return f"{times(high)} less noise than standard DP at the strictest ε"
    if low < 0.95:
        more = f"{clean(hardest.label, 30)} gets {times(1 / low)} more"
        return f"Up to {times(high)} less noise than standard DP at the strictest ε; {more}"
    least = f"least for {clean(hardest.label, 30)}"
    return f"{times(low)} to {times(high)} less noise than standard DP at the strictest ε; {least}"


def _reading(plan: Plan, shown: Sequence[ErrorPanel], hidden: int) -> str:
    rows = [r for panel in shown for r in panel.rows]
    parts = []
    if any(not r.silent for r in rows):
        parts.append("● this plan")
    if any(r.strict for r in rows):
        parts.append("○ standard DP at the strictest ε, that of the closest pair a query separates (× more noise)")
    if any(r.loose for r in rows):
        parts.append("gray bar: standard DP at our worst-case ε")
    if any(r.target for r in rows):
        parts.append("dark tick: target")
    text = " · ".join(parts)
    if any(r.most > r.least for r in rows):
        text += ". Rows for several answers: dot at their median, blue bar from least to most"
    if any(r.count > 1 for r in rows) or hidden:
        text += f". {plural(len(plan.workload.answers), 'answer')} in all"
    if hidden:
        text += f", {plural(hidden, 'panel')} left out"
    return text or "No noise is needed"


# -- `plots.gain`: the noise ratio to standard DP, over all answers of a plan ------------------------------------------


BINS = 40
_WIDE, _TALL = 600, 220


def gain_picture(plan: Plan) -> Picture:
    """Draw a histogram of noise ratios: noise of standard DP divided by ours. Nothing is spent.

    >>> import dxprivacy as dx
    >>> dx.plots.gain(dx.plan([[1, 1, 0, 0]], dx.metrics.line(4, 1)))
    Picture('Noise ratio: 1×')
    """
    require_plan(plan)
    rows = answer_rows(plan)
    compared = [r for r in rows if r.strict and not r.silent and 0 < r.least_gain < math.inf]
    drawn = view(_WIDE, _TALL, _layers(compared)) if compared else empty("no noise to compare", _WIDE)
    return pictured(
        "Noise ratio",
        _noise_ratio_histogram_finding(compared),
        _noise_ratio_histogram_reading(plan, rows, compared),
        drawn,
    )


def _layers(compared: list[ErrorRow]) -> list[Spec]:
    gains = [r.least_gain for r in compared]
    log = LogScale.over([1.0, *gains], _WIDE, room=0.03)
    edges = [log.low * (log.high / log.low) ** (k / BINS) for k in range(BINS + 1)]
    counts = [0] * BINS
    for gain in gains:
        counts[min(int(BINS * log.pixel(gain) / _WIDE), BINS - 1)] += 1
    bars = [{"lo": edges[k], "hi": edges[k + 1], "n": n} for k, n in enumerate(counts) if n]
    x = log.channel("times less noise than standard DP (log)")
    top = max(counts)
    axis = {"title": "answers", "format": ",d", "tickCount": min(4, top)}
    y = quantitative("n", scale=span(0, 1.08 * top), axis=axis)
    least, most = min(compared, key=lambda r: r.least_gain), max(compared, key=lambda r: r.least_gain)
    named = [Tip(f"{clean(least.label, 30)}: {times(least.least_gain)}", log.pixel(least.least_gain), ACCENT)]
    if most.least_gain > 1.02 * least.least_gain:
        named.append(Tip(f"{clean(most.label, 30)}: {times(most.least_gain)}", log.pixel(most.least_gain), ACCENT))
    bar = mark("bar", color=ACCENT, stroke="white", strokeWidth=0.6)
    return [
        layer(bars, bar, x=on(x, "lo"), x2={"field": "hi"}, y=y, y2={"datum": 0}),
        layer([{"x": 1}], mark("rule", color=INK, strokeWidth=1.5), x=on(x, "x")),
        *tips(named, _WIDE),
    ]


def _noise_ratio_histogram_finding(compared: list[ErrorRow]) -> str:
    if not compared:
        return "No noisy answer has a comparable standard DP"
    gains = [r.least_gain for r in compared]
    low, middle, high = (times(f(gains)) for f in (min, median_low, max))
    if low == high:
        return f"Noise ratio: {low}"
    return f"Noise ratio: {middle} for the median answer, from {low} to {high}"


def _noise_ratio_histogram_reading(plan: Plan, rows: list[ErrorRow], compared: list[ErrorRow]) -> str:
    known = sorted(q.epsilon for q in plan.baselines.queries if math.isfinite(q.epsilon))
    ends = list(dict.fromkeys(digits(e) for e in (known[:1] + known[-1:])))
    closest = f", {' – '.join(ends)}" if ends else ""
    text = (
        f"Noise of standard DP (ε of the closest pair that a query separates{closest}) ÷ noise of this plan; "
        f"{plural(len(compared), 'answer')}"
    )
    wins = sum(1 for r in compared if r.loose is not None and r.loose < r.middle)
    if wins:
        text += f"; at our worst-case ε, {digits(plan.worst_epsilon)}, standard DP is more accurate for {wins:,}"
    left = len(rows) - len(compared)
    return f"{text}, {left:,} without noise left out" if left else text
