"""`plots.policy`: the ε between the values of each attribute, one panel per attribute.

On a sum of attributes, the pairs that differ in one attribute generate the metric. So these panels show the whole
policy, for any number of possible records.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError, did_you_mean
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant, LineMetric, Matrix
from dxprivacy.metrics.derived_metrics import AttributeMax, Scaled
from dxprivacy.metrics.with_other import WithAbsent, WithOther, along, present
from dxprivacy.output.charts.chart_style import INK, PALE, Spec, clean, nominal, quantitative, sentences, span
from dxprivacy.output.charts.guarantees.policy_map import can_map, policy_map
from dxprivacy.output.charts.layers import Tip, heading, layer, mark, several, tips, view
from dxprivacy.output.charts.pair_heat import Cell, HeatPanel, heat, packed, pair_of, presence
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.output.charts.shades import EPSILON, FILL
from dxprivacy.output.charts.value_groups import Ruler, ValueGroups, apart, bare, pairs_of, ruler, to_other
from dxprivacy.output.text.plan_text import pair_words
from dxprivacy.policy import Policy
from dxprivacy.universe.attributes.attribute import OTHER, Attribute
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import digits, plural, short_pair

# -- The ε between the values of one attribute -------------------------------------------------------------------------
# A panel shows all pairs as a table, or ε against the difference.  A field or a bar for several pairs shows the worst
# of them, the most distinguishable one.  If few pairs decide that (the ends of groups on a line), only these are
# evaluated. If there are too many values to evaluate every pair, an even sample is used and the subtitle says so.


BARS = 24
_ALL = 1_500  # up to this many values, every pair is evaluated
_ALIKE = 8  # if all pairs have the same ε, more values than this are one group
_WIDE, _TALL = 252, 130


@dataclass(frozen=True)
class Shown:
    """A panel, the ε that occur in it, and the facts about it that the subtitle states."""

    panel: HeatPanel
    found: tuple[float, ...]
    outlined: bool = False  # some pairs are tightened
    coarse: bool = False  # values are grouped
    complete: bool = True  # all pairs were evaluated


def attribute_panel(attribute: Attribute, metric: Metric) -> Shown:
    """Draw ε against the difference of two values if it depends on nothing else, otherwise a table of pairs."""
    own, steps = ruler(metric, attribute), _steps(attribute)
    ordered = isinstance(bare(metric), (LineMetric, AttributeMax)) and steps > 0
    if own is not None and ordered and 0 < apart(metric, 0, steps) < math.inf:
        return _by_difference(attribute, metric, own)
    return _table(attribute, metric)


def presence_panel(epsilon: float) -> Shown:
    """Draw the ε between a record and its absence."""
    return Shown(presence(epsilon, digits(epsilon), EPSILON), (epsilon,))


def tightened(metric: Metric, u: Ints, v: Ints) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return which pairs have a smaller ε than written, because a detour over another value is shorter.

    >>> from dxprivacy import metrics
    >>> d = metrics.per_value({"a": "0.1", "b": 2, "c": 2})
    >>> tightened(d, np.array([0, 1]), np.array([1, 2])).tolist()
    [False, True]
    """
    if isinstance(metric, Scaled):
        return tightened(metric.base, u, v)
    if isinstance(metric, WithOther):
        last = metric.last
        inside = (u != last) & (v != last)
        a, b = np.where(inside, u, 0), np.where(inside, v, 0)
        direct = metric.base.pairwise(a, b)
        return np.asarray(inside & ((direct > metric.pairwise(u, v) * (1 + 1e-9)) | tightened(metric.base, a, b)))
    if not isinstance(metric, Matrix) or not metric.tightened:
        return np.zeros(len(u), dtype=bool)
    n = metric.universe.size
    codes = np.array([t.pair[0] * n + t.pair[1] for t in metric.tightened], dtype=np.int64)
    return np.isin(np.minimum(u, v) * n + np.maximum(u, v), codes)


