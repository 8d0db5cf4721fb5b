"""How pictures look: one accent for what is ours, gray for standard DP, labels on the marks, no legends (UX section 3).

The title states the finding, the subtitle the reading rule.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from dxprivacy.errors import one_line
from dxprivacy.wording import short

# -- Channels: which field of the values says where a mark stands, or how it looks -------------------------------------
# Each is a plain piece of Vega-Lite with its keys in the order in which they are given (see `layers`).


Spec = dict[str, Any]
_PER_CHARACTER, _WIDEST = 5.7, 320.0


def quantitative(field: str = "", **how: Any) -> Spec:
    """A number on a scale; without a field, for `on` to name one later."""
    return {**({"field": field} if field else {}), "type": "quantitative", **how}


def nominal(field: str, **how: Any) -> Spec:
    """A word: a label, a text, one of several."""
    return {"field": field, "type": "nominal", **how}


def on(channel: Spec, field: str) -> Spec:
    """The same channel for another field."""
    return {**channel, "field": field}


def itself(field: str) -> Spec:
    """The field holds the color, or the width, as it is drawn."""
    return nominal(field, scale=None)


def in_rows(order: Sequence[str], extent: float = 0.0) -> Spec:
    """Labels in rows, from top to bottom; with the same `extent`, panels below each other begin at one line."""
    return nominal("q", sort=list(order), axis={"title": None, "grid": False, "minExtent": extent})


def extent_of(labels: Iterable[str]) -> float:
    """So many pixels labels take up, about."""
    return min(_PER_CHARACTER * max(map(len, labels), default=0), _WIDEST)


def pointed_at(*fields: str) -> list[Spec]:
    """What is told about a mark under the pointer."""
    return [nominal(field) for field in fields]


def span(low: float, high: float, **how: Any) -> Spec:
    """A scale from here to there, and no farther."""
    return {"domain": [low, high], "nice": False, **how}


# -- How pictures look -------------------------------------------------------------------------------------------------


ACCENT, INK, GRAY, PALE, TINT = "#0b5fa5", "#222222", "#767676", "#d4d4d4", "#c9dcee"
WIDTH = 560
LABEL = 40

CONFIG: dict[str, Any] = {
    "font": "Liberation Sans, Helvetica, Arial, sans-serif",
    "background": "white",
    "padding": {"left": 0, "top": 5, "right": 5, "bottom": 5},  # pictures begin where text does
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
    """A name as a label: on one line, not too long.

    >>> clean("a\\nb"), clean("Llanfairpwllgwyngyllgogerych", 12)
    ('a�b', 'Llanfairpwl…')
    """
    return short(one_line(text), width)


def distinct(labels: Iterable[str]) -> list[str]:
    """The same labels, told apart where they are the same: rows of a picture are found by their label.

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
    """A reading rule of several sentences."""
    return ". ".join(parts) + "."
