"""`plots.synthesis`: released intervals as bars, and the answers of synthetic records as dots on them.

Up to `ROWS` answers of a query are drawn in rows, on the axis of their answers.  More are drawn side by side in their
order, each in the scale of its own interval. If there are very many, only the worst of each few consecutive ones is
drawn.
"""

import math
from collections.abc import Sequence
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.output.charts.chart_style import (
    ACCENT,
    GRAY,
    INK,
    PALE,
    Spec,
    clean,
    distinct,
    in_rows,
    nominal,
    on,
    pointed_at,
    quantitative,
    sentences,
    span,
)
from dxprivacy.output.charts.layers import layer, mark, several, with_values
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.output.charts.released.answer_panels import (
    PANELS,
    ROWS,
    STRIP,
    AnswerPanel,
    number_channel,
    panels_of,
    row_view,
    strip_view,
)
from dxprivacy.output.text.release_text import number
from dxprivacy.releases.release import Row
from dxprivacy.synthetic.synthesis_report import ComparedAnswer, Report
from dxprivacy.wording import plural

DOTS = 1_500
_FARTHEST = 2.5  # half-widths; answers farther outside are drawn on the edge
_SIDES = "datum.value < 0 ? 'lower end' : datum.value > 0 ? 'upper end' : 'middle'"


def synthesis_picture(report: Report) -> Picture:
    """Draw every released interval with the synthetic answer, from the report alone.

    >>> import dxprivacy as dx
    >>> row = Row("M", "count by sex", 40, 35, 45, "", False)
    >>> dx.plots.synthesis(Report((ComparedAnswer("M", "count by sex", "", 42.0, row),), 100))
    Picture('The synthetic answer lies within the released 95 % interval')
    """
    require(report, Report, "a report", ["session.synthesize(plan).report"])
    if not report.compared:
        raise UsageError("the report holds no released answers to compare with")
    # Keyed by the row's identity, because two rows may be equal.
    answers = {id(a.released): a for a in report.compared}
    every = panels_of([a.released for a in report.compared if a.released is not None])
    shown = [(panel, [answers[id(row)] for row in panel.rows]) for panel in every[:PANELS]]
    alone = len(shown) == 1
    views = [
        _strip(panel, of) if len(of) > ROWS else _rows("" if alone else panel.name, panel.labels, of)
        for panel, of in shown
    ]
    title = report.summary[0].upper() + report.summary[1:]
    reading = _reading(report, shown, len(every))
    return several(views, title, reading, description="Released intervals and synthetic answers")


def _drawn(answer: ComparedAnswer) -> Spec:
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


def _dots(values: list[Spec], size: float, **channels: Any) -> list[Spec]:
    """Draw synthetic answers: filled dots inside the interval, open ones outside."""
    inside, outside = [v for v in values if v["inside"]], [v for v in values if not v["inside"]]
    filled = mark("circle", size=size, color=INK, opacity=1)
    hollow = mark("point", size=size, stroke=INK, fill="white", opacity=1, strokeWidth=1.4)
    return with_values([layer(inside, filled, **channels), layer(outside, hollow, **channels)])


def _rows(name: str, labels: Sequence[str], answers: Sequence[ComparedAnswer]) -> Spec:
    order = distinct(map(clean, labels))
    values = [{"q": label, **_drawn(a)} for label, a in zip(order, answers, strict=True)]
    known, vague = [v for v in values if not v["vague"]], [v for v in values if v["vague"]]
    dots = [Row("", "", a.synthetic, a.synthetic, a.synthetic, a.unit, False) for a in answers]
    y, x = in_rows(order), number_channel([*dots, *(a.released for a in answers if a.released is not None)])
    interval = {"y": y, "x": on(x, "lo"), "x2": {"field": "hi"}}
    layers = [
        layer(vague, mark("rule", color=PALE, opacity=1, strokeWidth=7), **interval),
        layer(known, mark("rule", color=ACCENT, opacity=0.35, strokeWidth=7), **interval),
        layer(known, mark("tick", color=ACCENT, thickness=2, size=11), y=y, x=on(x, "v")),
        *_dots(values, 40, y=y, x=on(x, "s"), tooltip=pointed_at("q", "released", "s")),
        layer(values, mark("text", align="left", dx=9, color=GRAY), y=y, x=on(x, "end"), text=nominal("t")),
    ]
    return row_view(name, len(answers), layers)


def _strip(panel: AnswerPanel, answers: Sequence[ComparedAnswer]) -> Spec:
    """Draw many answers side by side in their order, each scaled by its own interval to -1 .. 1."""
    size = math.ceil(len(answers) / DOTS)
    bins = [answers[k : k + size] for k in range(0, len(answers), size)]
    worst = [max(group, key=lambda a: abs(_within(a))) for group in bins]
    values = [
        {"k": k + 0.5, "w": max(-_FARTHEST, min(_FARTHEST, _within(a))), "answer": clean(a.label, 80), **_drawn(a)}
        for k, a in enumerate(worst)
    ]
    wide = STRIP / len(bins)
    x = quantitative("k", axis=None, scale=span(0, len(bins)))
    axis = {"values": [-1, 0, 1], "title": None, "labelExpr": _SIDES, "gridColor": PALE}
    # A margin, because dots on the edges would be cut in half.
    y = quantitative("w", scale=span(-1.06 * _FARTHEST, 1.06 * _FARTHEST), axis=axis)
    band = mark("rect", color=ACCENT, opacity=0.35)
    layers = [
        layer([{"from": -1, "to": 1}], band, y=on(y, "from"), y2={"field": "to"}),
        *_dots(values, max(9, min(36, 0.6 * wide**2)), x=x, y=y, tooltip=pointed_at("answer", "released", "s")),
    ]
    return strip_view(panel.name, panel.labels, layers, {})


def _within(answer: ComparedAnswer) -> float:
    """Return the position of a synthetic answer in its interval: 0 in the middle, -1 and 1 at the ends."""
    row = answer.released
    if row is None or row.high <= row.low:
        return 0.0 if answer.inside else _FARTHEST
    return (2 * answer.synthetic - row.low - row.high) / (row.high - row.low)


def _reading(report: Report, shown: Sequence[tuple[AnswerPanel, Sequence[ComparedAnswer]]], panels: int) -> str:
    parts = ["Bar: released 95 % interval, around its answer. Dot: answer of the synthetic records"]
    if any(not a.inside for _, answers in shown for a in answers):
        parts[0] += ", open if it lies outside"
    most = max((len(answers) for _, answers in shown), default=0)
    if most > ROWS:
        parts.append("Many answers are drawn side by side, each in the scale of its own interval")
    if most > DOTS:
        parts.append("Of each few consecutive answers, the worst is drawn")
    if any(a.released is not None and a.released.vague for _, answers in shown for a in answers):
        parts.append("Gray: too few records to say")
    parts.append(plural(report.records, "synthetic record"))
    if panels > len(shown):
        parts.append(f"{len(shown)} of {panels} panels shown")
    return sentences(parts)
