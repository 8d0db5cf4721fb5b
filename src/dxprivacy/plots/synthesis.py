"""`plots.synthesis`: released intervals as bars, and the answers of synthetic records as dots on them.

Up to some fifty answers of a question stand in rows, on the axis of their answers.  More stand side by side in their
order, each measured by its own interval; of very many, the worst of each few neighbours.
"""

import math
from collections.abc import Sequence
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.plots.answers import PANELS, ROWS, TALL, domain_of, end_labels, number_format, panels_of
from dxprivacy.plots.picture import Picture
from dxprivacy.plots.style import ACCENT, CONFIG, GREY, INK, PALE, WIDTH, clean, distinct, headed
from dxprivacy.release.release import Row
from dxprivacy.screens.release import number
from dxprivacy.synthetic.report import Compared, Report
from dxprivacy.wording import plural

DOTS = 1_500
_FARTHEST = 2.5  # half-widths; what lies farther outside is drawn on the edge
_SIDES = "datum.value < 0 ? 'lower end' : datum.value > 0 ? 'upper end' : 'middle'"
_BAR = {"type": "rule", "color": ACCENT, "opacity": 0.35}


def synthesis_picture(report: Report) -> Picture:
    """Every released interval with the synthetic answer, from the report alone.

    >>> row = Row("M", "count by sex", 40, 35, 45, "", False)
    >>> synthesis_picture(Report((Compared("M", "count by sex", "", 42.0, row),), 100))
    Picture('The synthetic answer lies within the released 95 % interval')
    """
    if not isinstance(report, Report):
        raise UsageError(
            f"a report is needed, not a {type(report).__name__}", hints=["session.synthesize(plan).report"]
        )
    if not report.compared:
        raise UsageError("nothing was released that synthetic answers could be compared with")
    # Keyed by the row's identity: two answers may look alike.
    answers = {id(a.released): a for a in report.compared}
    every = panels_of([a.released for a in report.compared if a.released is not None])
    shown = [(name, [answers[id(row)] for row in rows]) for name, rows in every[:PANELS]]
    views = [_rows(name, of, len(shown) > 1) if len(of) <= ROWS else _strip(name, of) for name, of in shown]
    title = report.summary[0].upper() + report.summary[1:]
    return Picture.of(
        {
            "description": "Released intervals and synthetic answers",
            "title": headed(title, _reading(report, shown, len(every))),
            "spacing": 24,
            "vconcat": views,
            "resolve": {"scale": {"x": "independent", "y": "independent"}},
            "config": CONFIG,
        }
    )


def _reach(answers: Sequence[Compared]) -> tuple[float, float]:
    """The axis: all intervals and all dots."""
    rows = [a.released for a in answers if a.released is not None]
    dots = [Row("", "", a.synthetic, a.synthetic, a.synthetic, "", False) for a in answers]
    return domain_of([*rows, *dots])


def _drawn(answer: Compared) -> dict[str, Any]:
    row = answer.released
    if row is None:
        raise TypeError("nothing was released")
    said = number(answer.synthetic, row.low, row.high) if row.high > row.low else number(answer.synthetic, 0, 0)
    return {
        "lo": row.low,
        "hi": row.high,
        "v": row.value,
        "s": answer.synthetic,
        "end": max(row.high, answer.synthetic),
        "t": said if answer.inside else f"{said}, outside",
        "vague": row.vague,
        "inside": bool(answer.inside),
        "released": f"{number(row.value, row.low, row.high)} "
        f"({number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)})",
    }


