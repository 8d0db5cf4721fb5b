"""Conditions in words: `sex=F`, `state=CA|TX`, `state=CA,TX`, `age=18..65`, `age>=30`, `sex in (F, X)`, `not`, `or`.

`or` binds less than `and`, both less than `not`; brackets group.  Signs and brackets need no blanks around them.  Names
and values may contain them where they have no meaning: in `income=>50K` and `group=A(1)` they are parts of values.
"""

import re
from typing import Protocol

from dxprivacy.errors import DxError, QueryError
from dxprivacy.queries.conditions import (
    MOST_DEEP,
    Condition,
    Conditions,
    alternatives,
    compared,
    condition,
    negated,
    opposite,
    written_condition,
)

_SIGN = re.compile("<>|<=|>=|!=|<|>")
_COMPARISON = re.compile(r"(?P<name>[^<>]+?)?(?P<sign><>|[<>])(?P<rest>.*)", re.S)
_MOST = 200  # conditions in one query: each is evaluated on all values of an attribute
_UNEQUAL = ("!=", "<>")


class Words(Protocol):
    """Words of a query, read one by one: their texts, and whether each is quoted."""

    tokens: list[tuple[str, bool]]
    at: int

    def error(self, what: str, hints: list[tuple[str, str]] | None = None) -> QueryError:
        """Return an error that shows the query."""

    def word(self, otherwise: str, *, keyword: bool = True) -> str:
        """Read the next word; raise `otherwise` as an error if there is none."""

    def take(self, word: str) -> bool:
        """Read the next word if it is this one; return whether it was."""


def read_conditions(reader: Words) -> Conditions:
    """Read conditions, joined by `and`, `or` and `not`, by recursive descent."""
    try:
        return _Conditions(reader).alternatives()
    except DxError as error:
        if error.where:
            raise
        raise reader.error(error.what, [h if isinstance(h, tuple) else (h, "") for h in error.hints]) from None


