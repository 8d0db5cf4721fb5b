"""Panels of the used budget along one attribute: a table of pairs of values, or bands of distance between places.

Every number is a fraction of the pair's own ε: an absolute rest would look the same for strict and for weak pairs.
A field of the table shows the most used pair of two groups, in the worst context of the other attributes. A band of
distance shows the most used pair, the 99th percentile and the median of its pairs, so that any number of places fits.
Nothing is averaged.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant, LineMetric
from dxprivacy.metrics.place_metrics import Places
from dxprivacy.output.charts.chart_style import INK, Spec, clean, on, pointed_at, quantitative, span
from dxprivacy.output.charts.guarantees.loss_profiles import Moves, sample
from dxprivacy.output.charts.guarantees.policy_picture import worst_of_cells
from dxprivacy.output.charts.layers import LogScale, Tip, heading, layer, mark, tips, with_values, written
from dxprivacy.output.charts.pair_heat import Cell, HeatPanel, heat, pair_of, presence
from dxprivacy.output.charts.shades import SHADES, USED
from dxprivacy.output.charts.value_groups import BANDS, Ruler, ValueGroups, bare, pairs_of, ruler, runs
from dxprivacy.privacy.costs import SumCost
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.blocks import joint_classes

Label = Callable[[int], str]
_WIDE, _TALL = 560, 190


@dataclass(frozen=True)
class UsedPanel:
    """A panel, and the facts about it that the subtitle states."""

    panel: HeatPanel
    found: tuple[float, ...]  # the numbers in the fields of a table
    coarse: bool = False  # some fields stand for several values
    complete: bool = True  # all pairs were evaluated
    bounded: bool = False  # the numbers are upper bounds
    banded: bool = False  # bands of distance
    fractions: Floats = field(default_factory=lambda: np.zeros(0), repr=False)  # of all pairs in bands


def attribute_used(
    spent: SumCost, axis: int, attribute: Attribute, metric: Metric, special: Sequence[int]
) -> UsedPanel:
    """Draw the used budget along one attribute; `special` values are always part of a sample."""
    own = ruler(metric, attribute)
    moves = Moves.along(spent, axis)
    if own is not None and isinstance(bare(metric), Places):
        return bands_used(moves, metric, own, attribute.name, special, attribute.label)
    return _table(moves, axis, attribute, metric, special)


def presence_used(fraction: float, *, bounded: bool) -> UsedPanel:
    """Draw the used budget between a record and its absence."""
    return UsedPanel(presence(fraction, percent_up(fraction), USED), (fraction,), bounded=bounded)


def percent_up(fraction: float) -> str:
    """Format a fraction as whole per cent, rounded up, so that usage is never understated.

    >>> percent_up(0.901), percent_up(0.0), percent_up(1e-9), percent_up(float("inf"))
    ('91', '0', '1', '∞')
    """
    return "∞" if math.isinf(fraction) else str(math.ceil(100 * fraction * (1 - 1e-9)))


def _used_fractions(moves: Moves, metric: Metric, u: Ints, v: Ints) -> Floats:
    """Return the used fraction of each pair's ε; infinite for pairs without a limit."""
    d = metric.pairwise(u, v)
    used, _ = moves.worst(u, v)
    out = np.where(np.isinf(d), np.inf, 0.0)
    limited = np.isfinite(d) & (d > 0)
    out[limited] = np.minimum(used[limited] / d[limited], 1.0)  # the ledger never exceeds 1: only rounding does
    return out


def _table(moves: Moves, axis: int, attribute: Attribute, metric: Metric, special: Sequence[int]) -> UsedPanel:
    groups = ValueGroups.of(attribute)
    u, v, complete = _pairs(moves, axis, metric, groups, special)
    fractions = _used_fractions(moves, metric, u, v)
    ranked = np.where(np.isinf(fractions), -1.0, fractions)  # a limited pair is shown rather than a public one
    cells = []
    for (a, b), k in worst_of_cells(groups, u, v, ranked):
        pair = pair_of(attribute.label, u[k], v[k])
        cells.append(Cell(a, b, float(fractions[k]), percent_up(float(fractions[k])), pair=pair))
    panel = heat(attribute.name, groups.labels, cells, USED)
    found = tuple(cell.value for cell in cells)
    return UsedPanel(panel, found, groups.coarse, complete, moves.bounded)


