"""Channels: which field of the values says where a mark stands, or how it looks.

Each is a plain piece of Vega-Lite with its keys in the order in which they are given (see `layers`).
"""

from collections.abc import Iterable, Sequence
from typing import Any

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
