"""WHERE: conditions on columns, joined by AND and NOT, and by OR on one column.

As in SQL, a missing value fulfils neither a condition nor its negation.  Here this holds for the catch-all value
`other` (missing, invalid or unlisted).
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from dxprivacy.errors import DxError
from dxprivacy.queries.conditions import (
    Compared,
    Condition,
    Conditions,
    alternatives,
    compared,
    condition,
    either,
    negated,
    opposite,
    together,
)
from dxprivacy.queries.grouping import Reference, fulfilling, resolve
from dxprivacy.queries.sql.sql_text import Node, SqlColumns
from dxprivacy.universe.attributes.attribute import OTHER, Attribute

_MOST = 400  # nodes: each condition is evaluated on all values of an attribute
_FEW = 8
_SIGNS: dict[type[Node], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.EQ: "=", exp.NEQ: "<>"}
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "=": "=", "<>": "<>"}
_OFFERED = ["=, <>, <, <=, >, >=", "BETWEEN … AND …", "IN (…, …)", "AND, NOT, and OR on one column"]
_INSTEAD: dict[type[Node], tuple[str, str]] = {
    exp.Like: ("IN (…, …)", "lists the values that are meant"),
    exp.ILike: ("IN (…, …)", "lists the values that are meant"),
    exp.RegexpLike: ("IN (…, …)", "lists the values that are meant"),
    exp.Is: ("= 'other'", "what is missing, invalid or not listed is one value of every attribute"),
}


class Where:
    """Reads the conditions of a SELECT."""

    def __init__(self, columns: SqlColumns) -> None:
        self.columns = columns
        self.query = columns.query
        self.read = 0

    def conditions(self, node: Node) -> Conditions:
        """Return the conditions of a WHERE tree."""
        self.read += 1
        if self.read > _MOST:
            raise self.query.at(node, f"more than {_MOST:,} conditions", [("IN (…, …)", "lists values")])
        match node:
            case exp.Paren():
                self.query.only(node, "this")
                return self.conditions(node.this)
            case exp.And():
                return tuple(each for part in self._parts(node, exp.And) for each in self.conditions(part))
            case exp.Or():
                found = [self.conditions(part) for part in self._parts(node, exp.Or)]
                return self._one(node, lambda: alternatives(found))
            case exp.Not():
                self.query.only(node, "this")
                inner = _bare(node.this)
                twice = isinstance(inner, exp.Not)
                return self.conditions(inner.this) if twice else self._denied(node, self.conditions(inner))
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._listed(node)
            case _ if type(node) in _SIGNS:
                return self._comparison(node)
            case _:
                hints = [_INSTEAD[type(node)]] if type(node) in _INSTEAD else _OFFERED
                raise self.query.at(node, "this condition is not understood", hints)

    def _parts(self, node: Node, kind: type[Node]) -> list[Node]:
        """Return the operands of a chain of AND or OR, left to right; iterative, because chains may be long."""
        found: list[Node] = []
        while isinstance(node, kind):
            self.query.only(node, "this", "expression")
            found.append(node.args["expression"])
            node = node.this
        return [node, *reversed(found)]

    def _denied(self, node: Node, where: Conditions) -> Conditions:
        """Negate conditions on one column, among valid entries."""
        self._one(node, lambda: opposite(where))  # refuses several columns
        name = where[0][0]
        ref = resolve(name, self.columns.universe)
        wanted = together([each for _, each in where])
        if not ref.attribute.has_other:
            return self._checked(node, name, ref, negated(wanted))
        if ref.fact is None:
            names_it = isinstance(wanted, tuple) and OTHER in wanted
            return self._checked(node, name, ref, negated(wanted if names_it else either([wanted, (OTHER,)])))
        valid = (ref.attribute.name, negated((OTHER,)))
        return (*self._checked(node, name, ref, negated(wanted)), valid)

    def _comparison(self, node: Node) -> Conditions:
        self.query.only(node, "this", "expression")
        left, right = _bare(node.this), _bare(node.args["expression"])
        sign = _SIGNS[type(node)]
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            left, right, sign = right, left, _MIRRORED[sign]
        name, ref = self.columns.reference(left)
        if isinstance(right, exp.Column):
            raise self.query.at(right, "a column is compared with a constant", [f"{name} {sign} 30"])
        if sign in ("=", "<>"):
            where = self._among(right, name, ref, [right])
            return where if sign == "=" else self._denied(node, where)
        return self._checked(right, name, ref, self._compared(right, sign, self.columns.constant(right)))

    def _between(self, node: Node) -> Conditions:
        """Read BETWEEN, both ends included.

        On steps and on ranges that clamp, it becomes two comparisons, which refuse ends that they cannot represent.
        """
        self.query.only(node, "this", "low", "high")
        name, ref = self.columns.reference(_bare(node.this))
        low, high = _bare(node.args["low"]), _bare(node.args["high"])
        ends = self.columns.constant(low), self.columns.constant(high)
        if ref.counts_more:
            first = self._checked(low, name, ref, self._compared(low, ">=", ends[0]))
            return first + self._checked(high, name, ref, self._compared(high, "<=", ends[1]))
        try:
            wanted = condition(ends)
        except DxError as error:
            raise self.columns.checked(node, error) from None
        return self._checked(node, name, ref, wanted)

    def _listed(self, node: Node) -> Conditions:
        hints = [("IN ('a', 'b')", "constants in brackets")]
        self.query.only(node, "this", "expressions", instead=hints)
        name, ref = self.columns.reference(_bare(node.this))
        places = [_bare(each) for each in node.expressions]
        if not places:
            raise self.query.at(node, "IN needs values", hints)
        return self._among(node, name, ref, places)

    def _among(self, node: Node, name: str, ref: Reference, places: Sequence[Node]) -> Conditions:
        """Return the condition that the value is one of some, all of which the policy must list."""
        texts = [self.columns.constant(place) for place in places]
        if ref.entry is not None:
            for place, text in zip(places, texts, strict=True):
                self._require_listed(place, name, ref.entry, text)
        return self._checked(node, name, ref, condition(texts))

    def _require_listed(self, node: Node, name: str, entry: Attribute, text: str) -> None:
        """Refuse a value that is not listed, or that would count more than itself.

        A bin, or an end that contains all values beyond it, may be given by its own label only.
        """
        try:
            found = list(entry.find_all(text))
        except DxError as error:
            texts = entry.texts
            listed = [(", ".join(texts[:_FEW]) + (", …" if len(texts) > _FEW else ""), "are listed")] if texts else []
            raise self.query.at(node, error.what, error.hints or listed, error.details) from None
        if not entry.counts_more:
            return
        words = entry.values_words(found)
        itself = len(found) == 1 and text == entry.label(found[0])
        if entry.beyond(text) or not itself or (entry.clamps and words != text):
            hint = (
                f"{name} >= … AND {name} < …",
                "at the ends of steps; at an end that holds all beyond it one of them",
            )
            raise self.query.at(node, f"{name} = {text[:40]} would count more than it says: {name} {words}", [hint])

    def _compared(self, node: Node, sign: str, text: str) -> Compared:
        try:
            return compared(sign, text)
        except DxError as error:
            raise self.columns.checked(node, error) from None

    def _checked(self, node: Node, name: str, ref: Reference, wanted: Condition) -> Conditions:
        """Return a condition that some value fulfils; else raise an error that points at it."""
        try:
            fulfils = fulfilling(ref, name, wanted).any()
        except DxError as error:
            raise self.columns.checked(node, error) from None
        if not fulfils:
            raise self.query.at(node, f"no possible record fulfils the condition on {ref.name}")
        return ((name, wanted),)

    def _one(self, node: Node, join: Callable[[], Conditions]) -> Conditions:
        try:
            return join()
        except DxError as error:
            raise self.columns.checked(node, error) from None


def _bare(node: Node) -> Node:
    """Strip the brackets around a node."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node
