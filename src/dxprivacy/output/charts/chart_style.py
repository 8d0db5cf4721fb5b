"""How pictures look: one accent for what is ours, gray for standard DP, labels on the marks, no legends (UX section 3).

The title states the finding, the subtitle the reading rule.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from dxprivacy.errors import one_line
from dxprivacy.wording import short

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
