"""What pictures are put together from: marks, layers of them, texts, views, and pictures of several views.

Each is a plain piece of Vega-Lite.  Keys stand in the order in which they are given: a page names the parts of a
picture by a digest of its text (`page.drawn`), so that what is drawn alike is to be written alike.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import one_line
from dxprivacy.output.charts.channels import Spec, nominal
from dxprivacy.output.charts.chart_style import CONFIG, GRAY
from dxprivacy.output.charts.picture import Picture
from dxprivacy.wording import wrap

_TITLE, _SUBTITLE = 84, 116  # characters that fit on one line above a picture of the usual width
_PER_CHARACTER = 5.7  # pixels, at the size of marks' labels


def mark(kind: str, **look: Any) -> Spec:
    """A kind of mark and its look."""
    return {"type": kind, **look}


def layer(values: Sequence[Spec], drawn: Spec, **channels: Any) -> Spec:
    """One mark for each of the values.

    >>> layer([{"e": 2}], mark("rule", color="black"), x={"field": "e"})["encoding"]
    {'x': {'field': 'e'}}
    """
    return {"data": {"values": list(values)}, **shared(drawn, **channels)}


def shared(drawn: Spec, **channels: Any) -> Spec:
    """A layer without values of its own: those of the view."""
    return {"mark": drawn, "encoding": channels}


def with_values(layers: Iterable[Spec]) -> list[Spec]:
    """The layers that have anything to draw."""
    return [each for each in layers if each["data"]["values"]]


def written(text: str, x: float | Spec, y: float | Spec, **look: Any) -> Spec:
    """A layer of one text: at pixels, or where channels say."""
    places = {key: place if isinstance(place, dict) else {"value": place} for key, place in (("x", x), ("y", y))}
    return layer([{"t": text}], mark("text", **{"align": "left", **look}), **places, text=nominal("t"))


def bordered(values: Sequence[Spec], look: Spec, *, width: float = 3, **channels: Any) -> list[Spec]:
    """Texts from the field `t` with a white border, which can be read above dots and lines."""
    border = {**look, "stroke": "white", "strokeWidth": width, "strokeJoin": "round", "color": "white"}
    return [layer(values, mark("text", **each), **channels, text=nominal("t")) for each in (border, look)]


@dataclass(frozen=True)
class Tip:
    """A label above a mark: text, where, color."""

    text: str
    pixel: float
    color: str


def tips(labels: Sequence[Tip], width: float) -> list[Spec]:
    """Texts above a panel, on as many lines as it takes that none touches another."""
    ends: list[float] = []  # how far each line is filled
    layers = []
    for tip in sorted(labels, key=lambda t: t.pixel):
        long = len(tip.text) * _PER_CHARACTER
        left = min(max(tip.pixel - long / 2, -20), width + 40 - long)
        level = next((k for k, end in enumerate(ends) if left > end + 6), len(ends))
        ends[level : level + 1] = [left + long]
        layers.append(written(tip.text, left, -8 - level * 14, color=tip.color, baseline="bottom"))
    return layers


def view(width: float, height: float, layers: Sequence[Spec]) -> Spec:
    """Layers on one panel."""
    return {"width": width, "height": height, "layer": list(layers)}


def empty(text: str, width: float) -> Spec:
    """A panel that has nothing to show but a word about it."""
    return view(width, 40, [written(text, 8, 20, color=GRAY)])


def heading(text: str, offset: int = 6) -> Spec:
    """The small title of one panel, to be joined with its view; nothing without a text."""
    return {"title": {"text": text, "fontSize": 12, "offset": offset}} if text else {}


def pictured(description: str, title: str, subtitle: str, views: Spec) -> Picture:
    """A picture of one view, or of views that are arranged already."""
    return Picture.of({"description": description, "title": _headed(title, subtitle), "config": CONFIG, **views})


def several(views: Sequence[Spec | None], title: str, subtitle: str, *, description: str = "", how: str = "vconcat",
            spacing: int = 24, own_axes: bool = True) -> Picture:  # fmt: skip
    """Views below each other (`hconcat`: side by side) under one finding; each with axes of its own, or not."""
    return Picture.of(
        {
            **({"description": description} if description else {}),
            **({"title": _headed(title, subtitle)} if title or subtitle else {}),  # an empty one takes up room
            "spacing": spacing,
            how: [each for each in views if each is not None],
            **({"resolve": {"scale": {"x": "independent", "y": "independent"}}} if own_axes else {}),
            "config": CONFIG,
        }
    )


def _headed(title: str, subtitle: str) -> Spec:
    """Finding and reading rule, in lines that fit."""
    return {"text": wrap(one_line(title), _TITLE) or [""], "subtitle": wrap(one_line(subtitle), _SUBTITLE)}
