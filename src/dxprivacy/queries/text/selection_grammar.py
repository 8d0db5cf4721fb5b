"""Read selections from words and from JSON.

most common job | largest sum income by state | median age | quantile 0.9 of income | 4 bins of age/5
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dxprivacy.errors import QueryError, UsageError, did_you_mean
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.selections import BinEdges, Closest, Largest, Pick, Quantile, bin_edges, quantile
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse

_FORMS = (
    ("most common", re.compile(r"most\s+common\s+(?P<of>.+)", re.I | re.S)),
    ("largest", re.compile(r"largest\s+(?P<of>.+)", re.I | re.S)),
    ("median", re.compile(r"median\s+(?:of\s+)?(?P<of>.+)", re.I | re.S)),
    ("quantile", re.compile(r"quantile\s+(?P<at>\S+)\s+(?:of\s+)?(?P<of>.+)", re.I | re.S)),
    ("bins", re.compile(r"(?P<bins>[0-9]{1,9})\s+bins\s+(?:of\s+)?(?P<of>.+)", re.I | re.S)),
)
_EXAMPLES = ("most common job", "median age", "quantile 0.9 of income", "4 bins of age")


def parse_pick(text: str) -> Pick:
    """Read a selection from words.

    >>> parse_pick("quantile 0.9 of income")
    Quantile('quantile 0.9 of income')
    >>> str(parse_pick("most common job where sex=F"))
    'most common job where sex=F'
    """
    words = text.strip()
    for name, form in _FORMS:
        found = form.fullmatch(words)
        if found is None:
            continue
        of = found["of"].strip()
        if name == "most common":
            return Largest(Stack((parse(f"count by {of}"),)))
        if name == "largest":
            return Largest(Stack((parse(of),)))
        if of[:1] in "'\"" and of[-1:] == of[:1]:
            of = of[1:-1]
        if name == "median":
            return quantile(of, "0.5")
        return quantile(of, found["at"]) if name == "quantile" else bin_edges(of, bins=int(found["bins"]))
    first = words.split()[0] if words else ""
    close = did_you_mean(first, [form for form, _ in _FORMS])
    hints = close or [(f'"{example}"', "") for example in _EXAMPLES]
    raise QueryError(f"“{words[:60]}” is not a selection", hints=hints)


def pick_from_dict(data: Mapping[str, Any]) -> Pick:
    """Read a selection from JSON.

    >>> pick_from_dict({"select": "bins", "of": "age", "bins": 4})
    BinEdges('4 bins of age')
    """
    try:
        match data["select"]:
            case "quantile":
                return quantile(data["of"], _fraction(data["at"]))
            case "bins":
                return bin_edges(data["of"], bins=data["bins"])
            case "largest":
                return Largest(_stack(data))
            case "closest":
                targets = [(str(label), tuple(_fraction(v) for v in values)) for label, values in data["targets"]]
                return Closest(_stack(data), tuple(targets))
    except (KeyError, TypeError, ValueError, AttributeError, UsageError):
        raise QueryError("the description of a selection is damaged") from None
    raise QueryError("a selection that this version does not know")


def _stack(data: Mapping[str, Any]) -> Stack:
    return Stack(tuple(from_dict(q) for q in data["queries"]))


def _fraction(text: Any) -> Fraction:
    if not re.fullmatch(r"-?[0-9]{1,60}(/[0-9]{1,60})?", text):
        raise ValueError("not a fraction")
    return Fraction(text)


__all__ = ["BinEdges", "Closest", "Largest", "Pick", "Quantile", "parse_pick", "pick_from_dict"]
