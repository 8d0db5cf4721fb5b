"""What a policy allows between the values of one attribute, drawn: all pairs as a table, or ε against the difference.

A cell or a bar for several pairs shows the worst of them, the pair that may be told apart most easily.  Where that is
decided by few pairs (the ends of groups on a line), all others are covered; where the values are too many to look at
every pair, some are chosen evenly and the panel says so.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant, Line
from dxprivacy.metrics.derived_metrics import AttributeMax, Scaled
from dxprivacy.metrics.matrix_metric import Matrix
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.output.charts.channels import Spec, nominal, quantitative, span
from dxprivacy.output.charts.chart_style import INK, PALE, clean
from dxprivacy.output.charts.distance_bands import Ruler, apart, bare, ruler, to_other
from dxprivacy.output.charts.layers import Tip, heading, layer, mark, tips, view
from dxprivacy.output.charts.pair_heat import Cell, Panel, heat, pair_of, presence
from dxprivacy.output.charts.shades import EPSILON, FILL
from dxprivacy.output.charts.value_groups import Groups, pairs_of
from dxprivacy.universe.attributes.attribute import OTHER, Attribute
from dxprivacy.wording import digits

BARS = 24
_ALL = 1_500  # values of which every pair is looked at
_ALIKE = 8  # values of which every pair has the same ε: more are one group
_WIDE, _TALL = 252, 130


@dataclass(frozen=True)
class Shown:
    """A panel, the ε that occur in it, and what its reader has to know."""

    panel: Panel
    found: tuple[float, ...]
    outlined: bool = False
    coarse: bool = False
    complete: bool = True


def attribute_panel(attribute: Attribute, metric: Metric) -> Shown:
    """Against the difference where that is all that counts, otherwise as a table."""
    own, steps = ruler(metric, attribute), _steps(attribute)
    ordered = isinstance(bare(metric), (Line, AttributeMax)) and steps > 0
    if own is not None and ordered and 0 < apart(metric, 0, steps) < math.inf:
        return _by_difference(attribute, metric, own)
    return _table(attribute, metric)


def presence_panel(epsilon: float) -> Shown:
    """Whether somebody is in the data at all."""
    return Shown(presence(epsilon, digits(epsilon), EPSILON), (epsilon,))


def tightened(metric: Metric, u: Ints, v: Ints) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Which pairs keep less than was written, because a way over another value is shorter.

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
    """The largest difference, in steps; of a series, of its entries: value k differs from value 0 by k in one entry."""
    return attribute.each_entry.listed - 1


def _table(attribute: Attribute, metric: Metric) -> Shown:
    listed = attribute.listed
    alike = isinstance(_listed(metric), Constant) and listed > _ALIKE
    groups = Groups.of(attribute)
    if alike:
        labels = (f"all {listed:,}", *((OTHER,) if attribute.has_other else ()))
        groups = Groups((0, listed)[: len(labels)], attribute.size, labels)
    u, v, complete = _pairs(groups, metric, 2 if alike else _ALL)
    d = metric.pairwise(u, v)
    marked = tightened(metric, u, v) & (np.maximum(u, v) < listed)  # for `other` nothing was written
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
    """The metric among the listed values, where `other` and absence make no difference to its kind."""
    while isinstance(metric, WithOther):
        metric = metric.base
    return metric


def worst_of_cells(groups: Groups, u: Ints, v: Ints, worth: Floats) -> list[tuple[tuple[int, int], int]]:
    """For each two groups, the position of the pair with the most."""
    a, b = groups.find(u), groups.find(v)
    many = len(groups.starts)
    code = np.minimum(a, b) * many + np.maximum(a, b)
    order = np.lexsort((-np.abs(v - u), worth, code))  # of equals the closest
    last = order[np.append(np.flatnonzero(np.diff(code[order])), len(order) - 1)] if len(order) else order
    return [((int(code[k]) // many, int(code[k]) % many), int(k)) for k in last]


def _pairs(groups: Groups, metric: Metric, most: int) -> tuple[Ints, Ints, bool]:
    """All pairs of values, or of those that are chosen; and whether that tells everything."""
    n = groups.size
    ends = np.unique(np.array([*groups.starts, *(s - 1 for s in groups.starts if s), n - 1], dtype=np.int64))
    inside = ends[ends < n]
    if isinstance(bare(metric), Line):  # the ends of groups are farthest apart
        return *pairs_of(inside), True
    if n <= most:
        u, v = np.triu_indices(n, 1)
        return u.astype(np.int64), v.astype(np.int64), True
    extremes = [x for extreme in (metric.closest, metric.farthest) if extreme for x in extreme.pair if x < n]
    some = np.linspace(0, n - 1, most).astype(np.int64)
    return *pairs_of(np.append(inside, some), extremes), False


def _by_difference(attribute: Attribute, metric: Metric, own: Ruler) -> Shown:
    """Bars of ε against the difference: what the policy says about an ordered attribute, whole."""
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
    if outlined := [b for b in bars if b["o"]]:  # beyond some difference all are: one frame
        whole = {**outlined[0], "x2": outlined[-1]["x2"], "e": max(b["e"] for b in outlined)}
        layers.append(layer([whole], mark("rect", fill=None, stroke=INK, strokeWidth=1.6), **spot))
    labels = [Tip(f"neighbors: ε {digits(apart(metric, 0, 1))}", 4, INK)]
    if steps > 1:
        labels.append(Tip(f"farthest: ε {digits(float(d[-1]))}", _WIDE - 20, INK))
    if radius is not None and math.isfinite(radius):
        layers += _other_line(radius, y)
    panel = {**heading(clean(attribute.name)), **view(_WIDE, _TALL, [*layers, *tips(labels, _WIDE)])}
    found = (*(float(e) for e in d), *(() if radius is None else (radius,)))
    return Shown(Panel(panel, _WIDE + 45), found, bool(outlined), size > 1)


def _other_line(radius: float, y: Spec) -> list[Spec]:
    values = [{"e": radius, "t": f"“other”: ε {digits(radius)}"}]
    rule = mark("rule", color=INK, strokeDash=[5, 4], strokeWidth=1.2)
    text = mark("text", align="left", baseline="bottom", dy=-3, color=INK)
    return [layer(values, rule, y=y), layer(values, text, y=y, x={"value": 5}, text=nominal("t"))]
