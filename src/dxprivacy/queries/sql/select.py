"""Read one SELECT: its table, groups, conditions and aggregates."""

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from dxprivacy.errors import DxError, Hint, QueryError
from dxprivacy.exact.rounding import exact
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.conditions import Conditions
from dxprivacy.queries.grouping import group, resolve
from dxprivacy.queries.query import Query
from dxprivacy.queries.sql.aggregates import OFFERED, Aggregates
from dxprivacy.queries.sql.sql_text import Node, SqlColumns, SqlText
from dxprivacy.queries.sql.where import Where
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import UNPRINTABLE

_READ = ("expressions", "from_", "where", "group", "order")
_ORDER_NOTE = "ORDER BY is ignored: answers come in the order of the policy"
_AFTER = "afterwards: noisy answers may be sorted and cut freely"
_CLAUSES: dict[str, tuple[tuple[str, ...], str, Hint]] = {
    "with_": (("WITH",), "WITH is not offered", ("several queries", "one by one")),
    "distinct": (("DISTINCT",), "DISTINCT is not offered", ("GROUP BY", "all groups that the policy declares")),
    "having": (("HAVING",), "which groups are shown must not depend on the data", ("all groups", _AFTER)),
    "limit": (("LIMIT", "FETCH", "TOP"), "how many are shown must not depend on the data", ("all answers", _AFTER)),
    "offset": (("OFFSET",), "which are shown must not depend on the data", ("all answers", _AFTER)),
    "joins": (("JOIN", ","), "one table, which is the data of the session", ("FROM people", "any name")),
    "qualify": (("QUALIFY",), "QUALIFY is not offered", ("GROUP BY", "an answer for each group")),
    "windows": (("WINDOW",), "window functions are not offered", ("GROUP BY", "an answer for each group")),
    "sample": (("SAMPLE", "USING", "TABLESAMPLE"), "samples are not offered", ("FROM people", "all records")),
    "into": (("INTO",), "nothing is written", ("SELECT … FROM people", "")),
    "locks": (("FOR",), "nothing is locked", ("SELECT … FROM people", "")),
}
_STATEMENT = ("SELECT region, COUNT(*) FROM people GROUP BY region", "for example")
_PERIODS = {"WEEK": "week", "MONTH": "month", "QUARTER": "quarter", "YEAR": "year", "DECADE": "decade"}
_GROUPS = ("region", "FLOOR(age / 10)", "FLOOR(age / 10) * 10", "DATE_TRUNC('month', visit)")
_LONGEST_TITLE = 120
_MOST_ASKED = 100


def read_select(text: str, universe: Universe) -> Stack:
    """Return the queries of a SELECT."""
    query = SqlText(text)
    tree = query.statement()
    if not isinstance(tree, exp.Select):
        first = query.tokens[0]
        raise query.error("only one SELECT can be read", first.start, first.end + 1, [_STATEMENT])
    try:
        return _Select(query, tree, universe).queries()
    except DxError as error:
        if error.where:
            raise
        raise QueryError(error.what, where="SQL", details=error.details, hints=error.hints) from None


@dataclass(frozen=True)
class _Item:
    """One item of the SELECT list, and its alias."""

    node: Node
    alias: str = ""


