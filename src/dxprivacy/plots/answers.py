"""`plots.release`: the answers with their intervals, as they were released (UX `release`).

Up to some fifty answers of a question stand in rows; more stand side by side in their order, and very many in bins
of neighbours: a bin shows its median answer and everything between the lowest and the highest end of its intervals.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.plots.picture import Picture
from dxprivacy.plots.style import ACCENT, CONFIG, GREY, PALE, WIDTH, clean, distinct, headed, written
from dxprivacy.release.release import TOO_FEW, Release, Row
from dxprivacy.screens.release import number
from dxprivacy.wording import plural

ROWS = 52
BINS = 140
PANELS = 8
TALL = 200


def release_picture(release: Release) -> Picture:
    """Every answer with its 95 % interval, from the release alone.

    >>> rows = (Row("M", "count by sex", 40, 35, 45, "", False), Row("F", "count by sex", 60, 55, 65, "", False))
    >>> release_picture(Release("7f3a", rows, (), 100, {}))
    Picture('count by sex, as released')
    """
    if not isinstance(release, Release):
        raise UsageError(
            f"a release is needed, not a {type(release).__name__}", hints=["dx.plots.release(session.release(plan))"]
        )
    every = panels_of(release.answers)
    shown = every[:PANELS]
    views = [_rows(name, rows, len(shown) > 1) if len(rows) <= ROWS else _strip(name, rows) for name, rows in shown]
    return Picture.of(
        {
            "description": "Released answers with intervals",
            "title": headed(_finding(release, every), _reading(release, shown, len(every))),
            "spacing": 24,
            "vconcat": views,
            "resolve": {"scale": {"x": "independent", "y": "independent"}},
            "config": CONFIG,
        }
    )


def panels_of(answers: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Answers of one question together; questions for one number each share a panel if they share a unit."""
    questions: dict[str, list[Row]] = {}
    for row in answers:
        questions.setdefault(row.question, []).append(row)
    out: dict[tuple[str, str], list[Row]] = {}
    for name, rows in questions.items():
        key = (name, "") if len(rows) > 1 else ("", rows[0].unit)
        out.setdefault(key, []).extend(rows)
    return [(name, rows) for (name, _), rows in out.items()]


def domain_of(rows: Sequence[Row]) -> tuple[float, float]:
    """What the intervals need; with 0 unless they would be too narrow to see then."""
    low, high = min(min(r.low, r.value) for r in rows), max(max(r.high, r.value) for r in rows)
    widest = max(r.high - r.low for r in rows)
    if widest == 0 or widest > 0.04 * max(abs(low), abs(high)):
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return low - 1.0, high + 1.0
    room = 0.03 * (high - low)
    return low - room * (low != 0), high + room * (high != 0)


def _rows(name: str, rows: Sequence[Row], headed_: bool) -> dict[str, Any]:
    low, high = domain_of(rows)
    order = distinct(clean(r.label) for r in rows)
    values = [
        {"q": label, "v": r.value, "lo": r.low, "hi": r.high, "t": _said(r)}
        for label, r in zip(order, rows, strict=True)
    ]
    known = [v for v, r in zip(values, rows, strict=True) if not r.vague]
    vague = [v for v, r in zip(values, rows, strict=True) if r.vague]
    unit = next((r.unit for r in rows if r.unit), "")
    axis = {"title": clean(unit) or None, "format": number_format(low, high), "tickCount": 5}
    y = {"field": "q", "type": "nominal", "sort": order, "axis": {"title": None, "grid": False}}
    x = {"type": "quantitative", "scale": {"domain": [low, high], "nice": False, "zero": False}, "axis": axis}

    def layer(data: list[dict[str, Any]], field: str, mark: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"data": {"values": data}, "mark": mark, "encoding": {"y": y, "x": {**x, "field": field}, **more}}

    bar = {"type": "rule", "strokeWidth": 5}
    text = {"text": {"field": "t", "type": "nominal"}}
    layers = [
        layer(vague, "lo", {**bar, "color": PALE}, x2={"field": "hi"}),
        layer(known, "lo", {**bar, "color": ACCENT, "opacity": 0.35}, x2={"field": "hi"}),
        layer(known, "v", {"type": "circle", "size": 46, "color": ACCENT, "opacity": 1}),
        layer(values, "hi", {"type": "text", "align": "left", "dx": 8, "color": GREY}, **text),
    ]
    view: dict[str, Any] = {
        "width": WIDTH - 80,
        "height": (20 if len(rows) <= 24 else 17) * len(rows),
        "layer": [each for each in layers if each["data"]["values"]],
    }
    if name and headed_:
        view["title"] = {"text": clean(name, 70), "fontSize": 12, "offset": 6}
    return view


def _strip(name: str, rows: Sequence[Row]) -> dict[str, Any]:
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
    low, high = domain_of(rows)
    wide = (WIDTH - 20) / len(bins)
    x = {"field": "k", "type": "quantitative", "axis": None, "scale": {"domain": [0, len(bins)], "nice": False}}
    unit = next((r.unit for r in rows if r.unit), "")
    y = {
        "type": "quantitative",
        "scale": {"domain": [low, high], "nice": False, "zero": False},
        "axis": {"title": clean(unit) or None, "format": number_format(low, high), "tickCount": 5},
    }
    tooltip = [{"field": f, "type": "nominal"} for f in ("answers", "v", "lo", "hi")]
    bar = {"type": "rule", "color": ACCENT, "opacity": 0.35, "strokeWidth": max(1, min(5, 0.8 * wide))}
    dot = {"type": "circle", "size": max(6, min(46, wide**2)), "color": ACCENT, "opacity": 1}
    layers = [
        {"mark": bar, "encoding": {"x": x, "y": {**y, "field": "lo"}, "y2": {"field": "hi"}, "tooltip": tooltip}},
        {"mark": dot, "encoding": {"x": x, "y": {**y, "field": "v"}, "tooltip": tooltip}},
        *end_labels(rows),
    ]
    return {
        "width": WIDTH - 20,
        "height": TALL,
        "data": {"values": values},
        "layer": layers,
        "title": {"text": clean(f"{name or 'answers'}: {len(rows):,} in order", 70), "fontSize": 12, "offset": 6},
    }


def end_labels(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The first, the middle and the last label under a strip."""
    places = ((0.0, "left", 0), (0.5, "center", len(rows) // 2), (1.0, "right", len(rows) - 1))
    return [
        written(clean(rows[k].label, 26), at * (WIDTH - 20), TALL + 8, align=side, baseline="top")
        for at, side, k in places
    ]


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


def number_format(low: float, high: float) -> str:
    """How an axis writes its numbers."""
    big = max(abs(low), abs(high))
    return "~s" if big >= 1e7 else "~e" if big < 1e-4 else ",~r"


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
    return ". ".join(parts) + "."
