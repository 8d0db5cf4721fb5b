"""`plots.release`: the answers with their intervals, as they were released (UX `release`).

Very many answers of a question stand in bins of neighbours: a bin shows its median answer and everything between the
lowest and the highest end of its intervals.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from dxprivacy.plots.answer_panels import PANELS, ROWS, STRIP, number_channel, panels_of, row_view, strip_view
from dxprivacy.plots.channels import Spec, in_rows, nominal, on, pointed_at, quantitative, span
from dxprivacy.plots.layers import layer, mark, several, shared
from dxprivacy.plots.picture import Picture, require
from dxprivacy.plots.style import ACCENT, GREY, PALE, clean, distinct, sentences
from dxprivacy.release.release import TOO_FEW, Release, Row
from dxprivacy.screens.release import number
from dxprivacy.wording import plural

BINS = 140


def release_picture(release: Release) -> Picture:
    """Every answer with its 95 % interval, from the release alone.

    >>> rows = (Row("M", "count by sex", 40, 35, 45, "", False), Row("F", "count by sex", 60, 55, 65, "", False))
    >>> release_picture(Release(name="7f3a", answers=rows, promise=(), records=100, facts={}))
    Picture('count by sex, as released')
    """
    require(release, Release, "a release", ["dx.plots.release(session.release(plan))"])
    every = panels_of(release.answers)
    shown = every[:PANELS]
    alone = len(shown) == 1
    views = [_strip(name, rows) if len(rows) > ROWS else _rows("" if alone else name, rows) for name, rows in shown]
    title, reading = _finding(release, every), _reading(release, shown, len(every))
    return several(views, title, reading, description="Released answers with intervals")


def _rows(name: str, rows: Sequence[Row]) -> Spec:
    order = distinct(clean(r.label) for r in rows)
    values = [
        {"q": label, "v": r.value, "lo": r.low, "hi": r.high, "t": _said(r)}
        for label, r in zip(order, rows, strict=True)
    ]
    known = [v for v, r in zip(values, rows, strict=True) if not r.vague]
    vague = [v for v, r in zip(values, rows, strict=True) if r.vague]
    y, x = in_rows(order), number_channel(rows)
    interval = {"y": y, "x": on(x, "lo"), "x2": {"field": "hi"}}
    layers = [
        layer(vague, mark("rule", strokeWidth=5, color=PALE), **interval),
        layer(known, mark("rule", strokeWidth=5, color=ACCENT, opacity=0.35), **interval),
        layer(known, mark("circle", size=46, color=ACCENT, opacity=1), y=y, x=on(x, "v")),
        layer(values, mark("text", align="left", dx=8, color=GREY), y=y, x=on(x, "hi"), text=nominal("t")),
    ]
    return row_view(name, len(rows), layers)


def _strip(name: str, rows: Sequence[Row]) -> Spec:
    """Answers side by side in their order, in bins where they are many."""
    size = math.ceil(len(rows) / BINS)
    bins = [rows[k : k + size] for k in range(0, len(rows), size)]
    values = [
        {
            "k": k + 0.5,
            "v": median_low(r.value for r in group),
            "lo": min(r.low for r in group),
            "hi": max(r.high for r in group),
            "answers": clean(group[0].label + (f" … {group[-1].label}" if len(group) > 1 else ""), 80),
        }
        for k, group in enumerate(bins)
    ]
    wide = STRIP / len(bins)
    x = quantitative("k", axis=None, scale=span(0, len(bins)))
    y = number_channel(rows)
    told = pointed_at("answers", "v", "lo", "hi")
    bar = mark("rule", color=ACCENT, opacity=0.35, strokeWidth=max(1, min(5, 0.8 * wide)))
    dot = mark("circle", size=max(6, min(46, wide**2)), color=ACCENT, opacity=1)
    layers = [
        shared(bar, x=x, y=on(y, "lo"), y2={"field": "hi"}, tooltip=told),
        shared(dot, x=x, y=on(y, "v"), tooltip=told),
    ]
    return strip_view(name, rows, layers, {"data": {"values": values}})


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


def _finding(release: Release, every: Sequence[tuple[str, list[Row]]]) -> str:
    policy: Mapping[str, Any] = release.facts.get("policy") or {}
    about = f"{policy['title']}: " if policy.get("title") else ""
    if len(every) == 1 and every[0][0]:
        return f"{about}{clean(every[0][0], 70)}, as released"
    return f"{about}{plural(len(release.answers), 'answer')}, as released"


def _reading(release: Release, shown: Sequence[tuple[str, list[Row]]], panels: int) -> str:
    parts = [f"Dot: noisy answer. Bar: 95 % interval, which covers {release.covered}"]
    most = max((len(rows) for _, rows in shown), default=0)
    if most > BINS:
        parts.append("Many answers are binned: dot at their median, bar over all their intervals")
    if any(r.vague for _, rows in shown for r in rows):
        parts.append("Grey: too few records to say")
    if release.records is not None:
        parts.append(f"{plural(release.records, 'record')}")
    if panels > len(shown):
        parts.append(f"{len(shown)} of {panels} panels shown")
    return sentences(parts)
