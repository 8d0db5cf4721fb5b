"""The style of pictures: one accent color for our plan, gray for standard DP, labels on the marks, no legends.

The title states the finding. The subtitle says how to read the picture.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from dxprivacy.errors import one_line
from dxprivacy.wording import short

# -- Channels: the field of the data that sets the position or the look of a mark -------------------------------------
# Each channel is a Vega-Lite dictionary. Its keys keep the order in which they are given (see `layers`).


Spec = dict[str, Any]
_PER_CHARACTER, _WIDEST = 5.7, 320.0


def quantitative(field: str = "", **how: Any) -> Spec:
    """Return a channel for numbers; without a field, `on` sets one later."""
    return {**({"field": field} if field else {}), "type": "quantitative", **how}


def nominal(field: str, **how: Any) -> Spec:
    """Return a channel for categories, labels and texts."""
    return {"field": field, "type": "nominal", **how}


def on(channel: Spec, field: str) -> Spec:
    """Return the same channel for another field."""
    return {**channel, "field": field}


def itself(field: str) -> Spec:
    """Return a channel whose field holds the color or the width itself."""
    return nominal(field, scale=None)


def in_rows(order: Sequence[str], extent: float = 0.0) -> Spec:
    """Return a channel for labels in rows, from top to bottom; panels with the same `extent` are aligned."""
    return nominal("q", sort=list(order), axis={"title": None, "grid": False, "minExtent": extent})


def extent_of(labels: Iterable[str]) -> float:
    """Estimate the width of labels in pixels."""
    return min(_PER_CHARACTER * max(map(len, labels), default=0), _WIDEST)


def pointed_at(*fields: str) -> list[Spec]:
    """Return tooltip channels: the fields shown for the mark under the pointer."""
    return [nominal(field) for field in fields]


def span(low: float, high: float, **how: Any) -> Spec:
    """Return a scale with exactly this domain."""
    return {"domain": [low, high], "nice": False, **how}


# -- Colors, sizes and the Vega-Lite configuration ---------------------------------------------------------------------


ACCENT, INK, GRAY, PALE, TINT = "#0b5fa5", "#222222", "#767676", "#d4d4d4", "#c9dcee"
WIDTH = 560
LABEL = 40

CONFIG: dict[str, Any] = {
    "font": "Liberation Sans, Helvetica, Arial, sans-serif",
    "background": "white",
    "padding": {"left": 0, "top": 5, "right": 5, "bottom": 5},  # pictures are aligned with the text on the left
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "fontSize": 14,
        "fontWeight": "bold",
        "color": INK,
        "subtitleFontSize": 11.5,
        "subtitleColor": GRAY,
        "subtitlePadding": 4,
        "offset": 12,
        "frame": "bounds",
    },
    "axis": {
        "labelColor": INK,
        "titleColor": GRAY,
        "titleFontWeight": "normal",
        "titleFontSize": 11.5,
        "labelFontSize": 11,
        "gridColor": "#ececec",
        "domain": False,
        "ticks": False,
        "labelPadding": 5,
        "labelLimit": 320,
        "titleLimit": 600,
    },
    "text": {"fontSize": 11, "color": INK},
    "legend": {"disable": True},
}


def clean(text: str, width: int = LABEL) -> str:
    """Shorten a name to a label on one line.

    >>> clean("a\\nb"), clean("Llanfairpwllgwyngyllgogerych", 12)
    ('a�b', 'Llanfairpwl…')
    """
    return short(one_line(text), width)


def distinct(labels: Iterable[str]) -> list[str]:
    """Number equal labels, because the rows of a picture are identified by their label.

    >>> distinct(["M", "F", "M"])
    ['M', 'F', 'M (2)']
    """
    seen: dict[str, int] = {}
    out: list[str] = []
    taken = set()
    for label in labels:
        candidate = label
        while candidate in taken:
            seen[label] = seen.get(label, 1) + 1
            candidate = f"{label} ({seen[label]})"
        taken.add(candidate)
        out.append(candidate)
    return out


def sentences(parts: Sequence[str]) -> str:
    """Join sentences to one text."""
    return ". ".join(parts) + "."
