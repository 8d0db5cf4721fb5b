"""`plots.trade`: which pairs are protected more, and which less, than by standard DP with the same worst-case ε.

The picture shows the ε of the policy, of this plan and of standard DP against distance. The title names the distance at
which the line of the policy crosses that of standard DP: closer pairs are protected more than by standard DP, farther
pairs less.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK, TINT, Spec, clean, pointed_at, sentences
from dxprivacy.output.charts.guarantees.loss_profiles import PRESENCE, Profile, ProfilePoint, profiles
from dxprivacy.output.charts.guarantees.plan_error import require_plan
from dxprivacy.output.charts.layers import LogScale, heading, layer, mark, pictured, view, with_values, written
from dxprivacy.output.charts.picture import Picture
from dxprivacy.output.text.plan_text import pair_words
from dxprivacy.wording import digits, plural

PANELS = 9
_NAMED = 3
_DECADES = 1e8


def trade_picture(plan: Plan) -> Picture:
    """Draw policy, plan and standard DP against distance, with one panel per attribute. Nothing is spent.

    >>> import dxprivacy as dx
    >>> dx.plots.trade(dx.plan([[1, 1, 0, 0]], dx.metrics.line(4, 1)))
    Picture('No pair is better protected than by standard DP with the same worst-case ε')
    """
    require_plan(plan)
    every = profiles(plan)
    shown = sorted(every, key=lambda p: not any(q.used > 0 for q in p.points))[:PANELS]
    worst = plan.worst_epsilon
    heights = [worst, *(q.used for p in shown for q in p.points), *(q.policy for p in shown for q in p.ends)]
    usable = [y for y in heights if 0 < y < math.inf]
    floor = max(usable, default=1.0) / _DECADES
    alone = len(shown) == 1
    y = LogScale.over([h for h in usable if h > floor], 290 if alone else 150, apart=26)
    if alone:
        views = _view(plan, shown[0], y, 600, alone=True)
    else:
        views = {"concat": [_view(plan, p, y, 270, alone=False) for p in shown], "columns": 2, "spacing": 26}
    description = "Policy, plan and standard DP by distance"
    return pictured(description, _finding(plan, every), _reading(plan, every, shown), views)


def _view(plan: Plan, profile: Profile, y: LogScale, width: int, *, alone: bool) -> Spec:
    worst = plan.worst_epsilon
    x = LogScale.over([q.x for q in profile.ends], width)
    spot = {
        "x": x.channel(_distance(profile, alone), "x"),
        "y": y.channel("privacy loss ε of the pair (log)" if alone else "ε (log)", "y"),
    }
    comparable = 0 < worst < math.inf
    line = _policy_line(profile, x)
    layers: list[Spec] = []
    if comparable and profile.below and (under := _under(line, worst)):
        area = [{"x": a, "y": y.at(b), "y2": y.at(worst)} for a, b in under]
        layers.append(layer(area, mark("area", color=TINT, opacity=0.6), **spot, y2={"field": "y2"}))
    if comparable:
        ends = [{"x": end, "y": y.at(worst)} for end in (x.low, x.high)]
        layers.append(layer(ends, mark("line", color=GRAY, strokeDash=[5, 4], strokeWidth=1.8), **spot))
    if line:
        through = [{"x": a, "y": y.at(b)} for a, b in line]
        layers.append(layer(through, mark("line", color=ACCENT, strokeWidth=2.5), **spot))
    if any(q.used > 0 for q in profile.points):
        used = [_drawn(plan, q, y) for q in profile.points if q.used > 0]
        unused = [_drawn(plan, q, y) for q in profile.points if q.used <= 0]
        tooltip = pointed_at("pair", "policy allows", "used")
        hollow = mark("point", filled=True, fill="white", stroke=INK, size=22, strokeWidth=1.2)
        layers += [
            layer(used, mark("line", color=INK, strokeWidth=1.4), **spot),
            layer(used, mark("circle", size=22, color=INK, opacity=1), **spot, tooltip=tooltip),
            *with_values([layer(unused, hollow, **spot, tooltip=tooltip)]),
        ]
    layers += _labels(plan, profile, x, y, line, alone=alone)
    drawn = view(width, y.pixels if profile.points or not alone else 40, layers)
    return {**drawn, **heading("" if alone else clean(profile.name))}


def _drawn(plan: Plan, point: ProfilePoint, y: LogScale) -> Spec:
    words = clean(pair_words(plan.metric, point.pair), 90)
    allows, used = digits(point.policy), digits(point.used)
    return {"x": point.x, "y": y.at(point.used), "pair": words, "policy allows": allows, "used": used}


def _policy_line(profile: Profile, x: LogScale) -> list[tuple[float, float]]:
    """Return the policy's line through real pairs; the diagonal if the distance is the policy's own ε."""
    if not profile.points:
        return []
    if not profile.measured:
        return [(x.low, x.low), (x.high, x.high)]
    known = sorted({(q.x, q.policy) for q in (*profile.points, *profile.ends)})
    return [(x.low, profile.rate * x.low), *known]


def _under(line: Sequence[tuple[float, float]], worst: float) -> list[tuple[float, float]]:
    """Return the part of the policy's line below that of standard DP, up to their crossing."""
    out: list[tuple[float, float]] = []
    for k, (a, b) in enumerate(line):
        if b < worst:
            out.append((a, b))
            continue
        if out and b > worst:
            a0, b0 = line[k - 1]
            fraction = math.log(worst / b0) / math.log(b / b0)
            out.append((a0 * (a / a0) ** fraction, worst))
        break
    return out if len(out) > 1 else []