def _dots(values: list[dict[str, Any]], size: float) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Synthetic answers: filled inside, open outside."""
    return [
        ([v for v in values if v["inside"]], {"type": "circle", "size": size, "color": INK, "opacity": 1}),
        (
            [v for v in values if not v["inside"]],
            {"type": "point", "size": size, "stroke": INK, "fill": "white", "opacity": 1, "strokeWidth": 1.4},
        ),
    ]


def _rows(name: str, answers: Sequence[Compared], headed_: bool) -> dict[str, Any]:
    low, high = _reach(answers)
    order = distinct(clean(a.label) for a in answers)
    values = [{"q": label, **_drawn(a)} for label, a in zip(order, answers, strict=True)]
    unit = next((a.unit for a in answers if a.unit), "")
    axis = {"title": clean(unit) or None, "format": number_format(low, high), "tickCount": 5}
    y = {"field": "q", "type": "nominal", "sort": order, "axis": {"title": None, "grid": False}}
    x = {"type": "quantitative", "scale": {"domain": [low, high], "nice": False, "zero": False}, "axis": axis}
    tooltip = [{"field": f, "type": "nominal"} for f in ("q", "released", "s")]

    def layer(data: list[dict[str, Any]], at: str, mark: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"data": {"values": data}, "mark": mark, "encoding": {"y": y, "x": {**x, "field": at}, **more}}

    bar = {**_BAR, "strokeWidth": 7}
    tick = {"type": "tick", "color": ACCENT, "thickness": 2, "size": 11}
    known, vague = [v for v in values if not v["vague"]], [v for v in values if v["vague"]]
    layers = [
        layer(vague, "lo", {**bar, "color": PALE, "opacity": 1}, x2={"field": "hi"}),
        layer(known, "lo", bar, x2={"field": "hi"}),
        layer(known, "v", tick),
        *(layer(some, "s", mark, tooltip=tooltip) for some, mark in _dots(values, 40)),
        layer(
            values,
            "end",
            {"type": "text", "align": "left", "dx": 9, "color": GREY},
            text={"field": "t", "type": "nominal"},
        ),
    ]
    view: dict[str, Any] = {
        "width": WIDTH - 80,
        "height": (20 if len(answers) <= 24 else 17) * len(answers),
        "layer": [each for each in layers if each["data"]["values"]],
    }
    if name and headed_:
        view["title"] = {"text": clean(name, 70), "fontSize": 12, "offset": 6}
    return view


def _strip(name: str, answers: Sequence[Compared]) -> dict[str, Any]:
    """Many answers side by side in their order, each measured by its own interval, from -1 to 1."""
    size = math.ceil(len(answers) / DOTS)
    bins = [answers[k : k + size] for k in range(0, len(answers), size)]
    worst = [max(group, key=lambda a: abs(_within(a))) for group in bins]
    values = [
        {"k": k + 0.5, "w": max(-_FARTHEST, min(_FARTHEST, _within(a))), "answer": clean(a.label, 80), **_drawn(a)}
        for k, a in enumerate(worst)
    ]
    wide = (WIDTH - 20) / len(bins)
    x = {"field": "k", "type": "quantitative", "axis": None, "scale": {"domain": [0, len(bins)], "nice": False}}
    # Room for dots on the edges, half of which would be cut off.
    scale = {"domain": [-1.06 * _FARTHEST, 1.06 * _FARTHEST], "nice": False}
    axis = {"values": [-1, 0, 1], "title": None, "labelExpr": _SIDES, "gridColor": PALE}
    y = {"field": "w", "type": "quantitative", "scale": scale, "axis": axis}
    tooltip = [{"field": f, "type": "nominal"} for f in ("answer", "released", "s")]
    band = {"type": "rect", "color": ACCENT, "opacity": 0.35}
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [{"from": -1, "to": 1}]},
            "mark": band,
            "encoding": {"y": {**y, "field": "from"}, "y2": {"field": "to"}},
        },
        *(
            {"data": {"values": some}, "mark": mark, "encoding": {"x": x, "y": y, "tooltip": tooltip}}
            for some, mark in _dots(values, max(9, min(36, 0.6 * wide**2)))
            if some
        ),
        *end_labels([a.released for a in answers if a.released is not None]),
    ]
    return {
        "width": WIDTH - 20,
        "height": TALL,
        "layer": layers,
        "title": {"text": clean(f"{name or 'answers'}: {len(answers):,} in order", 70), "fontSize": 12, "offset": 6},
    }


def _within(answer: Compared) -> float:
    """Where a synthetic answer lies: 0 in the middle of its interval, -1 and 1 at the ends, beyond these outside."""
    row = answer.released
    if row is None or row.high <= row.low:
        return 0.0 if answer.inside else _FARTHEST
    return (2 * answer.synthetic - row.low - row.high) / (row.high - row.low)


def _reading(report: Report, shown: Sequence[tuple[str, Sequence[Compared]]], panels: int) -> str:
    parts = ["Bar: 95 % interval as released, around its answer. Dot: what the synthetic records answer"]
    if any(not a.inside for _, answers in shown for a in answers):
        parts[0] += ", open where that lies outside"
    most = max((len(answers) for _, answers in shown), default=0)
    if most > ROWS:
        parts.append("Many answers stand side by side, each measured by its own interval")
    if most > DOTS:
        parts.append("Of neighbours the one that fits worst is drawn")
    if any(a.released is not None and a.released.vague for _, answers in shown for a in answers):
        parts.append("Grey: too few records to say")
    parts.append(plural(report.records, "synthetic record"))
    if panels > len(shown):
        parts.append(f"{len(shown)} of {panels} panels shown")
    return ". ".join(parts) + "."