class _Select:
    def __init__(self, query: SqlText, tree: Node, universe: Universe) -> None:
        self.query, self.tree = query, tree
        self._require_known()
        self.columns = SqlColumns(query, universe, self._tables())
        self.items = [self._item(node) for node in tree.expressions]

    def queries(self) -> Stack:
        by = self._groups()
        found = self.tree.args.get("where")
        where: Conditions = ()
        if found is not None:
            self.query.only(found, "this")
            where = Where(self.columns).conditions(found.this)
        asked = Aggregates(self.columns, by, where)
        queries = [self._asked(item, asked) for item in self.items if not self._is_group(item, by)]
        if not queries:
            raise self.query.at_word(["SELECT"], "nothing is counted, summed or averaged", OFFERED)
        if len(queries) > _MOST_ASKED:
            raise self.query.at_word(["SELECT"], f"more than {_MOST_ASKED} queries at once", ["several queries"])
        return Stack(tuple(queries), (_ORDER_NOTE,) if self._is_ordered(by) else ())

    def _is_ordered(self, by: tuple[str, ...]) -> bool:
        """Return whether there is an ORDER BY; refuse one that names something that is not selected."""
        found = self.tree.args.get("order")
        if found is None:
            return False
        self.query.only(found, "expressions")
        selected = [item.node for item in self.items]
        for node in found.expressions:
            self.query.only(node, "this", "desc", "nulls_first")
            meant = self._meant(node.this)
            if meant not in selected and not self._names_group(self._spec(meant), by):
                hints = [("a group, or a column, an alias or a place behind SELECT", "")]
                raise self.query.at(node, "ORDER BY names something that is not selected", hints)
        return True

    def _names_group(self, spec: str | None, by: tuple[str, ...]) -> bool:
        universe = self.columns.universe
        return spec is not None and (spec in by or any(_same(spec, other, universe) for other in by))

    def _asked(self, item: _Item, asked: Aggregates) -> Query:
        """Return the query for an item; refuse one that is invalid over the universe."""
        query = asked.query(item.node, item.alias)
        try:
            query.require_honest(self.columns.universe)
            query.on(self.columns.universe)
        except DxError as error:
            raise self.columns.checked(item.node, error) from None
        return query

    def _require_known(self) -> None:
        """Refuse all clauses that are not read here."""
        for clause, (words, what, hint) in _CLAUSES.items():
            if self.tree.args.get(clause):
                raise self.query.at_word(words, what, [hint])
        self.query.only(self.tree, *_READ, instead=[_STATEMENT])

    def _tables(self) -> tuple[str, ...]:
        """Return the table's name and alias; the data are always those of the session."""
        source = self.tree.args.get("from_")
        hints = [("FROM people", "any name: the data are those of the session")]
        if source is None:
            raise self.query.at_word(["SELECT"], "FROM is missing", hints)
        self.query.only(source, "this", instead=hints)
        table = source.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise self.query.at(table, "one table by its name", hints)
        self.query.only(table, "this", "db", "catalog", "alias", instead=hints)
        start = table.this.meta.get("start")
        if any(t.start == start and t.token_type == TokenType.STRING for t in self.query.tokens):
            raise self.query.at(table, "no file is read here", hints)
        alias = table.args.get("alias")
        if alias is not None:
            self.query.only(alias, "this", instead=hints)
        return tuple(part.name.lower() for part in (table.this, alias) if part is not None)

    def _item(self, node: Node) -> _Item:
        if not isinstance(node, exp.Alias):
            return _Item(node)
        self.query.only(node, "this", "alias")
        alias = str(node.args["alias"].name)
        if len(alias) > _LONGEST_TITLE or UNPRINTABLE.search(alias) or not alias.strip():
            raise self.query.at(node.args["alias"], f"a title is one line of at most {_LONGEST_TITLE} characters")
        return _Item(node.this, alias.strip())

    def _groups(self) -> tuple[str, ...]:
        found = self.tree.args.get("group")
        if found is None:
            return ()
        hints = [(", ".join(_GROUPS), "are groups")]
        extra = [key for key, value in found.args.items() if key != "expressions" and value]
        if extra:
            words = ("ROLLUP", "CUBE", "GROUPING", "ALL", "TOTALS")
            raise self.query.at_word(words, "groups are listed one by one", hints)
        return tuple(self._group(self._meant(node)) for node in found.expressions)

    def _meant(self, node: Node) -> Node:
        """Return the item that a number or an alias in GROUP BY or ORDER BY refers to."""
        if isinstance(node, exp.Literal) and not node.is_string:
            text = str(node.this)
            place = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
            if not 1 <= place <= len(self.items):
                raise self.query.at(node, "there is no such column behind SELECT", _GROUPS)
            return self.items[place - 1].node
        if isinstance(node, exp.Column) and "table" not in {k for k, v in node.args.items() if v}:
            named = [item.node for item in self.items if item.alias and item.alias.lower() == node.name.lower()]
            if len(named) == 1 and not self._is_declared(node):
                return named[0]
        return node

    def _is_declared(self, node: Node) -> bool:
        try:
            self.columns.name(node)
        except DxError:
            return False
        return True

    def _group(self, node: Node) -> str:
        """Return the grouping by a column, by equal steps of its numbers, or by calendar periods."""
        spec = self._spec(node)
        if spec is None:
            hints = [(", ".join(_GROUPS), "are groups")]
            if isinstance(node, (exp.Div, exp.IntDiv)):
                hints = [("FLOOR(age / 10)", "engines divide whole numbers differently; this is the same for all")]
            raise self.query.at(node, "this is not a group", hints)
        try:
            group(spec, self.columns.universe)
        except DxError as error:
            raise self.columns.checked(node, error) from None
        return spec

    def _spec(self, node: Node) -> str | None:
        match node:
            case exp.Column():
                return self.columns.name(node)
            case exp.Floor(this=exp.Div(this=exp.Column() as column, expression=exp.Literal(is_string=False) as width)):
                self.query.only(node, "this")
                self.query.only(node.this, "this", "expression", "typed", "safe")
                name, text = self.columns.numeric(column), self.columns.constant(width)
                if exact(text) == 0:
                    raise self.query.at(width, "a width is positive", ["FLOOR(age / 10)"])
                if not _is_binary(Fraction(exact(text))):
                    hints = [(f"count by {name}/{text}", "in words, which are exact")]
                    raise self.query.at(width, f"engines round {text}: some would count other groups", hints)
                return f"{name}/{text}"
            case exp.Mul():
                return self._ends_of_steps(node)
            case (
                exp.TimestampTrunc(this=exp.Column() as column, unit=exp.Var() as unit)
                | exp.DateTrunc(this=exp.Column() as column, unit=exp.Var() as unit)
            ):
                self.query.only(node, "this", "unit")
                return self._calendar(node, column, unit.name.upper())
            case _:
                return None

    def _ends_of_steps(self, node: Node) -> str | None:
        """Read `FLOOR(age / 10) * 10`, the same groups named by their lower ends."""
        sides = node.this, node.args["expression"]
        for steps, factor in (sides, sides[::-1]):
            if not isinstance(steps, exp.Floor):
                continue
            self.query.only(node, "this", "expression")
            spec = self._spec(steps)
            if spec is None:
                return None
            width = spec.rpartition("/")[2]
            if not isinstance(factor, exp.Literal) or factor.is_string or self.columns.constant(factor) != width:
                hint = ("FLOOR(age / 10) * 10", "or FLOOR(age / 10) by itself")
                raise self.query.at(factor, f"only {width}, the width of the groups, is understood here", [hint])
            return spec
        return None

    def _calendar(self, node: Node, column: Node, unit: str) -> str:
        name, ref = self.columns.reference(column)
        if ref.fact is not None or ref.attribute.kind != "dates":
            raise self.query.at(column, f"{ref.name} holds no dates", [f"GROUP BY {name}"])
        if unit not in _PERIODS:
            raise self.query.at(node, "days go by week, month, quarter, year or decade", _GROUPS[-1:])
        return f"{name}/{_PERIODS[unit]}"

    def _is_group(self, item: _Item, by: tuple[str, ...]) -> bool:
        """Return whether an item is one of the groups, which label every answer."""
        spec = self._spec(item.node)
        if spec is None or self._names_group(spec, by):
            return spec is not None
        raise self.query.at(item.node, "a column that is not a group", [("GROUP BY …", "names it"), *OFFERED[:1]])


def _is_binary(width: Fraction) -> bool:
    """Whether floats hold the width exactly: then a float divided by it is never rounded up to the next integer.

    >>> [_is_binary(Fraction(width)) for width in ("10", "2.5", "1.1")]
    [True, True, False]
    """
    return width.denominator.bit_count() == 1 and width.numerator.bit_length() <= 53


def _same(one: str, other: str, universe: Universe) -> bool:
    """Whether two names mean the same, such as `state` and `home.state`."""
    if "/" in one or "/" in other:
        return False
    a, b = resolve(one, universe), resolve(other, universe)
    return (a.axis, a.fact) == (b.axis, b.fact)