def _labels(
    plan: Plan, profile: Profile, x: LogScale, y: LogScale, line: Sequence[tuple[float, float]], *, alone: bool
) -> list[Spec]:
    """Return the labels of the lines; in one of many panels, only notes for lines that cannot be drawn."""
    if not profile.points:
        text = "public: no limit" if profile.public else "no pairs to separate"
        return [written(text, 8, 20, color=GRAY)]
    none = all(q.used <= 0 for q in profile.points)
    nothing = written("this plan: 0", x.pixels - 6, y.pixels - 6, color=INK, align="right", baseline="bottom")
    if not alone:
        return [nothing] if none else []
    out = [nothing] if none else []
    worst = plan.worst_epsilon
    place, height = _clear_of(line, worst, x, y)
    above = {"align": "right", "baseline": "bottom", "fontWeight": "bold"}
    out.append(written(_policy_name(profile), place - 4, height, color=ACCENT, **above))
    if 0 < worst < math.inf:
        text = f"standard DP, ε {digits(worst)}"
        crowded = abs(y.below_top(worst) - y.below_top(line[0][1])) < 14
        place = x.pixels - 6 if crowded else 6
        side = "right" if crowded else "left"
        out.append(written(text, place, y.below_top(worst) - 4, color=GRAY, align=side, baseline="bottom"))
    if not none:
        middle = [q for q in profile.points if q.used > 0]
        chosen = min(middle, key=lambda q: abs(x.pixel(q.x) - 0.45 * x.pixels))
        lowest = min(q.used for q in middle if q.x >= chosen.x)
        top = min(y.below_top(lowest) + 9, y.pixels - 14)
        words = "this plan, at most" if profile.bounded else "this plan, worst pair at each distance"
        out.append(written(words, x.pixel(chosen.x), top, color=INK, baseline="top"))
    return out


def _clear_of(line: Sequence[tuple[float, float]], worst: float, x: LogScale, y: LogScale) -> tuple[float, float]:
    """Return a position for the label above the policy's line that does not touch the label of standard DP."""
    found = (0.0, 0.0)
    for fraction in (0.62, 0.48, 0.78, 0.92):
        at = x.low * (x.high / x.low) ** fraction
        found = x.pixel(at), max(y.below_top(_height(line, at)) - 5, 12)
        if not 0 < worst < math.inf or abs(found[1] - 6 - y.below_top(worst)) > 12:
            break
    return found