def _steps(attribute: Attribute) -> int:
    # The largest difference in steps. Value k of a series differs from value 0 by k in one entry.
    return attribute.each_entry.listed - 1


def _table(attribute: Attribute, metric: Metric) -> Shown:
    listed = attribute.listed
    alike = isinstance(_listed(metric), Constant) and listed > _ALIKE
    groups = ValueGroups.of(attribute)
    if alike:
        labels = (f"all {listed:,}", *((OTHER,) if attribute.has_other else ()))
        groups = ValueGroups((0, listed)[: len(labels)], attribute.size, labels)
    u, v, complete = _pairs(groups, metric, 2 if alike else _ALL)
    d = metric.pairwise(u, v)
    marked = tightened(metric, u, v) & (np.maximum(u, v) < listed)  # the policy writes no ε for `other`
    ends = groups.find(u[marked]).tolist(), groups.find(v[marked]).tolist()
    framed = {tuple(sorted(pair)) for pair in zip(*ends, strict=True)}
    cells = []
    for (a, b), k in worst_of_cells(groups, u, v, d):
        pair = pair_of(attribute.label, u[k], v[k])
        cells.append(Cell(a, b, float(d[k]), digits(float(d[k])), (a, b) in framed, pair))
    about = f"{listed:,} values in groups" if groups.coarse and not alike else ""
    outlined = any(cell.outlined for cell in cells)
    panel = heat(attribute.name, groups.labels, cells, EPSILON, about=about)
    return Shown(panel, tuple(cell.value for cell in cells), outlined, groups.coarse and not alike, complete or alike)


def _listed(metric: Metric) -> Metric:
    """Return the metric among the listed values, without `other` and absence."""
    while isinstance(metric, WithOther):
        metric = metric.base
    return metric


