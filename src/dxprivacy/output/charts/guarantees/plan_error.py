"""`plots.plan`: how wrong each answer will be, beside both readings of standard DP and the target (UX `plan_error`)."""

import math
from collections.abc import Callable, Sequence

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.output.charts.axes import Log
from dxprivacy.output.charts.channels import Spec, extent_of, in_rows, nominal, quantitative
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK, PALE, TINT, WIDTH, clean
from dxprivacy.output.charts.guarantees.error_rows import PANELS, ErrorRow, Panel, answer_rows, panels
from dxprivacy.output.charts.layers import Tip, heading, layer, mark, several, tips, view, with_values
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.wording import digits, plural, times

STEP = 20
_Number = Callable[[ErrorRow], float | None]
_Text = Callable[[ErrorRow], str]


def require_plan(plan: object) -> None:
    """Our error for anything else."""
    require(plan, Plan, "a plan", hints=["dx.plots.plan(session.plan(…))", "dx.plan(Q, d)"])


def plan_picture(plan: Plan) -> Picture:
    """Error per answer, both baselines and the targets; from public facts, nothing is spent.

    >>> import dxprivacy as dx
    >>> dx.plots.plan(dx.plan([[1, 1, 0, 0]], dx.metrics.line(4, 1)))
    Picture('As much noise as standard DP at the strictest ε')
    """
    require_plan(plan)
    rows = answer_rows(plan)
    every = panels(plan, rows)
    shown = every[:PANELS]
    logs: dict[tuple[str, str], Log] = {}
    for panel in shown:
        family = [r for p in shown if (p.kind, p.unit) == (panel.kind, panel.unit) for r in p.rows]
        logs.setdefault((panel.kind, panel.unit), Log.over(_numbers(family), WIDTH))
    views = []
    extent = extent_of(row.label for panel in shown for row in panel.rows)
    for k, panel in enumerate(shown):
        log = logs[panel.kind, panel.unit]
        following = shown[k + 1] if k + 1 < len(shown) else None
        last = following is None or (following.kind, following.unit) != (panel.kind, panel.unit)
        labels = _tips(plan, panel.rows, log) if not k else []
        views.append(_view(panel, log, _axis_title(plan, panel) if last else None, labels, extent))
    title, reading = _finding(rows), _reading(plan, shown, len(every) - len(shown))
    return several(views, title, reading, description="Error per question", spacing=22)


def _numbers(rows: Sequence[ErrorRow]) -> list[float]:
    return [x for r in rows for x in (r.least, r.middle, r.most, r.strict, r.loose, r.target) if x]


def _view(panel: Panel, log: Log, axis_title: str | None, labels: list[Tip], extent: float) -> Spec:
    """One panel: rows from top to bottom, every mark in its own layer."""
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
    """How much less noise than standard DP at the strictest ε; nothing where there is no such thing."""
    if row.silent or not row.strict or not math.isfinite(row.least_gain):
        return ""
    low, high = times(row.least_gain), times(row.most_gain)
    return low if low == high else f"{low[:-1]} – {high}"


def _tips(plan: Plan, rows: Sequence[ErrorRow], log: Log) -> list[Tip]:
    """What the marks of the first row are."""
    row = next((r for r in rows if r.strict or r.loose or r.target), None)
    if row is None:
        return []
    epsilon = _only_epsilon(plan)
    out = []
    if row.target:
        out.append(Tip("you asked", log.pixel(row.target), INK))
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
    """The ε of standard DP at the strictest ε, where it is the same for all questions."""
    known = {digits(q.epsilon) for q in plan.baselines.questions if math.isfinite(q.epsilon)}
    return known.pop() if len(known) == 1 else ""


def _axis_title(plan: Plan, panel: Panel) -> str:
    what = panel.unit
    if panel.kind == "count" and not what:
        what = f"records of {plan.records:,}" if plan.records and plan.metric.universe.absent is None else "records"
    if panel.kind == "sum":
        what = f"{what} in the sum".strip()
    return f"± {clean(what)}, 95 % (log)" if what else "± 95 % (log)"


def _finding(rows: Sequence[ErrorRow]) -> str:
    noisy = [r for r in rows if not r.silent]
    if not noisy:
        return "No noise: the answers are public, alike for all records, or hardly limited by the policy"
    asked = [r for r in rows if r.target is not None]
    missed = [r for r in asked if r.target is not None and r.middle > r.target * (1 + 1e-9)]
    if asked and not missed:
        which = "The answer reaches" if len(rows) == 1 else f"All {len(asked):,} answers with a target reach"
        which = f"All {len(rows):,} answers reach" if len(asked) == len(rows) > 1 else which
        return f"{which} what was asked"
    compared = [r for r in noisy if r.strict and math.isfinite(r.least_gain)]
    if missed:
        worst = max(missed, key=lambda r: r.middle / (r.target or math.inf))
        of = f"{len(asked) - len(missed):,} of {plural(len(asked), 'answer')} reach what was asked"
        got, wanted = digits(worst.middle), digits(worst.target or 0)
        return f"{of}; hardest: {clean(worst.label, 30)}, ± {got} instead of {wanted}"
    if not compared:
        worst = max(noisy, key=lambda r: r.middle)
        return f"Errors up to ± {digits(worst.middle)}; no pair limits them that standard DP could be compared by"
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
    least = f"least gain: {clean(hardest.label, 30)}"
    return f"{times(low)} to {times(high)} less noise than standard DP at the strictest ε; {least}"


def _reading(plan: Plan, shown: Sequence[Panel], hidden: int) -> str:
    rows = [r for panel in shown for r in panel.rows]
    parts = []
    if any(not r.silent for r in rows):
        parts.append("● this plan")
    if any(r.strict for r in rows):
        parts.append("○ standard DP, as strict as the closest pair that a question tells apart (× more noise)")
    if any(r.loose for r in rows):
        parts.append("gray bar: standard DP, our worst case")
    if any(r.target for r in rows):
        parts.append("dark tick: asked")
    text = " · ".join(parts)
    if any(r.most > r.least for r in rows):
        text += ". Rows for several answers: dot at their median, blue bar from least to most"
    if any(r.count > 1 for r in rows) or hidden:
        text += f". {plural(len(plan.workload.answers), 'answer')} in all"
    if hidden:
        text += f", {plural(hidden, 'panel')} left out"
    return text or "No noise is needed"