def _height(line: Sequence[tuple[float, float]], at: float) -> float:
    # Linear interpolation on log axes.
    for (a, b), (c, d) in pairwise(line):
        if a <= at <= c and c > a:
            return float(b * (d / b) ** (math.log(at / a) / math.log(c / a)))
    return line[-1][1]


def _policy_name(profile: Profile) -> str:
    if not profile.measured:
        return "policy"
    unit = profile.unit or "unit of distance"
    per = 10.0 ** max(0, math.ceil(-math.log10(profile.rate) - 1e-9))
    amount = unit if per == 1 else f"{digits(per)} {unit}"
    return f"policy: ε {digits(profile.rate * per)} per {amount}"


def _distance(profile: Profile, alone: bool) -> str:
    if not profile.measured:
        return "ε of the pair in the policy (log)"
    unit = f", {clean(profile.unit)}" if profile.unit else ""
    name = f"{clean(profile.name)}: " if alone and profile.name not in ("", "element", "point") else ""
    return f"{name}distance of the pair{unit} (log)"


def _finding(plan: Plan, every: Sequence[Profile]) -> str:
    worst = plan.worst_epsilon
    if math.isinf(worst):
        return "Public differences have no limit; standard DP has no equivalent"
    if worst == 0:
        return "No records are separated: these answers are the same for all of them"
    better = "better protected than by standard DP with the same worst-case ε"
    parts = [text for p in every if (text := _closer(p, worst, alone=len(every) == 1))]
    if not parts:
        return "No pair is better protected than by standard DP with the same worst-case ε"
    if len(every) > 1:
        more = f" and {plural(len(parts) - _NAMED, 'other')}" if len(parts) > _NAMED else ""
        return f"B{better[1:]}: {', '.join(parts[:_NAMED])}{more}"
    return f"{parts[0]}: {better}"


def _closer(profile: Profile, worst: float, *, alone: bool) -> str:
    """Return in words which pairs along an attribute are protected more than by standard DP; empty if none."""
    name = clean(profile.name, 24)
    if not profile.points or not profile.below:
        return ""
    if profile.below == profile.pairs:
        return "All pairs" if alone else name if name == PRESENCE else f"all of {name}"
    if profile.measured:
        where = f"loser than {digits(worst / profile.rate)} {profile.unit}".rstrip()
        return f"C{where}" if alone else f"{name} c{where}"
    if profile.pairs > 99:
        some = f"{digits(100 * profile.below / profile.pairs)} % of pairs"
    else:
        some = f"{profile.below:,} of {plural(profile.pairs, 'pair')}"
    return some if alone else f"{some} of {name}"


def _reading(plan: Plan, every: Sequence[Profile], shown: Sequence[Profile]) -> str:
    worst = plan.worst_epsilon
    alone = len(shown) == 1
    comparable = 0 < worst < math.inf
    parts = []
    if not alone:
        dashed = f" · dashed: standard DP, ε {digits(worst)}" if comparable else ""
        parts.append(f"Blue: the policy · black: this plan, worst pair at each distance{dashed}")
        parts.append("Pairs that differ in one attribute only")
    if comparable and any(p.below for p in shown):
        parts.append("Left of the crossing the policy protects more than standard DP, right of it less")
    if comparable and alone:
        parts.append("The plan is never above either line")
    if any(any(q.used <= 0 for q in p.points) and any(q.used > 0 for q in p.points) for p in shown):
        parts.append("Hollow: 0")
    if any(p.unplaced for p in shown):
        parts.append("Invalid entries (“other”) have no distance and are not drawn")
    if any(p.public for p in shown):
        parts.append("Public differences, without limit, are not drawn")
    if any(p.bounded for p in shown):
        parts.append("Where there are too many pairs, the plan is drawn at the bound of its certificate")
    if not all(p.complete or p.bounded for p in shown):
        looked = sum(p.pairs for p in shown)
        parts.append(f"Worst of {looked:,} sampled pairs, not of all")
    if plan.budget != 1:
        parts.append(f"The plan may use {digits(100 * float(plan.budget))} % of the policy")
    if len(shown) < len(every):
        parts.append(f"{len(shown)} of {len(every)} panels shown")
    return sentences(parts) if parts else "Nothing to compare."