def worst_of_cells(groups: ValueGroups, u: Ints, v: Ints, worth: Floats) -> list[tuple[tuple[int, int], int]]:
    """Return for each two groups the position of the pair with the largest `worth`."""
    a, b = groups.find(u), groups.find(v)
    many = len(groups.starts)
    code = np.minimum(a, b) * many + np.maximum(a, b)
    order = np.lexsort((-np.abs(v - u), worth, code))  # the closest among equals
    last = order[np.append(np.flatnonzero(np.diff(code[order])), len(order) - 1)] if len(order) else order
    return [((int(code[k]) // many, int(code[k]) % many), int(k)) for k in last]


def _pairs(groups: ValueGroups, metric: Metric, most: int) -> tuple[Ints, Ints, bool]:
    """Return all pairs of values, or a sample; and whether it contains the worst pair of each two groups."""
    n = groups.size
    ends = np.unique(np.array([*groups.starts, *(s - 1 for s in groups.starts if s), n - 1], dtype=np.int64))
    inside = ends[ends < n]
    if isinstance(bare(metric), LineMetric):  # the ends of groups are farthest apart
        return *pairs_of(inside), True
    if n <= most:
        u, v = np.triu_indices(n, 1)
        return u.astype(np.int64), v.astype(np.int64), True
    extremes = [x for extreme in (metric.closest, metric.farthest) if extreme for x in extreme.pair if x < n]
    some = np.linspace(0, n - 1, most).astype(np.int64)
    return *pairs_of(np.append(inside, some), extremes), False


def _by_difference(attribute: Attribute, metric: Metric, own: Ruler) -> Shown:
    """Draw ε against the difference of two values: the complete policy of an ordered attribute."""
    steps = _steps(attribute)
    size = max(1, math.ceil(steps / BARS))
    ends = np.unique(np.append(np.arange(size, steps, size), steps)).astype(np.int64)
    zero = np.zeros(len(ends), dtype=np.int64)
    d, x = metric.pairwise(zero, ends), own.lengths(zero, ends)
    marked = tightened(metric, zero, ends)
    one = float(own.lengths(np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))[0])
    starts = np.append(one / 2, x[:-1] + one / 2)
    bars: list[Spec] = [
        {"x": float(a), "x2": float(b) + one / 2, "e": float(e), "c": EPSILON.shade(float(e)), "o": bool(o)}
        for a, b, e, o in zip(starts, x, d, marked, strict=True)
    ]
    unit = f", {clean(own.unit, 20)}" if own.unit else ""
    what = "largest difference of two series" if attribute.is_series else "difference of two values"
    radius = to_other(metric, attribute)
    top = max(float(d.max()), radius or 0.0) * 1.06
    x_axis = {"title": f"{what}{unit}", "tickCount": 5, "format": ",~r", "grid": False}
    y_axis = {"title": "ε", "tickCount": 4, "format": "~r"}
    y = quantitative("e", scale=span(0, top), axis=y_axis)
    spot = {
        "x": {**quantitative(scale=span(0, float(x[-1]) + one / 2)), "field": "x", "axis": x_axis},
        "x2": {"field": "x2"},
        "y": y,
        "y2": {"datum": 0},
    }
    layers = [layer(bars, mark("rect", stroke=PALE, strokeWidth=0.8), **spot, color=FILL)]
    if outlined := [b for b in bars if b["o"]]:  # beyond some difference all pairs are tightened: one frame
        whole = {**outlined[0], "x2": outlined[-1]["x2"], "e": max(b["e"] for b in outlined)}
        layers.append(layer([whole], mark("rect", fill=None, stroke=INK, strokeWidth=1.6), **spot))
    labels = [Tip(f"neighbors: ε {digits(apart(metric, 0, 1))}", 4, INK)]
    if steps > 1:
        labels.append(Tip(f"farthest: ε {digits(float(d[-1]))}", _WIDE - 20, INK))
    if radius is not None and math.isfinite(radius):
        layers += _other_line(radius, y)
    panel = {**heading(clean(attribute.name)), **view(_WIDE, _TALL, [*layers, *tips(labels, _WIDE)])}
    found = (*(float(e) for e in d), *(() if radius is None else (radius,)))
    return Shown(HeatPanel(panel, _WIDE + 45), found, bool(outlined), size > 1)


def _other_line(radius: float, y: Spec) -> list[Spec]:
    values = [{"e": radius, "t": f"“other”: ε {digits(radius)}"}]
    rule = mark("rule", color=INK, strokeDash=[5, 4], strokeWidth=1.2)
    text = mark("text", align="left", baseline="bottom", dy=-3, color=INK)
    return [layer(values, rule, y=y), layer(values, text, y=y, x={"value": 5}, text=nominal("t"))]


# -- `plots.policy` ----------------------------------------------------------------------------------------------------


PANELS = 12


def policy_picture(policy: Policy | Metric, *, around: str = "") -> Picture:
    """Draw a policy or a metric: a map for places, otherwise a table of pairs or bars by difference.

    `around` names the place around which the rings are drawn.  Reads the policy only.

    >>> import dxprivacy as dx
    >>> dx.plots.policy(dx.metrics.constant(3, 1))
    Picture('Every two values have the same ε, 1')
    """
    hints = ['dx.plots.policy(dx.Policy.load("policy.toml"))', "dx.metrics.line(9, 1)"]
    require(policy, (Policy, Metric), "a policy", hints)
    metric = policy.of_people if isinstance(policy, Policy) else policy
    attributes = metric.universe.attributes
    axes = along(metric)
    if axes is None:
        axes, attributes = _as_one(metric)
    chosen = _around(attributes, around)
    shown: list[Shown] = []
    maps, notes = [], []
    every = list(zip(attributes, axes, strict=True))
    for attribute, axis in every[:PANELS]:
        if can_map(attribute, axis):
            earth = isinstance(policy, Policy) and _on_earth(policy, attribute.name)
            mapped = policy_map(attribute, axis, earth=earth, around=chosen.get(attribute.name))
            maps.append(mapped)
            notes.append(mapped.reading)
        else:
            shown.append(attribute_panel(attribute, axis))
    if isinstance(metric, WithAbsent):
        shown.append(presence_panel(float(metric.radius)))
    found = [*(e for s in shown for e in s.found), *(e for m in maps for e in m.found)]
    views = [*(m.panel.view for m in maps), *packed([s.panel for s in shown]), EPSILON.key(found)]
    title, reading = _finding(metric, axes), _reading(metric, shown, notes, len(every))
    return several(views, title, reading, description="What a policy allows between two records", own_axes=False)


def _as_one(metric: Metric) -> tuple[tuple[Metric, ...], tuple[Attribute, ...]]:
    """Return one panel over whole records for a metric without attributes; raise UsageError if there are too many."""
    if metric.universe.size > 5_000:
        raise UsageError(
            f"a metric without attributes over {metric.universe.size:,} possible records is too large to draw",
            hints=["dx.metrics.attributes(…)", "dx.metrics.restricted(metric, records)"],
        )
    base = present(metric)
    labels = [", ".join(r.values()) for r in base.universe.records(range(base.universe.size))]
    whole = Universe.listed(labels, name="record")
    attribute = Values(name="record", values=whole.attributes[0].values, has_other=False)  # type: ignore[attr-defined]
    return (metric,), (attribute,)


def _around(attributes: Sequence[Attribute], name: str) -> dict[str, int]:
    """Return the index of the place with this name, for every attribute of places that lists it."""
    if not isinstance(name, str):
        raise UsageError(f"around is the name of a place, not a {type(name).__name__}")
    if not name:
        return {}
    places = [a for a in attributes if isinstance(a, Points)]
    known = {a.name: {a.label(k): k for k in range(a.listed)} | {i: k for k, i in enumerate(a.ids)} for a in places}
    found = {attribute: at[name] for attribute, at in known.items() if name in at}
    if not found:
        names = [label for at in known.values() for label in at]
        raise UsageError(f"no place “{clean(name)}” in this policy", hints=did_you_mean(name, names))
    return found


def _on_earth(policy: Policy, name: str) -> bool:
    # A threshold with a unit of length is only accepted for latitudes and longitudes.
    table = policy.file.tables["attributes"].get(name, {})
    return isinstance(table.get("threshold"), str)


def _finding(metric: Metric, axes: Sequence[Metric]) -> str:
    near = metric.closest
    public = any(axis.has_infinite for axis in axes)
    if near is None:
        return "Everything is public" if public else "No two records may be distinguishable"
    far = max((axis.farthest.distance for axis in axes if axis.farthest), default=near.distance)
    best = short_pair(pair_words(metric, near.pair), 50)
    if not public and math.isclose(near.distance, far, rel_tol=1e-9):
        return f"Every two values have the same ε, {digits(far)}"
    where = "within one attribute the largest" if len(axes) > 1 else "the largest"
    least = "some differences are public" if public else f"{where} is ε {digits(far)}"
    return f"Best protected: {best}, ε {digits(near.distance)}; {least}"


def _reading(metric: Metric, shown: Sequence[Shown], notes: Sequence[str], panels: int) -> str:
    parts = []
    base = present(metric)
    if len(metric.universe.attributes) > 1 and base.by_attribute is not None:
        several = "the largest counts" if isinstance(base, AttributeMax) else "they add up"
        parts.append(f"Records that differ in one attribute; if several differ, {several}")
    parts.append("ε: the largest privacy loss of the pair, over all releases ever")
    if shown:
        parts.append("Dark: hard to distinguish")
    if any(s.outlined for s in shown):
        parts.append("Outlined: tightened, a detour over another value or over absence is shorter than the written ε")
    if any(s.coarse for s in shown):
        parts.append("Groups of values: the ε of their worst pair, the most distinguishable one")
    if not all(s.complete for s in shown):
        parts.append("Very many values: worst of a sample of pairs, not of all")
    if any(a.has_other for a in metric.universe.attributes):
        parts.append("“other”: missing and invalid entries")
    parts += [note.rstrip(".") for note in notes if note]
    if panels > PANELS:
        parts.append(f"{PANELS} of {plural(panels, 'attribute')} shown")
    return sentences(parts)
