"""Queries in files: `[[query]]` tables, in words or in fields; errors name the file and the line.

    [[query]]
    text = "count by sex within 10"

    [[query]]
    title = "Income of women of working age"
    mean = "income"
    by = ["state", "age/10"]
    where = { sex = "F", age = "18..65" }
    within = "50 euros"
    weight = 2

In `where`, a list means any of its values, and a range is written as in words: "18..65", both ends included.  A value
that contains two dots is written as a list of one.  `where = "age >= 30 and not sex=F"` gives all conditions in words.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from dxprivacy.errors import DxError, Hint, QueryError, UsageError
from dxprivacy.exact.rounding import exact
from dxprivacy.policy.toml_file import UNPRINTABLE, TomlFile
from dxprivacy.queries.asked import Stack, importance
from dxprivacy.queries.assembling import ASKS, assemble
from dxprivacy.queries.conditions import Condition, condition, written_condition
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.densities import Density
from dxprivacy.queries.kinds.quantiles import Quantiles
from dxprivacy.queries.query import Query
from dxprivacy.queries.text.query_grammar import parse, parse_conditions, read_target
from dxprivacy.queries.text.written_names import Length, in_one_unit
from dxprivacy.universe.universe import Universe

_GOALS = ("within", "weight", "title")
_EXAMPLES = {
    "text": 'text = "count by sex"',
    "count": "count = true",
    "people": "people = true",
    "sum": 'sum = "income"',
    "mean": 'mean = "income"',
    "prefixes": 'prefixes = "age/10"',
    "ranges": 'ranges = "age/10"',
    "marginals": "marginals = 2",
    "proportion": "proportion = true",
    "ratio": 'ratio = "children"',
    "variance": 'variance = "age"',
    "sd": 'sd = "age"',
    "covariance": 'covariance = "age"',
    "correlation": 'correlation = "age"',
    "quantile": 'quantile = "income"',
    "median": 'median = "income"',
    "density": 'density = "income"',
    "among": 'among = { sex = "F" }',
    "to": 'to = "rooms"',
    "beside": 'beside = "income"',
    "at": "at = [0.25, 0.5, 0.75]",
    "width": "width = 5000",
    "every": "every = 2500",
    "blur": "blur = 2",
    "by": 'by = ["sex", "age/10"]',
    "where": 'where = { sex = "F", age = "18..65" }',
    "within": 'within = "2 m"',
    "weight": "weight = 2",
    "title": 'title = "Income by sex"',
}
_HINTS: dict[str, Hint] = {
    "table": ("count = true", 'with by = ["sex", "age/10"]'),
    "of": ('sum = "income"', "the attribute is the value of sum or mean"),
    "unit": ('within = "2 m"', "the unit is part of the target"),
    "and": (_EXAMPLES["where"], "several conditions are in one table"),
}
_LONGEST_TITLE = 120
_LENGTHS = frozenset(("width", "every", "blur"))

T = TypeVar("T")


def _keys() -> dict[str, tuple[str, ...]]:
    """Return the fields of every kind of query, including kinds registered later."""
    conditions = ("by", "where")
    return {
        "text": ("weight", "title"),
        **{
            ask: (*conditions, *(name for name in kind.also if name != "lengths"), *_GOALS)
            for ask, kind in ASKS.items()
            if not kind.whole
        },
        "median": (*conditions, "width", *_GOALS),
        **{ask: ("by", *_GOALS) if kind.listing else _GOALS for ask, kind in ASKS.items() if kind.whole},
    }


def _example(key: str) -> str:
    return _EXAMPLES.get(key, f'{key} = "…"')


class AskFile(TomlFile):
    """The `[[query]]` tables of a file."""

    noun = "queries"
    failure = QueryError
    missing = ("[[query]]", f"a line of its own in a file of queries; below it {_EXAMPLES['text']}")
    nested = "a query needs no more than [[query]]"


def load_queries(path: str | Path, universe: Universe | None = None) -> Stack:
    """Read the queries of a TOML file; with a universe, each is bound to it, so that every error names its line.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = Path(here, "queries.toml").write_text('[[query]]\\nsum = "income"\\nby = "sex"')
    ...     print(*load_queries(Path(here, "queries.toml")).queries)
    sum income by sex
    """
    return read_queries(AskFile.read(path), universe)


def read_queries(file: AskFile, universe: Universe | None = None) -> Stack:
    """Return the queries of a parsed file.

    >>> text = '[[query]]\\nsum = "income"\\nby = "sex"\\nwhere = { age = "18..65" }'
    >>> print(*read_queries(AskFile.parse(text)).queries)
    sum income by sex where age=18..65
    """
    file.only(file.tables, ("query",), "")
    asked = file.tables.get("query")
    hints = ["[[query]]", _EXAMPLES["text"]]
    if isinstance(asked, dict):
        raise file.error("each query is below [[query]], with two brackets", section="query", hints=hints)
    if not isinstance(asked, list) or not asked:
        raise file.error(
            "a file of queries needs at least one [[query]]", key="" if asked is None else "query", hints=hints
        )
    return Stack(tuple(_Ask(file, k, table).read(universe) for k, table in enumerate(asked, 1)))


class _Ask:
    """One `[[query]]`: its table, and its position in the file."""

    def __init__(self, file: AskFile, entry: int, table: Any) -> None:
        self.file, self.entry = file, entry
        if not isinstance(table, dict):
            raise self.error("a query is a table", "", ["[[query]]", _EXAMPLES["text"]])
        self.table: dict[str, Any] = table

    def error(self, what: str, key: str, hints: "list[Hint | str]", details: tuple[str, ...] = ()) -> DxError:
        # `query = [{…}, {…}]` has no headers: use its only line.
        line = self.file.line_of("query", key, self.entry) or self.file.line_of("", "query")
        return self.file.error(what, section="query", line=line, hints=hints, details=details)

    def wrong(self, key: str, what: str) -> DxError:
        return self.error(what, key, [_example(key)])

    def read(self, universe: Universe | None) -> Query:
        kind = self._kind()
        for key in self.table:
            if key in _HINTS:
                raise self.error(f"unknown key “{key}”", key, [_HINTS[key]])
        self.file.only(self.table, (kind, *_keys()[kind]), "query", entry=self.entry)
        title = self._title()
        build = self._in_words if kind == "text" else self._in_fields
        query = self._placed(kind, lambda: build(kind, title))
        if universe is not None:
            self._placed(kind, lambda: query.require_honest(universe))
            if not _awaits_lengths(query, universe):
                self._placed(kind, lambda: query.on(universe))
        return query

    def _placed(self, key: str, action: Callable[[], T]) -> T:
        """Run an action; errors get their place in the file."""
        try:
            return action()
        except DxError as error:
            if self.file.made(error):
                raise
            raise self.error(error.what, key, list(error.hints) or [_example(key)], error.details) from None

    def _kind(self) -> str:
        found = [kind for kind in _keys() if kind in self.table]
        if len(found) == 1:
            return found[0]
        if found:
            what = f"one [[query]] is one query, not {' and '.join(found)}"
            raise self.error(what, found[1], [("[[query]]", "begins another query")])
        unknown = next((key for key in self.table if key in _HINTS), "")
        hints = [_HINTS[unknown]] if unknown else [_example(kind) for kind in _keys()]
        raise self.error("this [[query]] has no query", unknown, [*hints])

    def _in_words(self, kind: str, title: str) -> Query:
        words = self.table[kind]
        if not isinstance(words, str):
            raise self.wrong(kind, "text is text, in quotes")
        asked = parse(words)
        if asked.weight != 1 and "weight" in self.table:
            raise self.error("the weight is given twice", "weight", [("weight = 2", "here, or in the words")])
        return replace(asked, weight=self._weight() if "weight" in self.table else asked.weight, title=title)

    def _in_fields(self, kind: str, title: str) -> Query:
        within, unit = self._within()
        by, where, weight = self._by(), self._where("where"), self._weight()
        of, ask = self._of(kind), Quantiles.ask if kind == "median" else kind
        return assemble(
            ask,
            of=of,
            by=by,
            where=where,
            within=within,
            unit=unit,
            weight=weight,
            title=title,
            further=self._all_further(ask),
        )

    def _all_further(self, ask: str) -> dict[str, object]:
        """Read the further fields of a kind of query; lengths may have a unit on the Earth."""
        given = [name for name in ASKS[ask].also if name in self.table]
        lengths = {name: self._length(name) for name in given if name in _LENGTHS}
        found = {name: self._further(name) for name in given if name not in lengths}
        return found | {name: length.number for name, length in lengths.items()} | in_one_unit(lengths)

    def _length(self, key: str) -> Length:
        given = self.table[key]
        if isinstance(given, str):
            return self._placed(key, lambda: Length.read(given, key))
        return Length(self._number(key, given))

    def _further(self, key: str) -> object:
        """Read one further field."""
        given = self.table[key]
        if key == "among":
            return tuple(self._where(key))
        if key in ("to", "beside"):
            return self._name(key, given)
        if key == "at":
            return tuple(self._number(key, x) for x in (given if isinstance(given, list) else [given]))
        return self._number(key, given)

    def _number(self, key: str, given: Any) -> Fraction:
        if isinstance(given, bool) or not isinstance(given, (int, Decimal)):
            also = ', or a text with its unit on the Earth: "5 km"' if key in _LENGTHS else ""
            raise self.wrong(key, f"{key} is a number{also}")
        return self._placed(key, lambda: Fraction(exact(given, what=key)))

    def _of(self, kind: str) -> str:
        given = self.table[kind]
        if not ASKS.get(kind, Quantiles).takes_of:
            if given is not True:
                raise self.wrong(kind, f"{kind} is true; groups are given by `by`, conditions by `where`")
            return ""
        if kind == "marginals":
            if type(given) is not int or given < 1:
                raise self.wrong(kind, "marginals is the number of attributes in each table")
            return str(given)
        return self._name(kind, given)

    def _name(self, key: str, given: Any) -> str:
        if not isinstance(given, str) or not given.strip() or UNPRINTABLE.search(given):
            raise self.wrong(key, f"{key} is the name of an attribute or of a property, in quotes")
        return given

    def _by(self) -> tuple[str, ...]:
        given = self.table.get("by", [])
        return tuple(self._name("by", name) for name in (given if isinstance(given, list) else [given]))

    def _where(self, key: str) -> list[tuple[str, Condition]]:
        given = self.table.get(key, {})
        if isinstance(given, str):
            return list(self._placed(key, lambda: parse_conditions(given)))
        if not isinstance(given, dict):
            raise self.wrong(key, f"{key} is a table of conditions, or a text with them in words")
        return [(self._name(key, name), self._condition(name, wanted)) for name, wanted in given.items()]

    def _condition(self, name: str, wanted: Any) -> Condition:
        values = wanted if isinstance(wanted, list) else [wanted]
        known = (str, int, Decimal, date, time)
        if not all(isinstance(v, known) and not (isinstance(v, Decimal) and not v.is_finite()) for v in values):
            raise self.wrong("where", f"a condition on {name} is a value, a list of values, or a range in quotes")
        in_words = isinstance(wanted, str)
        return self._placed("where", lambda: written_condition(wanted) if in_words else condition(values))

    def _within(self) -> tuple[Fraction | None, str]:
        given = self.table.get("within")
        if given is None:
            return None, ""
        if isinstance(given, bool) or not isinstance(given, (int, Decimal, str)):
            raise self.wrong("within", "within is a number, or a text with a number and its unit")
        try:
            return read_target(str(given))
        except UsageError as error:
            raise self.error(error.what, "within", [_EXAMPLES["within"]]) from None

    def _weight(self) -> Fraction:
        given = self.table.get("weight", 1)
        if isinstance(given, bool) or not isinstance(given, (int, Decimal)):
            raise self.wrong("weight", "weight is a number")
        return self._placed("weight", lambda: importance(given))

    def _title(self) -> str:
        title = self.table.get("title", "")
        if not isinstance(title, str) or UNPRINTABLE.search(title) or len(title) > _LONGEST_TITLE:
            raise self.wrong("title", f"a title is one line of at most {_LONGEST_TITLE} characters")
        return title.strip()


def _awaits_lengths(query: Query, universe: Universe) -> bool:
    """Whether only the plan can decide the unit of its lengths: kilometers, if the metric of the places uses them."""
    return isinstance(query, Count | Density) and not query.lengths and query.places(universe) is not None
