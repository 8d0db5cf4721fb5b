"""Queries in words, as on the command line and in files; one parser for both.

    count | count people | table | sum X | mean X | variance X | sd X | covariance X, Y | correlation X, Y
        [by A, B/10, age[0,18,65]]   [where A=x and B=18..65]   [within 10 [unit]]
    proportion where C=z [among A=x]   [by …]   |   ratio of sum X to count, or to sum Y   [by …]   [where …]
    median X | quantile 0.25, 0.75 of X | density X   [width 5] [every 2]   [by …] [where …]
    prefixes X | ranges X | marginals K [of A, B/10, C]   [within 10]
    count by HOME   [blur 2 km]

and after each of them `[weight 2]`.  Clauses come in any order; `histogram X` is `count by X`, `cumulative` prefixes.
`where` takes `sex=F`, `state=CA|TX`, `age=18..65` (both ends included; for binned numbers, from the first to below the
last), `age>=30`, `sex in (F, X)`, `not sex=F`, `age<18 or age>65`; quote values with blanks: `state='New Jersey'`.
Inside quotes, the same quote is written twice: `name='O''Hara "Red"'`.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dxprivacy.errors import DxError, QueryError, UsageError, did_you_mean
from dxprivacy.exact.rounding import exact, split_length
from dxprivacy.queries.asked import importance
from dxprivacy.queries.assembling import ASKS, assemble
from dxprivacy.queries.conditions import Conditions
from dxprivacy.queries.kinds.counts import Count, CountPeople
from dxprivacy.queries.kinds.marginals import Prefixes
from dxprivacy.queries.kinds.quantiles import Quantiles
from dxprivacy.queries.kinds.ratios import RatioOf
from dxprivacy.queries.kinds.spreads import Correlation, Covariance
from dxprivacy.queries.kinds.sums import Sum
from dxprivacy.queries.query import Query
from dxprivacy.queries.text.condition_grammar import read_conditions
from dxprivacy.queries.text.written_names import BARE, KEYWORDS, Length, in_one_unit

_TOKEN = re.compile(rf"""\s*(?:(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<mark>[=|,])|(?P<word>{BARE.pattern}))""")


def parse(text: str) -> Query:
    """Read a query from words.

    >>> query = parse("mean elevation within 2 m weight 3")
    >>> query.ask, query.of, query.within, query.unit, query.weight
    ('mean', 'elevation', Fraction(2, 1), 'm', Fraction(3, 1))
    >>> parse("table sex by age/10 where native=Y").by
    ('sex', 'age/10')
    >>> print(parse("proportion where delay=15..60 among month=1 by carrier by origin"))
    proportion by carrier, origin where delay=15..60 among month=1
    """
    reader = _Reader(text)
    said = reader.word(f"a query starts with {', '.join(_asks())}").lower()
    if said not in _asks():
        raise reader.error(f"“{said}” is not a query", _instead(said))
    parts = _head(reader, said)
    given: set[str] = set()
    while (clause := reader.clause()) is not None:
        if clause in given and clause != "by":
            raise reader.error(f"“{clause}” is given twice", [("and", "joins conditions")] if clause == "where" else [])
        given.add(clause)
        _CLAUSES[clause](reader, parts)
    if said == "table" and not parts["by"]:
        raise reader.error("a table of what?", [("table sex by age/10", "")])
    if reader.peek() is not None:
        if reader.peek() == "and" and parts["by"]:
            raise reader.error("groups are separated by commas", [(f"by {parts['by'][-1]}, …", "")])
        known = (*KEYWORDS, *_CLAUSES)
        raise reader.error(f"“{reader.peek()}” comes unexpectedly", did_you_mean(str(reader.peek()), known))
    try:
        parts["further"] |= in_one_unit(parts.pop("lengths"))
        return assemble(**parts)
    except DxError as error:
        raise reader.error(error.what, list(error.hints)) from None


def parse_conditions(text: str) -> Conditions:
    """Read conditions alone, in the words that may follow `where`.

    >>> from dxprivacy.queries.text.written_names import in_words
    >>> in_words(parse_conditions("(age < 18 or age > 65) and sex in (F, X) and not job=none"))
    '(age<18 or age>65) and sex=F|X and not job=none'
    """
    reader = _Reader(text)
    found = read_conditions(reader)
    if reader.peek() is not None:
        raise reader.error(f"“{reader.peek()}” comes unexpectedly", [("and", "joins conditions")])
    return found


def _head(reader: "_Reader", said: str) -> dict[str, Any]:
    """Read the words before all clauses: the kind of query, and its attributes."""
    ask = _ALSO_SAID.get(said, said)
    if ask == Count.ask and said == "count" and reader.take(CountPeople.ask):
        ask = CountPeople.ask
    parts: dict[str, Any] = {"ask": ask, "by": [], "where": [], "further": {}, "lengths": {}}
    if said in _HEADS:
        _HEADS[said](reader, parts)
    elif ASKS[ask].takes_of:
        reader.take("of")
        parts["of"] = reader.word(f"{said} of what?", keyword=False)
    if ASKS[ask].listing and reader.take(ASKS[ask].listing):
        parts["by"] += reader.names()
    return parts


def _by(reader: "_Reader", parts: dict[str, Any]) -> None:
    parts["by"] += reader.names()


def _where(reader: "_Reader", parts: dict[str, Any]) -> None:
    parts["where"] = read_conditions(reader)


def _among(reader: "_Reader", parts: dict[str, Any]) -> None:
    parts["further"]["among"] = read_conditions(reader)


def _within(reader: "_Reader", parts: dict[str, Any]) -> None:
    parts["within"], parts["unit"] = reader.target()


def _weight(reader: "_Reader", parts: dict[str, Any]) -> None:
    parts["weight"] = reader.weight()


def _length(name: str) -> Callable[["_Reader", dict[str, Any]], None]:
    """Return a reader of a length: a number, possibly with its unit on the Earth."""

    def read(reader: "_Reader", parts: dict[str, Any]) -> None:
        written, unit = split_length(reader.word(f"{name} of how much?"))
        unit = unit or reader.unit()
        try:
            given = Length.of(written, unit, name)
        except UsageError as error:
            raise reader.error(error.what, list(error.hints)) from None
        parts["further"][name], parts["lengths"][name] = given.number, given

    return read


_CLAUSES: dict[str, Callable[["_Reader", dict[str, Any]], None]] = {
    "by": _by,
    "where": _where,
    "among": _among,
    "within": _within,
    "width": _length("width"),
    "every": _length("every"),
    "blur": _length("blur"),
    "weight": _weight,  # not a keyword: where a name is expected, it is the attribute `weight`
}


def _ratio(reader: "_Reader", parts: dict[str, Any]) -> None:
    """Read `of sum children to count` or `of sum cost to sum area`."""
    example = [("ratio of sum children to count by region", "")]
    reader.take("of")
    if not reader.take(Sum.ask):
        raise reader.error("a ratio is of a sum: “ratio of sum X to count”, or “to sum Y”", example)
    parts["of"] = reader.word("a ratio of the sum of what?", keyword=False)
    if not reader.take("to"):
        raise reader.error(f"a ratio of sum {parts['of']} to what?", example)
    if reader.take(Sum.ask):
        parts["further"]["to"] = reader.word("to the sum of what?", keyword=False)
    elif not reader.take(Count.ask):
        raise reader.error(f"a ratio of sum {parts['of']} to what?", example)


def _two(reader: "_Reader", parts: dict[str, Any]) -> None:
    """Read `age, income` or `of age and income`."""
    reader.take("of")
    parts["of"] = reader.word(f"{parts['ask']} of what?", keyword=False)
    if not reader.take(",") and not reader.take("and"):
        raise reader.error(
            f"{parts['ask']} of {parts['of']} and what?", [(f"{parts['ask']} {parts['of']}, OTHER", "two attributes")]
        )
    parts["further"]["beside"] = reader.word(f"{parts['ask']} of {parts['of']} and what?", keyword=False)
    if reader.peek() in (",", "and"):
        raise reader.error(
            f"a {parts['ask']} is of two",
            [(f"{parts['ask']} {parts['of']}, {parts['further']['beside']}", "one query for each two")],
        )


def _quantile(reader: "_Reader", parts: dict[str, Any]) -> None:
    """Read `0.9 of income` or `0.25, 0.5, 0.75 of income`."""
    example = [("quantile 0.9 of income", ""), ("quantile 0.25, 0.75 of income", "")]
    if reader.peek() == "of":
        raise reader.error("which quantile?", [*example, ("median income", "the one in the middle")])
    levels = [reader.number("which quantile?", example, percent=True)]
    while reader.take(","):
        levels.append(reader.number("which further quantile?", example, percent=True))
    reader.take("of")
    parts["of"] = reader.word("a quantile of what?", keyword=False)
    parts["further"]["at"] = tuple(levels)


_HEADS: dict[str, Callable[["_Reader", dict[str, Any]], None]] = {
    Quantiles.ask: _quantile,
    "table": _by,
    "histogram": _by,
    RatioOf.ask: _ratio,
    Covariance.ask: _two,
    Correlation.ask: _two,
}
_ALSO_SAID = {"table": Count.ask, "histogram": Count.ask, "cumulative": Prefixes.ask, "median": Quantiles.ask}


def _instead(word: str) -> list[tuple[str, str]]:
    """Return hints for a word that is not a query: what its author may have meant."""
    if word in ("average", "avg"):
        return [("mean …", "for an average")]
    if word in ("percentile", "percentiles", "quartile", "quartiles"):
        return [("quantile 0.9 of …", "the 90th percentile"), ("quantile 0.25, 0.5, 0.75 of …", "the quartiles")]
    if word in ("mode", "most"):
        return [('dxp select "most common …"', "a value, chosen"), ("count by …", "all counts")]
    if word in ("max", "min", "maximum", "minimum"):
        return [("quantile 0.99 of …", f"a {word} depends on one record; a quantile near the end does not")]
    if word in ("stddev", "std", "deviation", "stdev"):
        return [("sd …", "a standard deviation")]
    if word in (*KEYWORDS, "of"):
        return [('"count by sex"', "put each query into quotes")]
    return did_you_mean(word, _asks()) or [("count by …", "")]


def _asks() -> tuple[str, ...]:
    """Return the words that a query may start with."""
    return ("count", *_ALSO_SAID, *(ask for ask in ASKS if ask not in (Count.ask, CountPeople.ask)))


def read_target(text: str) -> tuple[Fraction, str]:
    """Read a target with or without its unit.

    >>> read_target("2 m"), read_target("0.5")
    ((Fraction(2, 1), 'm'), (Fraction(1, 2), ''))
    """
    match = re.fullmatch(r"([0-9.eE+-]+)\s*(.*)", text.strip())
    number = Fraction(exact(match.group(1) if match else text.strip(), what="within"))
    if number <= 0:
        raise UsageError(f"a target is positive; “{text.strip()}” is not", hints=[("within 10", "for example")])
    return number, match.group(2).strip() if match else ""


def _amount(text: str) -> bool:
    """Whether the text is only a number, which a unit may follow."""
    return re.fullmatch(r"[0-9.eE+-]+", text) is not None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text.strip()
        if not self.text:
            raise UsageError("the query is empty", hints=[("count by sex", "for example")])
        self.tokens: list[tuple[str, bool]] = []  # text, quoted
        position = 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise self.error(f"cannot read “{self.text[position : position + 20]}”")
            quoted = match.group("quoted")
            if quoted:
                self.tokens.append((quoted[1:-1].replace(quoted[0] * 2, quoted[0]), True))
            else:
                self.tokens.append((match.group("mark") or match.group("word"), False))
            position = match.end()
        self.at = 0

    def error(self, what: str, hints: list[tuple[str, str]] | None = None) -> QueryError:
        return QueryError(what, where=f"query “{self.text}”", hints=hints or [])

    def clause(self) -> str | None:
        """Read the word that begins the next clause, if there is one; a quoted word is a name."""
        if self.at >= len(self.tokens) or self.tokens[self.at][1] or self.tokens[self.at][0] not in _CLAUSES:
            return None
        self.at += 1
        return self.tokens[self.at - 1][0]

    def peek(self) -> str | None:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else None

    def take(self, word: str) -> bool:
        here = self.at < len(self.tokens) and self.tokens[self.at] == (word, False)
        self.at += here
        return here

    def word(self, otherwise: str, *, keyword: bool = True) -> str:
        if self.at >= len(self.tokens):
            raise self.error(otherwise)
        text, quoted = self.tokens[self.at]
        if not quoted and (text in "=|," or (not keyword and text in KEYWORDS)):
            raise self.error(otherwise)
        self.at += 1
        return text

    def names(self) -> list[str]:
        names = [self.word("by what?", keyword=False)]
        while self.take(","):
            names.append(self.word("by what else?", keyword=False))
        return names

    def unit(self) -> str:
        """Read the unit after a number: a word that is neither a mark nor the start of a clause; else empty."""
        text, quoted = self.tokens[self.at] if self.at < len(self.tokens) else ("", True)
        if quoted or text in (*KEYWORDS, *_CLAUSES) or not text.isalpha():
            return ""
        self.at += 1
        return text

    def weight(self) -> Fraction:
        try:
            return importance(self.word("weight of how much?"))
        except UsageError as error:
            raise self.error(error.what, [("weight 2", "its squared errors count twice")]) from None

    def number(self, otherwise: str, hints: list[tuple[str, str]], *, percent: bool = False) -> Fraction:
        text = self.word(otherwise)
        hundredths = percent and text.endswith("%")
        try:
            return Fraction(exact(text.removesuffix("%") if hundredths else text, what="a number")) / (
                100 if hundredths else 1
            )
        except UsageError as error:
            raise self.error(error.what, hints) from None

    def target(self) -> tuple[Fraction, str]:
        text = self.word("within how much?")
        follows = self.peek() is not None and self.peek() not in (*KEYWORDS, *_CLAUSES)
        more = self.word("") if follows and _amount(text) else ""
        try:
            return read_target(f"{text} {more}")
        except UsageError as error:
            raise self.error(error.what, list(error.hints)) from None
