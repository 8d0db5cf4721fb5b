"""What columns and constants in a query mean: attributes and properties that the policy declares, and their values."""

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dxprivacy.errors import DxError, QuestionError
from dxprivacy.exact.rounding import exact, number_text
from dxprivacy.queries.grouping import SPEC, Reference, resolve
from dxprivacy.queries.sql.sql_text import Node, Query
from dxprivacy.universe.attributes.attribute import as_text
from dxprivacy.universe.universe import Universe


@dataclass(frozen=True)
class Columns:
    """The names that a query may use, and the ones that it gives to its table."""

    query: Query
    universe: Universe
    tables: tuple[str, ...] = ()

    def name(self, node: Node) -> str:
        """The name, in our questions, of a column."""
        written = self.written(node)
        spelled = self._spelled(written, node)
        match = SPEC.fullmatch(spelled)
        if match is None or match["name"].strip() != spelled:  # `by` would read it as a width or as edges
            raise self.query.at(node, "SQL cannot name an attribute with “/” or brackets", ["the same in words"])
        return spelled

    def written(self, node: Node) -> str:
        """A column as it stands in the query, without the name of the table."""
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise self.query.at(node, "a column that the policy declares is needed here", self._known())
        self.query.only(node, "this", "table", instead=self._known())
        qualifier = node.args.get("table")
        if qualifier is None:
            return str(node.this.name)
        if qualifier.name.lower() in self.tables:
            if any(a.name.lower() == qualifier.name.lower() for a in self.universe.attributes):
                raise self.query.at(node, f"“{qualifier.name[:40]}” is both the table and an attribute", ["FROM other"])
            return str(node.this.name)
        return f"{qualifier.name}.{node.this.name}"

    def _spelled(self, written: str, node: Node) -> str:
        """As the policy spells it: SQL does not tell capitals apart, unless they stand in quotes."""
        try:
            resolve(written, self.universe)
        except DxError as error:
            quoted = any(part.args.get("quoted") for part in node.find_all(exp.Identifier))
            facts = [f for a in self.universe.attributes for p in a.properties for f in (p, f"{a.name}.{p}")]
            alike = {name for name in (*self.universe.names, *facts) if name.lower() == written.lower()} - {written}
            if quoted or len(alike) != 1:
                raise self.query.at(node, error.what, error.hints or self._known()) from None
            return self._spelled(alike.pop(), node)
        return written

    def reference(self, node: Node) -> tuple[str, Reference]:
        """The name of a column, and what it means."""
        name = self.name(node)
        return name, resolve(name, self.universe)

    def numeric(self, node: Node) -> str:
        """The name of a column of numbers."""
        name, ref = self.reference(node)
        if ref.numbers is None:
            raise self.query.at(node, f"{ref.name} has no numbers", [f"GROUP BY {name}"])
        return name

    def constant(self, node: Node) -> str:
        """A value as we write it: a text, a number, a day, true or false."""
        match node:
            case exp.Literal() if node.is_string:
                return str(node.this)
            case exp.Literal():
                return self._number(node, node)
            case exp.Neg(this=exp.Literal(is_string=False) as inner):
                return f"-{self._number(inner, node)}"
            case exp.Boolean():
                return as_text(bool(node.this))
            case exp.Cast(this=exp.Literal(is_string=True)) if _is_date(node):
                self.query.only(node, "this", "to")
                return str(node.this.this)
            case exp.Null():
                other = ("'other'", "what is missing, invalid or not listed is one value of every attribute")
                raise self.query.at(node, "NULL is no value here", [other])
            case _:
                raise self.query.at(node, "a constant is needed here", ["'text'", "12.5", "DATE '2026-01-31'", "TRUE"])

    def _number(self, literal: Node, node: Node) -> str:
        try:
            return number_text(Fraction(exact(str(literal.this))))
        except DxError as error:
            raise self.query.at(node, error.what) from None

    def _known(self) -> list[str]:
        facts = [f"{a.name}.{p}" for a in self.universe.attributes for p in a.properties]
        known = [*self.universe.names, *facts]
        return [", ".join(known[:12]) + (", …" if len(known) > 12 else "")]

    def checked(self, node: Node, error: DxError) -> QuestionError:
        """An error about what a part of the query means, which points at it."""
        return self.query.at(node, error.what, error.hints, error.details)


def _is_date(node: exp.Cast) -> bool:
    to = node.args.get("to")
    if not isinstance(to, exp.DataType) or to.this != exp.DataType.Type.DATE:
        return False
    return not [key for key, value in to.args.items() if key != "this" and value not in (None, False, [])]
