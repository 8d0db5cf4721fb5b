"""Aggregates of a SELECT, and the query for each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from dxprivacy.errors import Hint, QueryError
from dxprivacy.exact.answer_grid import Evenly
from dxprivacy.exact.rounding import number_text
from dxprivacy.queries.assembling import assemble
from dxprivacy.queries.conditions import Conditions, negated
from dxprivacy.queries.grouping import resolve
from dxprivacy.queries.kinds.quantiles import NumberLine
from dxprivacy.queries.query import Query
from dxprivacy.queries.sql.sql_text import Node, SqlColumns
from dxprivacy.queries.sql.where import Where
from dxprivacy.universe.attributes.attribute import OTHER

OFFERED = (
    "COUNT(*), COUNT(x), SUM(x), AVG(x)",
    "VAR_POP(x), STDDEV_POP(x), COVAR_POP(x, y), CORR(x, y)",
    "MEDIAN(x), QUANTILE_DISC(x, 0.9)",
    "COUNT(*) FILTER (WHERE …)",
    "AVG(CASE WHEN … THEN 1 ELSE 0 END)",
)
_POPULATION = "ours is of the population: the mean squared distance, without n - 1"
_ENDS = "a largest or smallest value depends on one record; a quantile near the end does not"
_FILTER = [("COUNT(*) FILTER (WHERE age >= 18)", "conditions as after WHERE")]
_QUANTILE = ("QUANTILE_DISC(x, 0.9)", "a number between 0 and 1")
_INSTEAD: dict[type[Node], tuple[str, Hint]] = {
    exp.Variance: ("a sample variance is not offered", ("VAR_POP(x)", _POPULATION)),
    exp.Stddev: ("a sample deviation is not offered", ("STDDEV_POP(x)", _POPULATION)),
    exp.StddevSamp: ("a sample deviation is not offered", ("STDDEV_POP(x)", _POPULATION)),
    exp.CovarSamp: ("a sample covariance is not offered", ("COVAR_POP(x, y)", _POPULATION)),
    exp.Max: ("MAX is not offered", ("QUANTILE_DISC(x, 0.99)", _ENDS)),
    exp.Min: ("MIN is not offered", ("QUANTILE_DISC(x, 0.01)", _ENDS)),
    exp.PercentileCont: ("quantiles are numbers that records have, not between two of them", _QUANTILE),
    exp.Quantile: ("quantiles are numbers that records have", _QUANTILE),
    exp.ApproxQuantile: ("quantiles are numbers that records have", _QUANTILE),
    exp.Window: ("window functions are not offered", ("GROUP BY", "an answer for each group")),
    exp.Div: ("quotients are not offered", ("AVG(x)", "in words: ratio of sum x to count")),
    exp.Star: ("records themselves are never shown", ("COUNT(*)", "counts them")),
    exp.CountIf: ("COUNT_IF is not offered", ("COUNT(*) FILTER (WHERE …)", "the same")),
    exp.Subquery: ("queries inside of queries are not offered", ("several queries", "one by one")),
}


@dataclass(frozen=True)
class Aggregates:
    """The aggregates of a SELECT: all have its groups and conditions."""

    columns: SqlColumns
    by: tuple[str, ...]
    where: Conditions

    def query(self, node: Node, title: str) -> Query:
        """Return the query for an aggregate."""
        if isinstance(node, exp.Filter):
            return self._filtered(node).query(node.this, title)
        read = _READERS.get(type(node))
        if read is None:
            what, hint = _INSTEAD.get(type(node), ("this is not a query", None))
            raise self.columns.query.at(node, what, OFFERED if hint is None else [hint])
        parts: dict[str, Any] = {"by": self.by, "where": self.where, "title": title}
        return assemble(**(parts | read(self, node)))

    def _filtered(self, node: Node) -> "Aggregates":
        """Add the conditions of FILTER; in SQL, both WHERE and FILTER apply before aggregation."""
        query, kept = self.columns.query, node.args.get("expression")
        query.only(node, "this", "expression", instead=OFFERED)
        if not isinstance(kept, exp.Where):
            raise query.at(node, "FILTER needs a condition", _FILTER)
        query.only(kept, "this", instead=_FILTER)
        return replace(self, where=(*self.where, *Where(self.columns).conditions(kept.this)))

    def count(self, node: Node) -> dict[str, Any]:
        """Count all records, records with a valid entry, or people."""
        query, counted = self.columns.query, node.this
        query.only(node, "this", "big_int", instead=OFFERED[:1])
        if isinstance(counted, exp.Star):
            query.only(counted)
            return {"ask": "count"}
        if isinstance(counted, exp.Distinct):
            return self._people(counted)
        if counted is None:
            raise query.at(node, "COUNT of what?", ["COUNT(*)"])
        _, ref = self.columns.reference(counted)
        if not ref.attribute.has_other:
            return {"ask": "count"}
        return {"ask": "count", "where": (*self.where, (ref.attribute.name, negated((OTHER,))))}

    def _people(self, node: Node) -> dict[str, Any]:
        query, people = self.columns.query, self.columns.universe.people
        query.only(node, "expressions")
        names = [self.columns.written(each) for each in node.expressions]
        if people is None or sorted(map(str.lower, names)) != sorted(map(str.lower, people.key)):
            whose = "" if people is None else f": {', '.join(people.key)}"
            hints = [("GROUP BY", "counts of each value that the policy lists")]
            raise query.at(node, f"DISTINCT counts people only, by the key that the policy declares{whose}", hints)
        return {"ask": "people"}

    def sum(self, node: Node) -> dict[str, Any]:
        """Sum numbers; a sum of ones and zeros is a count."""
        self.columns.query.only(node, "this")
        if isinstance(node.this, exp.Case):
            return {"ask": "count", "where": (*self.where, *self._ones(node.this))}
        return {"ask": "sum", "of": self.columns.numeric(node.this)}

    def mean(self, node: Node) -> dict[str, Any]:
        """Average numbers; an average of ones and zeros is a proportion."""
        self.columns.query.only(node, "this")
        if isinstance(node.this, exp.Case):
            return {"ask": "proportion", "where": self._ones(node.this), "further": {"among": self.where or None}}
        return {"ask": "mean", "of": self.columns.numeric(node.this)}

    def _ones(self, node: Node) -> Conditions:
        """Return the conditions under which `CASE WHEN … THEN 1 ELSE 0 END` is 1."""
        query = self.columns.query
        query.only(node, "ifs", "default", instead=OFFERED[-1:])
        ifs, otherwise = node.args["ifs"], node.args.get("default")
        if len(ifs) != 1 or otherwise is None:
            raise query.at(node, "one WHEN and an ELSE are needed", OFFERED[-1:])
        query.only(ifs[0], "this", "true")
        for place, number in ((ifs[0].args["true"], "1"), (otherwise, "0")):
            if not isinstance(place, exp.Literal) or place.is_string or self.columns.constant(place) != number:
                raise query.at(place, f"{number} is needed here", OFFERED[-1:])
        return Where(self.columns).conditions(ifs[0].this)

    def spread(self, node: Node, ask: str) -> dict[str, Any]:
        """Read a statistic of one column."""
        self.columns.query.only(node, "this")
        return {"ask": ask, "of": self.columns.numeric(node.this)}

    def pair(self, node: Node, ask: str) -> dict[str, Any]:
        """Read a statistic of two columns."""
        self.columns.query.only(node, "this", "expression")
        first, second = (self.columns.numeric(each) for each in (node.this, node.args["expression"]))
        return {"ask": ask, "of": first, "further": {"beside": second}}

    def median(self, node: Node) -> dict[str, Any]:
        """Read `MEDIAN(x)`."""
        self.columns.query.only(node, "this")
        return {"ask": "quantile", "of": self.columns.numeric(node.this)}

    def quantile(self, node: Node) -> dict[str, Any]:
        """Read `QUANTILE_DISC(x, 0.9)`, with one level or a list."""
        self.columns.query.only(node, "this", "expression")
        levels = node.args.get("expression")
        if levels is None:
            raise self.columns.query.at(node, "a quantile of what?", [_QUANTILE])
        return self._quantile(node.this, levels)

    def within_group(self, node: Node) -> dict[str, Any]:
        """Read `PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY x)`."""
        query, order = self.columns.query, node.args.get("expression")
        hints = [_QUANTILE]
        query.only(node, "this", "expression")
        if not isinstance(node.this, exp.PercentileDisc) or not isinstance(order, exp.Order):
            raise query.at(node, "only PERCENTILE_DISC is offered WITHIN GROUP", hints)
        query.only(node.this, "this")
        query.only(order, "expressions")
        if len(order.expressions) != 1 or not isinstance(order.expressions[0], exp.Ordered):
            raise query.at(order, "a quantile of one column", hints)
        query.only(order.expressions[0], "this", "nulls_first", instead=hints)
        return self._quantile(order.expressions[0].this, node.this.this)

    def _quantile(self, of: Node, levels: Node) -> dict[str, Any]:
        query = self.columns.query
        each = levels.expressions if isinstance(levels, exp.Array) else [levels]
        if isinstance(levels, exp.Array):
            query.only(levels, "expressions")
        if not each or not all(isinstance(x, exp.Literal) and not x.is_string for x in each):
            raise query.at(levels, "which quantile?", [_QUANTILE])
        at = tuple(Fraction(self.columns.constant(x)) for x in each)
        try:
            assemble("quantile", of="x", further={"at": at})
        except QueryError as error:
            raise query.at(levels, error.what, [_QUANTILE]) from None
        name = self.columns.numeric(of)
        line = NumberLine(resolve(name, self.columns.universe))
        even = isinstance(line.numbers, Evenly) or not line.tick or len(set(line.numbers)) == line.steps + 1
        if not even:  # the answer may lie between two of them
            words = f"quantile {number_text(at[0])} of {name}"
            hints = [(words, "in words: the answer may lie between two values")]
            raise query.at(of, f"the numbers of {name} are not evenly spaced, so an answer may lie between them", hints)
        return {"ask": "quantile", "of": name, "further": {"at": at, "width": Fraction(0)}}


_READERS: dict[type[Node], Callable[[Aggregates, Node], dict[str, Any]]] = {
    exp.Count: Aggregates.count,
    exp.Sum: Aggregates.sum,
    exp.Avg: Aggregates.mean,
    exp.VariancePop: lambda asked, node: asked.spread(node, "variance"),
    exp.StddevPop: lambda asked, node: asked.spread(node, "sd"),
    exp.CovarPop: lambda asked, node: asked.pair(node, "covariance"),
    exp.Corr: lambda asked, node: asked.pair(node, "correlation"),
    exp.Median: Aggregates.median,
    exp.PercentileDisc: Aggregates.quantile,
    exp.WithinGroup: Aggregates.within_group,
}