class _Conditions:
    def __init__(self, reader: Words) -> None:
        self.reader = reader
        self.open = 0  # brackets
        self.deep = 0
        self.read = 0

    def alternatives(self) -> Conditions:
        found = [self._joined()]
        while self.reader.take("or"):
            found.append(self._joined())
        return alternatives(found)

    def _joined(self) -> Conditions:
        found = self._one()
        while self.reader.take("and"):
            found += self._one()
        return found

    def _one(self) -> Conditions:
        self.deep += 1
        if self.deep > 2 * MOST_DEEP:
            raise self.reader.error("conditions are nested too deeply", [("simpler ones", "")])
        try:
            if self._denied():
                return opposite(self._one())
            if not self._bracket():
                return (self._condition(),)
            self.open += 1
            found = self.alternatives()
            if not self.reader.take(")"):
                raise self.reader.error("a bracket is not closed", [("(age<18 or age>65)", "")])
            self.open -= 1
            return found
        finally:
            self.deep -= 1

    def _denied(self) -> bool:
        """Read `not`, unless it is a name: `not=1`."""
        self._part_bracket("not")
        follows = self._ahead(1)
        return follows not in ("=", None) and self.reader.take("not")

    def _bracket(self) -> bool:
        """Read an opening bracket at the start of a word; return whether there was one."""
        text = self._ahead(0)
        if text is None or not text.startswith("("):
            return False
        self._replace("(", text[1:])
        self.reader.at += 1
        return True

    def _condition(self) -> tuple[str, Condition]:
        reader = self.reader
        self.read += 1
        if self.read > _MOST:
            raise reader.error(f"more than {_MOST:,} conditions in one query", [("state=CA|TX|…", "lists values")])
        self._part_comparison()
        name = reader.word("where what?", keyword=False)
        sign = self._sign()
        if sign in _UNEQUAL:
            return name, negated(condition([self._value(f"{name} differs from what?")]))
        if sign:
            return name, compared(sign, self._value(f"{name} {sign} what?"))
        self._part_bracket("in")
        if reader.take("in"):
            return name, condition(self._listed(name))
        if self._ahead(0) == "not" and (self._ahead(1) or "").partition("(")[0] == "in":
            reader.at += 1
            self._part_bracket("in")
            reader.at += 1
            return name, negated(condition(self._listed(name)))
        if not reader.take("="):
            more = [(f"where {name}=18..65", "both ends included")] if self._ahead(0) == "between" else []
            hints = more or [(f"where {name}=…", ""), (f"where {name}>=…", "")]
            raise reader.error(f"a condition on {name} needs “=”, or a comparison", hints)
        values = [self._value(f"{name} equals what?")]
        quoted = reader.tokens[reader.at - 1][1]
        if (ends := self._other_end(values[0], quoted)) is not None:
            return name, condition(ends)
        while reader.take("|") or reader.take(","):
            values.append(self._value(f"{name} equals what else?"))
        if self._ahead(0) == "=":
            raise reader.error(f"{name} equals what?", [("and", "joins conditions")])
        return name, condition(values) if quoted or len(values) > 1 else written_condition(values[0])

    def _other_end(self, first: str, quoted: bool) -> tuple[str, str] | None:
        """Return the ends of a range with a quoted end, such as `'now and then'..often`; None for everything else."""
        reader = self.reader
        self._part_closing()
        follows = reader.tokens[reader.at] if reader.at < len(reader.tokens) else ("", False)
        if quoted and not follows[1] and follows[0].startswith(".."):
            reader.at += 1
            return first, follows[0][2:] or self._value(f"from {first[:40]} to what?")
        if not quoted and follows[1] and len(first) > 2 and first.endswith(".."):
            return first[:-2], self._value("")
        return None

    def _listed(self, name: str) -> list[str]:
        """Read a list of values, such as `(F, X)`."""
        if not self._bracket():
            raise self.reader.error(f"{name} in which values?", [(f"{name} in (…, …)", "")])
        self.open += 1
        values = [self._value(f"{name} in which values?")]
        while self.reader.take(","):
            values.append(self._value(f"{name} in which other values?"))
        if not self.reader.take(")"):
            raise self.reader.error("a bracket is not closed", [(f"{name} in (…, …)", "")])
        self.open -= 1
        return values

    def _value(self, otherwise: str) -> str:
        """Read a value, without the closing brackets that follow it."""
        self._part_closing()
        if self.open and self._ahead(0) == ")":
            raise self.reader.error(otherwise)
        found = self.reader.word(otherwise)
        self._part_closing()  # after quotes they are a word of their own: `'a'))`
        return found

    def _part_closing(self) -> None:
        text = self._ahead(0)
        if text is None or not self.open:
            return
        closing = 0
        while closing < self.open and text.endswith(")") and text.count(")") > text.count("("):
            text, closing = text[:-1], closing + 1
        if closing:
            self._replace(text, *[")"] * closing)

    def _part_bracket(self, word: str) -> None:
        """Split `in(F, X)` and `not(…)`, written without a blank, into two words."""
        text = self._ahead(0)
        if text is not None and text.startswith(f"{word}("):
            self._replace(word, text[len(word) :])

    def _part_comparison(self) -> None:
        """Split `age>30` into three words; `age>=30` was tokenized as `age>`, `=` and `30`."""
        text = self._ahead(0)
        if text is None:
            return
        equals = self._ahead(1) == "="
        if equals and text.endswith(("<", ">", "!")) and len(text) > 1:
            self._replace(text[:-1], text[-1])
        elif not equals and (match := _COMPARISON.fullmatch(text)) and match["name"]:
            self._replace(match["name"], match["sign"], match["rest"])

    def _sign(self) -> str:
        """Read a sign such as `>` or `>=`; empty if there is none, or only `=`."""
        text = self._ahead(0)
        if text is None or text[:1] not in ("<", ">", "!"):
            return ""
        if text in ("<", ">", "!") and self._ahead(1) == "=":
            self.reader.at += 2
            return f"{text}="
        match = _SIGN.match(text)
        if match is None:
            return ""
        self._replace(match[0], text[match.end() :])
        self.reader.at += 1
        return match[0]

    def _ahead(self, further: int) -> str | None:
        """Return a word ahead without reading it; None if there is none, or if it is quoted."""
        at = self.reader.at + further
        tokens = self.reader.tokens
        return tokens[at][0] if at < len(tokens) and not tokens[at][1] else None

    def _replace(self, *texts: str) -> None:
        """Replace the next word by several words."""
        self.reader.tokens[self.reader.at : self.reader.at + 1] = [(text, False) for text in texts if text]
