"""`plots.release`: the released answers with their intervals.

If a query has very many answers, consecutive answers share a mark. It shows the range of the answers, and the range
from the lowest to the highest end of their intervals.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dxprivacy.output.charts.chart_style import (
    ACCENT,
    GRAY,
    PALE,
    Spec,
    clean,
    distinct,
    extent_of,
    in_rows,
    nominal,
    on,
    pointed_at,
    quantitative,
    sentences,
    span,
)
from dxprivacy.output.charts.layers import layer, mark, several, shared
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.output.charts.released.answer_map import MAPS, density_view, map_view, maps_of
from dxprivacy.output.charts.released.answer_panels import (
    PANELS,
    ROWS,
    STRIP,
    AnswerPanel,
    heat_of,
    heat_view,
    number_channel,
    panels_of,
    row_view,
    strip_view,
)
from dxprivacy.output.text.release_text import number, widths
from dxprivacy.queries.kinds.densities import Density
from dxprivacy.releases.geojson import on_earth, places_of
from dxprivacy.releases.release import TOO_FEW, Release, Row
from dxprivacy.wording import plural

BINS = 240
STRIPS = 6  # strips of one table
_LEAST_AREA = 8  # answers


def release_picture(release: Release) -> Picture:
    """Draw every answer with its 95 % interval, from the release alone.

    >>> import dxprivacy as dx
    >>> rows = (Row("M", "count by sex", 40, 35, 45, "", False), Row("F", "count by sex", 60, 55, 65, "", False))
    >>> dx.plots.release(Release(name="7f3a", answers=rows, guarantee=(), records=100, facts={}))
    Picture('count by sex, as released')
    """
    require(release, Release, "a release", ["dx.plots.release(session.release(plan))"])
    every = panels_of(release.answers)
    shown = every[:PANELS]
    alone = len(shown) == 1
    where, earth = (places_of(release.facts), on_earth(release.facts)) if shown else ({}, False)
    extent = extent_of(clean(label) for panel in shown if len(panel.rows) <= ROWS for label in panel.labels)
    views = [
        view
        for panel in shown
        for view in _views(panel, "" if alone else panel.name, where, earth=earth, extent=extent)
    ]
    title, reading = _finding(release, every), _reading(release, shown, len(every))
    return several(views, title, reading, description="Released answers with intervals")


def panel_pictures(release: Release, panel: AnswerPanel) -> list[Picture]:
    """Return each view of a panel as a picture without title, for pages, where all are aligned with the text."""
    views = _views(panel, "", places_of(release.facts), earth=on_earth(release.facts))
    return [several([view], "", "", description=clean(panel.name, 100) or "Released answers") for view in views]


def _views(
    panel: AnswerPanel, name: str, places: Mapping[str, Mapping[str, Any]], *, earth: bool, extent: float = 0.0
) -> list[Spec]:
    """Draw a panel: a map for places, a heat map for a two-way table, rows or strips otherwise."""
    if maps := maps_of(panel):
        where = next((places[known] for known in places if f" {known} " in f" {panel.name} "), {})
        return [density_view(each, name, where) for each in maps[:MAPS]]
    crosstab = heat_of(panel)
    if crosstab is not None and not along_a_line(panel):
        return [heat_view(name, crosstab)]
    on_map = map_view(panel, places, earth=earth)
    views = [] if on_map is None else [on_map]
    if along_a_line(panel):
        return [*views, *(_area(part.name or name, part) for part in _parts(panel))]
    if len(panel.rows) <= ROWS:
        return [*views, _rows(name, panel, extent)]
    return [*views, *(_strip(part.name or name, part) for part in _parts(panel))]


def _parts(panel: AnswerPanel) -> list[AnswerPanel]:
    """Split a long two-way table into one strip for each group of the shorter direction, if these are few."""
    table = panel.table
    crosstab = None if table is None else table.crosstab
    if table is None or crosstab is None or min(len(crosstab.down), len(crosstab.across)) > STRIPS:
        return [replace(panel, name="")]
    columns = table.columns
    if len(crosstab.down) > len(crosstab.across):
        crosstab, columns = crosstab.turned, columns[::-1]
    labels = tuple(f"{columns[1]} {text}" if not text[:1].isalpha() else text for text in crosstab.across)
    return [
        AnswerPanel(f"{panel.name}: {columns[0]} {text}", labels, line)
        for text, line in zip(crosstab.down, crosstab.cells, strict=True)
    ]


def _rows(name: str, panel: AnswerPanel, extent: float) -> Spec:
    rows = panel.rows
    order = distinct(map(clean, panel.labels))
    values = [
        {"q": label, "v": r.value, "lo": r.low, "hi": r.high, "t": _said(r)}
        for label, r in zip(order, rows, strict=True)
    ]
    known = [v for v, r in zip(values, rows, strict=True) if not r.vague]
    vague = [v for v, r in zip(values, rows, strict=True) if r.vague]
    y, x = in_rows(order, extent), number_channel(rows)
    interval = {"y": y, "x": on(x, "lo"), "x2": {"field": "hi"}}
    layers = [
        layer(vague, mark("rule", strokeWidth=5, color=PALE), **interval),
        layer(known, mark("rule", strokeWidth=5, color=ACCENT, opacity=0.35), **interval),
        layer(known, mark("circle", size=46, color=ACCENT, opacity=1), y=y, x=on(x, "v")),
        layer(values, mark("text", align="left", dx=8, color=GRAY), y=y, x=on(x, "hi"), text=nominal("t")),
    ]
    return row_view(name, len(rows), layers)


def along_a_line(panel: AnswerPanel) -> bool:
    """Return whether the answers are a density along a line, which is drawn as one line."""
    table = panel.table
    return table is not None and table.query.startswith(f"{Density.ask} ") and len(panel.rows) >= _LEAST_AREA


def _area(name: str, panel: AnswerPanel) -> Spec:
    """Draw a line through all answers in their order, in the band of their intervals."""
    rows, labels = panel.rows, panel.labels
    values = [
        {"k": k + 0.5, "v": row.value, "lo": row.low, "hi": row.high, "answers": clean(label, 80)}
        for k, (row, label) in enumerate(zip(rows, labels, strict=True))
    ]
    x = quantitative("k", axis=None, scale=span(0, len(rows)))
    y = number_channel(rows)
    tooltip = pointed_at("answers", "v", "lo", "hi")
    band, line = mark("area", color=ACCENT, opacity=0.25), mark("line", color=ACCENT, strokeWidth=2)
    layers = [
        shared(band, x=x, y=on(y, "lo"), y2={"field": "hi"}),
        shared(line, x=x, y=on(y, "v")),
        shared(mark("circle", size=16, color=ACCENT, opacity=0.01), x=x, y=on(y, "v"), tooltip=tooltip),
    ]
    return strip_view(name, labels, layers, {"data": {"values": values}})


def _strip(name: str, panel: AnswerPanel) -> Spec:
    """Draw answers side by side in their order; consecutive ones share a mark if there are very many."""
    rows, labels = panel.rows, panel.labels
    size = math.ceil(len(rows) / BINS)
    bins = [range(k, min(k + size, len(rows))) for k in range(0, len(rows), size)]
    values = [
        {
            "k": k + 0.5,
            "v": min(rows[n].value for n in group),
            "w": max(rows[n].value for n in group),
            "lo": min(rows[n].low for n in group),
            "hi": max(rows[n].high for n in group),
            "answers": clean(labels[group[0]] + (f" … {labels[group[-1]]}" if len(group) > 1 else ""), 80),
        }
        for k, group in enumerate(bins)
    ]
    wide = STRIP / len(bins)
    x = quantitative("k", axis=None, scale=span(0, len(bins)))
    y = number_channel(rows)
    tooltip = pointed_at("answers", "v", *(["w"] if size > 1 else []), "lo", "hi")
    bar = mark("rule", color=ACCENT, opacity=0.35, strokeWidth=max(1, min(5, 0.8 * wide)))
    dot = mark("circle", size=max(6, min(46, wide**2)), color=ACCENT, opacity=1)
    reach = mark("rule", color=ACCENT, strokeWidth=max(2, min(5, 0.8 * wide)), strokeCap="round")
    layers = [
        shared(bar, x=x, y=on(y, "lo"), y2={"field": "hi"}, tooltip=tooltip),
        shared(dot, x=x, y=on(y, "v"), tooltip=tooltip)
        if size == 1
        else shared(reach, x=x, y=on(y, "v"), y2={"field": "w"}, tooltip=tooltip),
    ]
    return strip_view(name, labels, layers, {"data": {"values": values}})


def _said(row: Row) -> str:
    if row.vague:
        return TOO_FEW
    value = number(row.value, row.low, row.high)
    if row.exact:
        return f"{value} exact"
    up, down = row.high - row.value, row.value - row.low
    if math.isclose(up, down, rel_tol=1e-6, abs_tol=1e-9 * max(abs(row.value), 1e-9)):
        return f"{value} ± {number(up, 0.0, up)}"
    return f"{value} ({number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)})"


def _finding(release: Release, every: Sequence[AnswerPanel]) -> str:
    policy: Mapping[str, Any] = release.facts.get("policy") or {}
    about = f"{policy['title']}: " if policy.get("title") else ""
    if len(every) == 1 and every[0].name:
        return f"{about}{clean(every[0].name, 70)}, as released"
    return f"{about}{plural(len(release.answers), 'answer')}, as released"


def _reading(release: Release, shown: Sequence[AnswerPanel], panels: int) -> str:
    maps = [panel for panel in shown if maps_of(panel)]
    lines = [panel for panel in shown if along_a_line(panel) and panel not in maps]
    heats = [panel for panel in shown if heat_of(panel) is not None and panel not in (*maps, *lines)]
    listed = [panel for panel in shown if panel not in (*maps, *lines, *heats)]
    parts = []
    if maps:
        reach = widths([row for panel in maps for row in panel.rows if not row.exact])
        parts.append(f"Map: noisy counts of records that were spread around their places, {reach} for 95 %")
        parts.append("Gray: uninformative. White: no place is near")
    if lines:
        parts.append(
            f"Line: noisy counts along a line, in the band of their 95 % intervals, which cover {release.covered}"
        )
    if listed or not (heats or maps or lines):
        parts.append(f"Dot: noisy answer. Bar: 95 % interval, which covers {release.covered}")
    if heats:
        reach = widths([row for panel in heats for row in panel.rows])
        parts.append(f"Shaded tables: noisy answers, {reach}, darker for larger ones")
    if max((len(panel.rows) for panel in listed), default=0) > BINS:
        parts.append("Several answers share a mark: from the lowest to the highest, bar over all their intervals")
    if any(r.vague for panel in listed for r in panel.rows):
        parts.append("Gray: too few records to say")
    if release.records is not None:
        parts.append(f"{plural(release.records, 'record')}")
    if panels > len(shown):
        parts.append(f"{len(shown)} of {panels} panels shown")
    return sentences(parts)
