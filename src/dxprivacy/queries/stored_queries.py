"""Read queries from the JSON of plans and ledgers; anything that is not a query raises QueryError."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import in_range, written_fraction
from dxprivacy.queries.asked import Asked, importance, target
from dxprivacy.queries.assembling import assemble
from dxprivacy.queries.further_fields import FURTHER, conditions_from_json
from dxprivacy.queries.kinds.matrix_query import MatrixQuery
from dxprivacy.queries.query import Query
from dxprivacy.queries.strategy_rows import Picked, steps_from_dict, tally_from_dict


def from_dict(data: Mapping[str, Any]) -> Asked:
    """Read a query from JSON.

    >>> print(from_dict({"ask": "count", "by": ["sex"], "within": "10"}))
    count by sex within 10
    """
    try:
        return _READERS.get(data["ask"], _query_from_dict)(data)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, UsageError):
        raise QueryError("not a query that this version knows", hints=[("query.to_dict()", "writes one")]) from None


def listed_rows(queries: Iterable[Any]) -> int:
    """Return the number of explicitly listed rows in a file's queries, from their shapes, before building them.

    >>> listed_rows([{"ask": "count"}, {"ask": "matrix", "shape": [3, 2]}, {"ask": "row", "of": {"shape": [9, 1]}}])
    12
    """
    rows = 0
    for asked in queries:
        of = asked.get("of")
        shape = asked.get("shape") or (of.get("shape") if isinstance(of, Mapping) else None)
        rows += max(0, shape[0]) if shape else 0
    return rows


def _picked_from_dict(data: Mapping[str, Any]) -> Picked:
    if data["of"]["ask"] == "row":  # checked before recursion, which a file could make arbitrarily deep
        raise ValueError("a row of a row")
    whole = from_dict(data["of"])
    if isinstance(whole, Picked):
        raise ValueError("a row of a row")
    return Picked(whole, data["row"])


def _query_from_dict(data: Mapping[str, Any]) -> Query:
    named = {key: data.get(key, "") for key in ("of", "unit", "title")}
    by = tuple(data.get("by", ()))
    if not all(isinstance(name, str) for name in (data["ask"], *named.values(), *by)):
        raise TypeError("a name is a text")
    return assemble(
        data["ask"],
        by=by,
        where=conditions_from_json(data.get("where", [])),
        within=_within_from_dict(data),
        weight=_weight_from_dict(data),
        missing=data.get("missing", ""),  # files of 0.1.0 have no such key, and mean the middle of the range
        further={name: kind.from_json(data[name]) for name, kind in FURTHER.items() if name in data},
        **named,
    )


def _matrix_from_dict(data: Mapping[str, Any]) -> MatrixQuery:
    from scipy.sparse import csr_array

    places = list(zip(data["rows"], data["columns"], strict=True))
    if len(set(places)) != len(places) or not all(type(x) is int for x in (*data["entries"], *data["shape"])):
        raise ValueError("entries")
    factor, bias = (in_range(written_fraction(data[key])) for key in ("factor", "bias"))
    if factor <= 0 or bias < 0:
        raise ValueError("factor, bias")
    entries: Ints = np.array(data["entries"], dtype=np.int64)
    whole = csr_array((entries, (data["rows"], data["columns"])), shape=tuple(data["shape"]))
    labels = tuple(data["labels"])
    if not all(isinstance(label, str) for label in labels) or len(labels) not in (0, whole.shape[0]):
        raise ValueError("labels")
    dense = whole.toarray() if whole.shape[0] * whole.shape[1] <= 5_000_000 else whole
    goals = (_within_from_dict(data), _weight_from_dict(data))
    return MatrixQuery(dense, factor, bias, labels, *goals)


def _within_from_dict(data: Mapping[str, Any]) -> Fraction | None:
    return target(written_fraction(data["within"])) if "within" in data else None


def _weight_from_dict(data: Mapping[str, Any]) -> Fraction:
    return importance(written_fraction(data["weight"])) if "weight" in data else Fraction(1)


def _steps_from_dict(data: Mapping[str, Any]) -> Asked:
    return steps_from_dict(data, in_range(written_fraction(data["factor"])))


_READERS: dict[str, Callable[[Mapping[str, Any]], Asked]] = {
    "tally": tally_from_dict,
    "steps": _steps_from_dict,
    "row": _picked_from_dict,
    "matrix": _matrix_from_dict,
}
"""Readers of queries that only plans make; everything else is a user's query, or refused."""