def _pairs(
    moves: Moves, axis: int, metric: Metric, groups: ValueGroups, special: Sequence[int]
) -> tuple[Ints, Ints, bool]:
    """Return pairs that contain the most used one of each two groups, or a sample; and whether it is complete."""
    size = groups.size
    starts = np.array(groups.starts, dtype=np.int64)
    classes = joint_classes([t.moving(axis) for t in moves.terms], size)
    values = np.arange(size, dtype=np.int64)
    base = bare(metric)
    if isinstance(base, LineMetric) and (np.diff(base.positions) > 0).all():
        listed = base.universe.size
        values = np.append(runs(classes[:listed], groups), np.arange(listed, size))
    elif isinstance(base, Constant):  # values of one class are equivalent: two of each, so that every group has a pair
        at = groups.find(values)
        _, first, inverse = np.unique(at * size + classes, return_index=True, return_inverse=True)
        values = np.union1d(np.union1d(values[first], starts), _second(inverse, first))
    most = math.isqrt(2 * moves.budget)
    complete = len(values) <= most
    if not complete:
        # Sample neighbors together: on a line they are the closest pairs, and so the most used ones.
        some = np.linspace(0, len(values) - 2, most // 2).astype(np.int64)
        values = np.union1d(values[np.union1d(some, some + 1)], starts)
    u, v = pairs_of(values, [x for x in special if x < size])
    return u, v, complete


def _second(inverse: Ints, first: Ints) -> Ints:
    """Return the second value of each class that has one."""
    rest = np.setdiff1d(np.arange(len(inverse), dtype=np.int64), first)
    _, at = np.unique(inverse[rest], return_index=True)
    return rest[at]


def bands_used(
    moves: Moves, metric: Metric, own: Ruler | None, name: str, special: Sequence[int], label: Label
) -> UsedPanel:
    """Draw bands of distance: most used pair, 99th percentile, median; bands of the policy's ε without a distance."""
    size = own.size if own else metric.universe.size - (metric.universe.absent is not None)
    inside = [x for x in special if x < size]
    u, v, complete = sample(size, moves.budget, inside, ordered=False, lags=BANDS)
    if not complete:
        a, b = pairs_of(np.array(inside, dtype=np.int64))
        u, v = np.concatenate([u, a]), np.concatenate([v, b])
    fractions = _used_fractions(moves, metric, u, v)
    x = own.lengths(u, v) if own else metric.pairwise(u, v)
    usable = np.flatnonzero(np.isfinite(fractions) & np.isfinite(x) & (x > 0))
    u, v, x, fractions = u[usable], v[usable], x[usable], fractions[usable]
    unit = f", {clean(own.unit, 20)}" if own and own.unit else ""
    title = f"distance of the pair{unit} (log)" if own else "ε of the pair in the policy (log)"
    view = _bands_view(name, title, u, v, x, fractions, label)
    return UsedPanel(HeatPanel(view, _WIDE + 60), (), False, complete, moves.bounded, True, fractions)


def _bands_view(name: str, title: str, u: Ints, v: Ints, x: Floats, fractions: Floats, label: Label) -> Spec:
    if not len(x):
        nothing = written("no pair of places has a limit", 8, 20, color=INK)
        return {"width": _WIDE, "height": 40, **heading(clean(name)), "layer": [nothing]}
    edges, band = _edges(x)
    log = LogScale.over(edges.tolist(), _WIDE, room=0.01)
    rows, tops = [], []
    for k in np.unique(band).tolist():
        members = np.flatnonzero(band == k)
        worst = int(members[fractions[members].argmax()])
        part = np.sort(fractions[members])
        upper, middle = (float(part[math.ceil(q * len(part)) - 1]) for q in (0.99, 0.5))
        rows.append(
            {
                "lo": log.at(float(edges[k])),
                "hi": log.at(float(edges[k + 1])),
                "worst": float(fractions[worst]),
                "p99": upper,
                "median": middle,
                "pairs": len(members),
                "pair": (pair := pair_of(label, u[worst], v[worst])),
            }
        )
        tops.append((float(fractions[worst]), float(x[worst]), pair))
    return {"width": _WIDE, "height": _TALL, **heading(clean(name)), "layer": _bars(rows, tops, log, title)}


def _edges(x: Floats) -> tuple[Floats, Ints]:
    """Return band edges, equally spaced on a log axis or one band per distance if these are few; and pairs' bands."""
    distances = np.unique(x)
    if len(distances) > BANDS:
        edges = np.geomspace(distances[0], distances[-1], BANDS + 1)
    else:
        inner = np.sqrt(distances[1:] * distances[:-1])
        ratio = float(inner[0] / distances[0]) if len(inner) else 1.5
        last = float(distances[-1] / inner[-1]) if len(inner) else 1.5
        edges = np.concatenate([[distances[0] / ratio], inner, [distances[-1] * last]])
    band = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    return edges, band.astype(np.int64)


def _named(tops: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """Return the closest, the farthest and a middle one of the bands with the most used pairs."""
    most = max(fraction for fraction, _, _ in tops)
    near = sorted((t for t in tops if t[0] > 0 and t[0] >= 0.97 * most), key=lambda t: t[1])
    if not near:
        return []
    return [near[k] for k in sorted({0, len(near) // 2, len(near) - 1})]


def _bars(rows: list[Spec], tops: list[tuple[float, float, str]], log: LogScale, title: str) -> list[Spec]:
    x = quantitative(scale=log.scale, axis={**log.axis(title), "grid": False})
    y = quantitative(scale=span(0, 1), axis={"title": "fraction of the pair’s ε used", "format": ".0%", "tickCount": 4})
    tooltip = pointed_at("pair", "worst", "p99", "median", "pairs")

    def bar(what: str, shade: str) -> Spec:
        look = mark("rect", color=shade, stroke="white", strokeWidth=0.4)
        return layer(rows, look, x=on(x, "lo"), x2={"field": "hi"}, y=on(y, what), y2={"datum": 0}, tooltip=tooltip)

    named = _named(tops)
    dots = [{"x": log.at(x), "y": fraction} for fraction, x, _ in named]
    labels = [Tip(f"{clean(pair, 44)} {percent_up(fraction)} %", log.pixel(x), INK) for fraction, x, pair in named]
    return [
        bar("worst", SHADES[4]),
        bar("p99", SHADES[2]),
        bar("median", SHADES[0]),
        layer([{"y": 1}], mark("rule", strokeDash=[5, 4], color=INK), y=on(y, "y")),
        *with_values([layer(dots, mark("circle", size=36, color=INK, opacity=1), x=on(x, "x"), y=on(y, "y"))]),
        *tips(labels, log.pixels),
    ]
