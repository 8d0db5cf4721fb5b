"""A policy about places as a map: rings of equal ε around some places, and the best protected pair.

If ε is not a function of the distance (Blowfish: shortest paths), places are shaded by their ε from one place instead,
and lines show the edges of the graph.  The subtitle states how many places lie outside the map.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant, Graph
from dxprivacy.metrics.derived_metrics import Capped, CombinedMetric, Scaled
from dxprivacy.metrics.distances import RADIUS_KM
from dxprivacy.metrics.place_metrics import GreatCircle, Places
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK, PALE, Spec, clean, nominal, on, quantitative, span
from dxprivacy.output.charts.layers import bordered, heading, layer, mark, view
from dxprivacy.output.charts.map_layout import WIDE, MapPlane, plane_of, ring_around, rounded, with_all
from dxprivacy.output.charts.pair_heat import HeatPanel
from dxprivacy.output.charts.shades import EPSILON, FILL
from dxprivacy.output.charts.value_groups import bare, to_other
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.wording import digits

_NAMED = 6
_EDGES = 3_000
_DOTS = 5_000
_SMALLEST = 0.015  # of the map's width: the smallest ring that is drawn


@dataclass(frozen=True)
class MapPanel:
    """The map, the ε that are drawn as shades (empty if rings are drawn), and sentences for the subtitle."""

    panel: HeatPanel
    found: tuple[float, ...]
    reading: str


def can_map(attribute: Attribute, metric: Metric) -> TypeGuard[Points]:
    """Return whether the values are places on a plane or on the Earth that are not all the same."""
    if not isinstance(attribute, Points) or attribute.coordinates.shape[1] != 2 or attribute.listed < 2:
        return False
    return bool(np.ptp(attribute.coordinates, axis=0).max() > 0) and math.isfinite(metric.error)


def policy_map(attribute: Points, metric: Metric, *, earth: bool = False, around: int | None = None) -> MapPanel:
    """Draw the map of one attribute: all rings around one place, and the smallest ring around some others.

    `earth` states that coordinates are latitude and longitude if the type of the metric does not show it.
    """
    places = _places(metric)
    plane = plane_of(attribute.coordinates, earth or isinstance(places, GreatCircle))
    middle = _middle(plane, metric) if around is None else around
    if around is not None and not plane.inside[around]:
        plane = with_all(plane)
    spot = _spot(plane)
    levels = _levels(metric, places, plane) if places is not None else []
    found: tuple[float, ...] = ()
    if levels and places is not None:
        layers = [_dots(plane, spot), *_rings(attribute, places, plane, middle, levels, spot)]
        note = f"Bold rings: ε {digits(levels[0][0])}; every place has such rings. "
    else:
        found = _from(metric, middle, attribute.listed)
        layers = _shaded(attribute, metric, plane, middle, found, spot)
        note = f"Shades: ε from {clean(attribute.label(middle), 30)}; lines: one step of the policy. "
    layers += _closest(attribute, metric, plane, spot)
    drawn = {**heading(_title(attribute, bool(levels)), 8), **view(*plane.size, layers), "view": {"stroke": PALE}}
    away = int((~plane.inside).sum())
    left_out = f"{away:,} of {attribute.listed:,} places lie outside and are not drawn. " if away else ""
    return MapPanel(HeatPanel(drawn, WIDE + 10), found, (note + _other(attribute, metric) + left_out).strip())


def _other(attribute: Points, metric: Metric) -> str:
    """Return a sentence on the ε between `other` (missing and invalid entries) and every place."""
    away = to_other(metric, attribute)
    if away is None:
        return ""
    return f"“other” has {'no limit' if math.isinf(away) else f'ε {digits(away)}'} to every place. "


def _title(attribute: Points, rings: bool) -> str:
    name = clean(attribute.name, 30)
    if rings:
        return f"{name}: inside a ring, places are distinguishable from its center by at most its ε"
    return f"{name}: how distinguishable places are from one of them"


def _places(metric: Metric) -> Places | None:
    """Return the metric of places from whose distance ε follows; None if ε is not a function of the distance."""
    metric = bare(metric)
    if isinstance(metric, CombinedMetric) and metric.how == "max":
        found = [part for part in metric.parts if isinstance(part, Places)]
        rest = [part for part in metric.parts if not isinstance(part, Places)]
        return found[0] if len(found) == 1 and all(isinstance(part, Constant) for part in rest) else None
    return metric if isinstance(metric, Places) else None


def reach(metric: Metric, epsilon: float) -> float:
    """Return the distance up to which two places have at most this ε: infinite if all have, 0 if none has.

    >>> from dxprivacy import metrics
    >>> reach(metrics.euclidean([[0, 0], [300, 0]], epsilon_per_unit="0.01"), 2)
    200.0
    >>> reach(metrics.capped(metrics.euclidean([[0, 0], [300, 0]], epsilon_per_unit="0.01"), 2), 2)
    inf
    """
    match metric:
        case WithOther():
            return math.inf if epsilon >= 2 * float(metric.radius) else reach(metric.base, epsilon)
        case Capped():
            return math.inf if epsilon >= float(metric.cap) else reach(metric.base, epsilon)
        case Scaled():
            return reach(metric.base, epsilon / float(metric.factor))
        case CombinedMetric():
            return min(reach(part, epsilon) for part in metric.parts)
        case Constant():
            return math.inf if epsilon >= float(metric.epsilon) else 0.0
        case Places():
            return epsilon / float(metric.per_unit)
        case _:
            return 0.0


def _middle(plane: MapPlane, metric: Metric) -> int:
    """Return the place nearest to the middle of the map; under a graph, one with the most neighbors."""
    if isinstance(graph := bare(metric), Graph):
        degree = np.bincount(np.concatenate(graph.edges), minlength=len(plane.spots))
        return int(np.where(plane.inside, degree, -1).argmax())
    away = np.abs(plane.spots - (plane.low + plane.high) / 2).max(axis=1)
    return int(np.where(plane.inside, away, np.inf).argmin())


def _spot(plane: MapPlane) -> Spec:
    """Return the position channels for the fields `x` and `y`."""
    low, high = plane.low.tolist(), plane.high.tolist()
    return {
        field: quantitative(field, axis=None, scale=span(low[k], high[k], zero=False)) for k, field in enumerate("xy")
    }


def _dots(plane: MapPlane, spot: Spec) -> Spec:
    drawn = np.flatnonzero(plane.inside)
    if len(drawn) > _DOTS:
        drawn = drawn[np.linspace(0, len(drawn) - 1, _DOTS).astype(np.int64)]
    values = [{"x": a, "y": b} for a, b in rounded(plane.spots[drawn])]
    return layer(values, mark("circle", size=12 if len(drawn) > 300 else 22, color=GRAY, opacity=0.7), **spot)


def _levels(metric: Metric, places: Places, plane: MapPlane) -> list[tuple[float, float]]:
    """Return ε and radius of up to three rings: round numbers from the smallest visible ring on."""
    wide = float(plane.high[0] - plane.low[0])
    per = math.radians(1) * float(RADIUS_KM) if plane.turn is not None else 1.0  # of length, per unit of the map
    first = _SMALLEST * wide * per
    exponent = math.floor(math.log10(first * float(places.per_unit))) if first * float(places.per_unit) > 0 else 0
    round_ones = [m * 10.0**k for k in range(exponent - 1, exponent + 4) for m in (1, 2, 5)]
    found = [(e, reach(metric, e)) for e in round_ones]
    fit = [(e, r) for e, r in found if first <= r < wide * per / 2]
    return fit[:3]


def _rings(attribute: Points, places: Places, plane: MapPlane, middle: int, levels: list[tuple[float, float]],
           spot: Spec) -> list[Spec]:  # fmt: skip
    """Draw all rings around the middle place and the smallest ring around some others, with labels."""
    others = _spread(plane, middle)
    lines: list[Spec] = []
    labels, centers = [], []
    for k, (epsilon, radius) in enumerate(levels):
        ring = ring_around(attribute.coordinates[middle], radius, plane, places)
        lines += [{"x": a, "y": b, "r": k, "k": n, "w": 2.4 - 0.7 * k} for n, (a, b) in enumerate(ring)]
        top = max(ring, key=lambda p: p[1])
        distance = f" at {digits(radius)} {places.unit}".rstrip() if k == len(levels) - 1 else ""
        labels.append({"x": top[0], "y": top[1], "t": f"ε {digits(epsilon)}{distance}"})
    for place in (middle, *others):
        ring = ring_around(attribute.coordinates[place], levels[0][1], plane, places)
        if place != middle:
            lines += [{"x": a, "y": b, "r": f"p{place}", "k": n, "w": 2.4} for n, (a, b) in enumerate(ring)]
        x, y = plane.spots[place].tolist()
        centers.append({"x": x, "y": y, "b": min(b for _, b in ring), "t": clean(attribute.label(place), 24)})
    drawn = {"detail": nominal("r"), "order": quantitative("k"), "strokeWidth": quantitative("w", scale=None)}
    above = {"baseline": "bottom", "dy": -3, "color": ACCENT, "fontWeight": "bold", "clip": True}
    below = {"baseline": "top", "dy": 4, "color": INK}
    return [
        layer(lines, mark("line", color=ACCENT, clip=True), **spot, **drawn),
        layer(centers, mark("circle", size=40, color=ACCENT, opacity=1), **spot),
        *bordered(labels, above, **spot),
        *bordered(centers, below, x=spot["x"], y=on(spot["y"], "b")),
    ]


def _spread(plane: MapPlane, middle: int) -> list[int]:
    """Select places far from each other and from the middle (greedy farthest-point selection)."""
    inside = plane.inside
    room = 0.08 * (plane.high - plane.low)
    well = inside & ((plane.spots > plane.low + room) & (plane.spots < plane.high - room)).all(axis=1)
    away = np.hypot(*(plane.spots - plane.spots[middle]).T)
    least = 0.25 * float((plane.high - plane.low).max())
    chosen: list[int] = []
    while len(chosen) < _NAMED:
        far = np.where(well, away, -1.0)
        k = int(far.argmax())
        if far[k] < least:
            break
        chosen.append(k)
        away = np.minimum(away, np.hypot(*(plane.spots - plane.spots[k]).T))
    return chosen


def _from(metric: Metric, middle: int, listed: int) -> tuple[float, ...]:
    others = np.arange(listed, dtype=np.int64)
    return tuple(metric.pairwise(np.full(listed, middle, dtype=np.int64), others).tolist())


def _shaded(attribute: Points, metric: Metric, plane: MapPlane, middle: int, epsilons: Sequence[float],
            spot: Spec) -> list[Spec]:  # fmt: skip
    """Draw places shaded by their ε from the middle one, with the edges of the metric if it is a graph."""
    drawn = [k for k in np.flatnonzero(plane.inside).tolist() if k != middle][:_DOTS]
    spots = rounded(plane.spots)
    dots = [{"x": spots[k][0], "y": spots[k][1], "c": EPSILON.shade(epsilons[k])} for k in drawn]
    center = [{"x": spots[middle][0], "y": spots[middle][1], "t": clean(attribute.label(middle), 30)}]
    layers: list[Spec] = []
    if isinstance(graph := bare(metric), Graph):
        ends = list(zip(graph.edges[0].tolist(), graph.edges[1].tolist(), strict=True))
        if len(ends) > _EDGES:
            ends = [pair for pair in ends if middle in pair]
        steps = [{"x": spots[a][0], "y": spots[a][1], "x2": spots[b][0], "y2": spots[b][1]} for a, b in ends]
        rule = mark("rule", color=GRAY, strokeWidth=0.6, clip=True)
        layers.append(layer(steps, rule, **spot, x2={"field": "x2"}, y2={"field": "y2"}))
    diamond = mark("point", shape="diamond", filled=True, size=110, color=INK, opacity=1)
    return [
        *layers,
        layer(dots, mark("circle", size=34, stroke=GRAY, strokeWidth=0.7, opacity=1), **spot, color=FILL),
        layer(center, diamond, **spot),
        *bordered(center, {"baseline": "top", "dy": 8, "color": INK, "fontWeight": "bold"}, **spot),
    ]


def _closest(attribute: Points, metric: Metric, plane: MapPlane, spot: Spec) -> list[Spec]:
    """Mark the best protected pair if it is on the map."""
    near = metric.closest
    if near is None or max(near.pair) >= attribute.listed or not plane.inside[list(near.pair)].all():
        return []
    x, y = plane.spots[near.pair[0]].tolist()
    a, b = (clean(attribute.label(k), 24) for k in near.pair)
    values = [{"x": x, "y": y, "t": f"{a} – {b}: ε {digits(near.distance)}"}]
    left = x > float((plane.low[0] + plane.high[0]) / 2)
    side = {"align": "right", "dx": -9} if left else {"align": "left", "dx": 9}
    square = mark("point", shape="square", size=60, stroke=INK, strokeWidth=1.4, opacity=1)
    return [layer(values, square, **spot), *bordered(values, {**side, "color": INK, "fontStyle": "italic"}, **spot)]
