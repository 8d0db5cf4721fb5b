"""`plots.gain`: how much noise is saved, over all answers of a plan (UX `gain_histogram`)."""

import math
from statistics import median_low

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.output.charts.axes import Log
from dxprivacy.output.charts.channels import Spec, on, quantitative, span
from dxprivacy.output.charts.chart_style import ACCENT, INK, clean
from dxprivacy.output.charts.guarantees.error_rows import ErrorRow, answer_rows
from dxprivacy.output.charts.guarantees.plan_error import require_plan
from dxprivacy.output.charts.layers import Tip, empty, layer, mark, pictured, tips, view
from dxprivacy.output.charts.picture import Picture
from dxprivacy.wording import digits, plural, times

BINS = 40
_WIDE, _TALL = 600, 220


def gain_picture(plan: Plan) -> Picture:
    """A histogram of standard DP's noise divided by ours, the least and the most gained named.  Nothing is spent.

    >>> import dxprivacy as dx
    >>> dx.plots.gain(dx.plan([[1, 1, 0, 0]], dx.metrics.line(4, 1)))
    Picture('Noise saved: 1×')
    """
    require_plan(plan)
    rows = answer_rows(plan)
    compared = [r for r in rows if r.strict and not r.silent and 0 < r.least_gain < math.inf]
    drawn = view(_WIDE, _TALL, _layers(compared)) if compared else empty("no noise to compare", _WIDE)
    return pictured("Noise saved", _finding(compared), _reading(plan, rows, compared), drawn)


def _layers(compared: list[ErrorRow]) -> list[Spec]:
    gains = [r.least_gain for r in compared]
    log = Log.over([1.0, *gains], _WIDE, room=0.03)
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


def _finding(compared: list[ErrorRow]) -> str:
    if not compared:
        return "No answer gets noise that standard DP could be compared with"
    gains = [r.least_gain for r in compared]
    low, middle, high = (times(f(gains)) for f in (min, median_low, max))
    if low == high:
        return f"Noise saved: {low}"
    return f"Noise saved: {middle} for the median answer, from {low} to {high}"


def _reading(plan: Plan, rows: list[ErrorRow], compared: list[ErrorRow]) -> str:
    known = sorted(q.epsilon for q in plan.baselines.questions if math.isfinite(q.epsilon))
    ends = list(dict.fromkeys(digits(e) for e in (known[:1] + known[-1:])))
    closest = f", {' – '.join(ends)}" if ends else ""
    text = (
        f"Noise of standard DP (ε of the closest pair that a question tells apart{closest}) ÷ noise of this plan; "
        f"{plural(len(compared), 'answer')}"
    )
    wins = sum(1 for r in compared if r.loose is not None and r.loose < r.middle)
    if wins:
        text += f"; at our worst case, ε {digits(plan.worst_epsilon)}, standard DP is closer for {wins:,}"
    left = len(rows) - len(compared)
    return f"{text}, {left:,} without noise left out" if left else text
