"""Questions in words, as on the command line and in files; one parser for both.

    count | count people | table | sum X | mean X
        [by A, B/10, age[0,18,65]]   [where A=x and B=18..65]   [within 10 [unit]]
    prefixes X | ranges X | marginals K [of A, B/10, C]   [within 10]

and behind all of them `[weight 2]`.
`where` takes `sex=F`, `state=CA|TX`, `age=18..65` (both ends included; on numbers in cells from the first to below the
last); quote values with blanks: `state='New Jersey'`.
Within quotes, the same quote is written twice: `name='O''Hara "Red"'`.
"""

import re
from fractions import Fraction

from dxprivacy.errors import DxError, QuestionError, UsageError, did_you_mean
from dxprivacy.exact.numbers import exact
from dxprivacy.questions.asked import importance
from dxprivacy.questions.assembling import ASKS, assemble
from dxprivacy.questions.conditions import Condition, condition, written_condition
from dxprivacy.questions.counts import Count, CountPeople
from dxprivacy.questions.question import BARE, KEYWORDS, Question

_TOKEN = re.compile(rf"""\s*(?:(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<mark>[=|,])|(?P<word>{BARE.pattern}))""")
_WEIGHT = "weight"  # no keyword: where a name is expected, it is the attribute `weight`


def parse(text: str) -> Question:
    """A question from words.

    >>> question = parse("mean elevation within 2 m weight 3")
    >>> question.ask, question.of, question.within, question.unit, question.weight
    ('mean', 'elevation', Fraction(2, 1), 'm', Fraction(3, 1))
    >>> parse("table sex by age/10 where native=Y").by
    ('sex', 'age/10')
    """
    reader = _Reader(text)
    ask = reader.word("a question starts with count, table, sum or mean").lower()
    if ask not in _asks():
        raise reader.error(f"“{ask}” is not something to ask", _instead(ask))
    if ask == "count" and reader.take(CountPeople.ask):
        ask = CountPeople.ask
    of, by = "", []
    if ask != "table" and ASKS[ask].takes_of:
        reader.take("of")
        of = reader.word(f"{ask} of what?", keyword=False)
    elif ask == "table":
        by += reader.names()
    if reader.take(ASKS[ask].listing or "by" if ask != "table" else "by"):
        by += reader.names()
    if ask == "table" and not by:
        raise reader.error("a table of what?", [("table sex by age/10", "")])
    where: list[tuple[str, Condition]] = []
    if reader.take("where"):
        where.append(reader.condition())
        while reader.take("and"):
            where.append(reader.condition())
    within, unit = None, ""
    if reader.take("within"):
        within, unit = reader.target()
    weight = reader.weight() if reader.take(_WEIGHT) else Fraction(1)
    if reader.peek() is not None:
        if reader.peek() == "and" and by:
            raise reader.error("groups are separated by commas", [(f"by {by[-1]}, …", "")])
        known = (*KEYWORDS, _WEIGHT)
        raise reader.error(f"“{reader.peek()}” comes unexpectedly", did_you_mean(str(reader.peek()), known))
    try:
        kind = "count" if ask == "table" else ask
        return assemble(kind, of=of, by=by, where=where, within=within, unit=unit, weight=weight)
    except DxError as error:
        raise reader.error(error.what, list(error.hints)) from None


def _instead(word: str) -> list[tuple[str, str]]:
    """What somebody who wrote this word may have wanted."""
    if word in ("average", "avg"):
        return [("mean …", "for an average")]
    if word in ("median", "quantile", "percentile", "max", "min", "maximum", "minimum"):
        return [("prefixes …", f"a {word} is no linear question; cumulative counts come closest")]
    if word in (*KEYWORDS, "of"):
        return [('"count by sex"', "put each question into quotes")]
    return did_you_mean(word, _asks()) or [("count by …", "")]


def _asks() -> tuple[str, ...]:
    """What a question may start with."""
    return ("count", "table", *(ask for ask in ASKS if ask not in (Count.ask, CountPeople.ask)))


def read_target(text: str) -> tuple[Fraction, str]:
    """A target with or without its unit.

    >>> read_target("2 m"), read_target("0.5")
    ((Fraction(2, 1), 'm'), (Fraction(1, 2), ''))
    """
    match = re.fullmatch(r"([0-9.eE+-]+)\s*(.*)", text.strip())
    number = Fraction(exact(match.group(1) if match else text.strip(), what="within"))
    if number <= 0:
        raise UsageError(f"a target is positive; “{text.strip()}” is not", hints=[("within 10", "for example")])
    return number, match.group(2).strip() if match else ""


def _amount(text: str) -> bool:
    """A number alone, which a unit may follow."""
    return re.fullmatch(r"[0-9.eE+-]+", text) is not None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text.strip()
        if not self.text:
            raise UsageError("the question is empty", hints=[("count by sex", "for example")])
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

    def error(self, what: str, hints: list[tuple[str, str]] | None = None) -> QuestionError:
        return QuestionError(what, where=f"question “{self.text}”", hints=hints or [])

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

    def condition(self) -> tuple[str, Condition]:
        name = self.word("where what?", keyword=False)
        if not self.take("="):
            raise self.error(f"a condition on {name} needs “=”", [(f"where {name}=…", "")])
        values = [self.word(f"{name} equals what?")]
        quoted = self.tokens[self.at - 1][1]
        while self.take("|"):
            values.append(self.word(f"{name} equals what else?"))
        return name, condition(values) if quoted or len(values) > 1 else written_condition(values[0])

    def weight(self) -> Fraction:
        try:
            return importance(self.word("weight of how much?"))
        except UsageError as error:
            raise self.error(error.what, [("weight 2", "its squared errors count twice")]) from None

    def target(self) -> tuple[Fraction, str]:
        text = self.word("within how much?")
        follows = self.peek() is not None and self.peek() not in (*KEYWORDS, _WEIGHT)
        more = self.word("") if follows and _amount(text) else ""
        try:
            return read_target(f"{text} {more}")
        except UsageError as error:
            raise self.error(error.what, list(error.hints)) from None
