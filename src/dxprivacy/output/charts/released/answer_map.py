"""Released answers about places, on a map: where each place lies, or the middle of those that a group holds.

Where places lie is public, and stands in the release with the possible records.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.output.charts.channels import Spec, itself, pointed_at, quantitative, span
from dxprivacy.output.charts.chart_style import GRAY, INK, PALE, clean
from dxprivacy.output.charts.layers import bordered, heading, layer, mark, view
from dxprivacy.output.charts.map_layout import plane_of, rounded
from dxprivacy.output.charts.released.answer_heat import classes
from dxprivacy.output.charts.released.answer_panels import AnswerPanel
from dxprivacy.output.charts.shades import SHADES
from dxprivacy.output.text.release_text import number
from dxprivacy.releases.release import Row

MOST = 5_000  # places
_FEWEST = 3
_NAMED = 8
_PER_CHARACTER, _LINE = 5.7, 14.0
_LARGEST = 420  # of a dot, in square pixels


def map_view(panel: AnswerPanel, places: Mapping[str, Mapping[str, Floats]], *, earth: bool) -> Spec | None:
    """The answers at their places, larger and darker dots for larger ones; None where they have no places."""
    table = panel.table
    if table is None or len(table.columns) != 1 or not _FEWEST <= len(table) <= MOST:
        return None
    known = places.get(table.columns[0], {})
    found = [
        (known[label], label, row) for (label,), row in zip(table.groups, table.answers, strict=True) if label in known
    ]
    if len(found) < len(table) or not found:
        return None
    coordinates = np.array([at for at, _, _ in found])
    if float(np.ptp(coordinates, axis=0).max()) == 0:
        return None
    plane = plane_of(coordinates, earth)
    inside = plane.inside
    rows = [row for _, _, row in found]
    largest = max((abs(row.value) for row in rows if not row.vague), default=0.0) or 1.0
    values: list[Spec] = []
    for k, ((x, y), (_, label, row), shade) in enumerate(zip(rounded(plane.spots), found, classes(rows), strict=True)):
        if inside[k]:
            values.append(_dot(x, y, label, row, shade, largest))
    values.sort(key=lambda v: -v["size"])  # small ones are drawn above large ones
    low, high = plane.low.tolist(), plane.high.tolist()
    spot: Spec = {f: quantitative(f, axis=None, scale=span(low[k], high[k], zero=False)) for k, f in enumerate("xy")}
    size = {"size": quantitative("size", scale=None)}
    dot = mark("circle", stroke=GRAY, strokeWidth=0.7, opacity=0.9)
    named = _apart([v for v in values if v["t"]], low, high, plane.size)
    layers = [
        layer(values, dot, **spot, **size, fill=itself("c"), tooltip=pointed_at("label", "v", "lo", "hi")),
        *bordered(named, {"baseline": "top", "dy": 9, "color": INK, "clip": True}, **spot),
    ]
    away = int((~inside).sum())
    outside = f"; {away:,} lie outside and are not drawn" if away else ""
    title = clean(f"{panel.name} on the map: larger and darker for larger answers{outside}", 100)
    return {**heading(title, 8), **view(*plane.size, layers), "view": {"stroke": PALE}}


def _apart(
    values: Sequence[Spec], low: Sequence[float], high: Sequence[float], size: tuple[float, float]
) -> list[Spec]:
    """The first few whose names do not touch one another."""
    taken: list[tuple[float, float, float]] = []  # left, right, height
    out = []
    for value in values:
        x, y = ((value[f] - low[k]) / (high[k] - low[k]) * size[k] for k, f in enumerate("xy"))
        half = len(value["t"]) * _PER_CHARACTER / 2
        if all(x + half < a or x - half > b or abs(y - h) > _LINE for a, b, h in taken):
            taken.append((x - half, x + half, y))
            out.append(value)
        if len(out) == _NAMED:
            break
    return out


def _dot(x: float, y: float, label: str, row: Row, shade: int | None, largest: float) -> Spec:
    said = "" if row.vague else f"{clean(label, 24)} {number(row.value, row.low, row.high)}"
    return {
        "x": x,
        "y": y,
        "label": clean(label, 40),
        "v": row.value,
        "lo": row.low,
        "hi": row.high,
        "t": said,
        "c": "white" if shade is None else SHADES[::-1][shade],
        "size": float(f"{max(_LARGEST * (0.0 if row.vague else abs(row.value)) / largest, 14):.4g}"),
    }
