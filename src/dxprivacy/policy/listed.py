"""Attributes of a policy that list their values: values, and the nodes of a graph."""

import re

from dxprivacy.attributes.base import Attribute, as_text
from dxprivacy.attributes.values import Values
from dxprivacy.errors import DxError, PolicyError
from dxprivacy.metrics import Metric, alone
from dxprivacy.metrics.graph import read_edges
from dxprivacy.model.universe import Universe
from dxprivacy.policy.keys import Keys
from dxprivacy.policy.places import read_edge_rows
from dxprivacy.policy.source import UNPRINTABLE


def values(keys: Keys) -> tuple[Attribute, Metric]:
    """`values = ["M", "F"]`."""
    listed = keys["values"]
    if not isinstance(listed, list) or not all(isinstance(v, (str, int)) for v in listed):
        raise keys.error(
            f"{keys.name}: values must be a list of texts, whole numbers or true/false",
            "values",
            ['values = ["M", "F"]'],
        )
    if any(UNPRINTABLE.search(as_text(v)) for v in listed):
        raise keys.error(
            f"{keys.name}: a value has control characters",
            "values",
            ["leave it out: entries that are not listed count as “other”"],
        )
    other, _ = keys.other()
    attribute = Values(values=tuple(listed), **keys.common())
    universe = Universe([attribute])
    given = keys["epsilon"]
    between = keys.table.get("between", "smaller")
    if between not in ("smaller", "sum") or ("between" in keys and not isinstance(given, dict)):
        raise keys.error(
            "between says how the budgets of two values make up their ε",
            "between",
            [('between = "smaller"', "the smaller one, closed to a metric"), ('between = "sum"', "both together")],
        )
    if not isinstance(keys.table.get("declared_public", True), bool):
        raise keys.error(
            "declared_public is true or false",
            "declared_public",
            [("declared_public = true", "the list of values was read from the data")],
        )
    if not isinstance(given, dict):
        return attribute, alone.discrete(universe, keys.budget(given), other)
    try:
        budgets = {v: keys.budget(e, "epsilon", f"epsilon of {v}") for v, e in given.items()}
        return attribute, alone.valued(universe, attribute, budgets, other, how=between)
    except DxError as error:
        if isinstance(error, PolicyError) and keys.file.made(error):
            raise
        example = ", ".join(f"{_key(v)} = 1.0" for v in attribute.values[:4])
        more = ", …" if attribute.listed > 4 else ""
        hints = list(error.hints) if "no value" in error.what else [(f"epsilon = {{ {example}{more} }}", "")]
        raise keys.error(error.what, "epsilon", hints) from None


def _key(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z0-9_-]+", value) else f'"{value}"'


def graph(keys: Keys) -> tuple[Attribute, Metric]:
    """A file of edges: two columns with the nodes, a third one with the length where it is not epsilon."""
    path = keys.path("graph", "friends.csv")
    step = keys.epsilon()
    other, _ = keys.other()
    nodes, edges = read_edges(read_edge_rows(path), step)
    attribute = Values(values=tuple(nodes), **keys.common())
    return attribute, alone.linked(Universe([attribute]), attribute, edges, other)
