"""The text of a SQL query: length-limited, one statement, without comments; and errors that point at a word of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dxprivacy.errors import DxError, Hint, QueryError, UsageError
from dxprivacy.exact.rounding import exact, number_text
from dxprivacy.queries.grouping import SPEC, Reference, resolve
from dxprivacy.universe.attributes.attribute import as_text
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import plural

Node: TypeAlias = exp.Expr

_DIALECT = "duckdb"
_LONGEST = 20_000  # characters
_DEEPEST = 12  # nested brackets: more than any query needs
_SHOWN = 76  # characters of a line
_STARTS = (TokenType.SELECT, TokenType.FROM, TokenType.WITH, TokenType.L_PAREN)
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)


class SqlText:
    """The text of one SELECT and its tokens with their positions."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not text.strip():
            raise UsageError("the SQL is empty", hints=[_EXAMPLE])
        if len(text) > _LONGEST:
            raise QueryError(f"SQL of more than {_LONGEST:,} characters", hints=["several shorter queries"])
        self.text = text
        self.tokens = self._words()
        self._require_select()
        self._require_nothing_else()
        self._require_shallow()

    def _words(self) -> list[Token]:
        try:
            return list(Dialect.get_or_raise(_DIALECT).tokenize(self.text))
        except (SqlglotError, RecursionError):
            raise QueryError(
                "the SQL cannot be split into words: a quote or a comment is not closed", hints=[_EXAMPLE]
            ) from None

    def _require_select(self) -> None:
        # Checked before parsing: the tokenizer may keep the rest of another statement as one token.
        if self.tokens and self.tokens[0].token_type not in _STARTS:
            first = self.tokens[0]
            raise self.error("only one SELECT can be read", first.start, first.end + 1, [_EXAMPLE])

    def _require_nothing_else(self) -> None:
        """Refuse comments, which could mislead readers of the query, and hints, which control engines."""
        last = 0
        for token in self.tokens:
            if token.token_type == TokenType.HINT:
                raise self.error("hints and comments are not read", token.start, token.end + 1, ["leave it out"])
            self._require_blank(last, token.start)
            last = token.end + 1
        self._require_blank(last, len(self.text))

    def _require_blank(self, start: int, stop: int) -> None:
        between = self.text[start:stop]
        if between.strip():
            begin = start + len(between) - len(between.lstrip())
            raise self.error("comments are not read", begin, start + len(between.rstrip()), ["leave it out"])

    def _require_shallow(self) -> None:
        depth = 0
        for token in self.tokens:
            depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
            if depth > _DEEPEST:
                raise self.error(f"more than {_DEEPEST} brackets within brackets", token.start, token.end + 1)

    def statement(self) -> Node:
        """Parse the only statement into a tree."""
        words = [k for k, token in enumerate(self.tokens) if token.token_type != TokenType.SEMICOLON]
        ends = [t for t in self.tokens[: max(words, default=0)] if t.token_type == TokenType.SEMICOLON]
        if ends:
            raise self.error("one SELECT at a time", ends[0].start, ends[0].end + 1, ["several queries, one by one"])
        try:
            found = [tree for tree in Dialect.get_or_raise(_DIALECT).parse(self.text) if tree is not None]
        except RecursionError:
            raise QueryError("the SQL is nested too deeply", hints=[_EXAMPLE]) from None
        except SqlglotError as error:
            raise self._unreadable(error) from None
        if len(found) != 1:
            raise QueryError("one SELECT is needed", hints=[_EXAMPLE])
        return found[0]

    def _unreadable(self, error: SqlglotError) -> QueryError:
        """Return an error at the place where the parser stopped.

        The parser's own message is left out, because it may quote terminal control characters.
        """
        places = getattr(error, "errors", None) or [{}]
        line, column = places[0].get("line"), places[0].get("col")
        for token in self.tokens:
            if (token.line, token.col) == (line, column):
                return self.error("this SQL cannot be read", token.start, token.end + 1, [_EXAMPLE])
        return QueryError("this SQL cannot be read", hints=[_EXAMPLE])

    def at(self, node: Node, what: str, hints: "Iterable[Hint | str]" = (), details: Iterable[str] = ()) -> QueryError:
        """Return an error that points at a part of the tree."""
        spans = [(n.meta["start"], n.meta["end"] + 1) for n in node.walk() if "start" in n.meta]
        if not spans:
            return QueryError(what, where="SQL", details=list(details), hints=hints)
        start = min(first for first, _ in spans)
        return self.error(what, start, max(last for _, last in spans), hints, details)

    def at_word(self, words: Iterable[str], what: str, hints: "Iterable[Hint | str]" = ()) -> QueryError:
        """Return an error that points at the first of some keywords."""
        wanted = set(words)
        for token in self.tokens:
            quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
            if not quoted and token.text.upper().partition(" ")[0] in wanted:
                return self.error(what, token.start, token.end + 1, hints)
        return QueryError(what, where="SQL", hints=hints)

    def error(
        self, what: str, start: int, stop: int, hints: "Iterable[Hint | str]" = (), details: Iterable[str] = ()
    ) -> QueryError:
        """Return an error that shows the line, with marks below some of its characters."""
        begin = self.text.rfind("\n", 0, start) + 1
        end = self.text.find("\n", start)
        line = self.text[begin : end if end >= 0 else len(self.text)]
        first, last = start - begin, min(stop - begin, len(line))
        skipped = max(0, first - _SHOWN // 2) if len(line) > _SHOWN else 0
        shown = line[skipped : skipped + _SHOWN].replace("\t", " ")
        marks = " " * (first - skipped) + "^" * max(min(last - skipped, len(shown)) - (first - skipped), 1)
        where = f"SQL line {self.text.count(chr(10), 0, start) + 1}, character {first + 1}"
        return QueryError(what, where=where, details=[shown, marks, *details], hints=hints)

    def only(self, node: Node, *allowed: str, instead: "Iterable[Hint | str]" = ()) -> None:
        """Refuse a node with other arguments than these."""
        extra = [key for key, value in node.args.items() if key not in allowed and value not in (None, False, [])]
        if extra:
            words = ", ".join(key.strip("_").replace("_", " ") for key in sorted(extra)[:3])
            raise self.at(node, f"{plural(len(extra), 'part')} of this is not understood: {words}", instead)


_EXAMPLE = ("SELECT region, COUNT(*) FROM people GROUP BY region", "for example")


# -- Columns and constants of a query: attributes and properties that the policy declares, and their values ------------


@dataclass(frozen=True)
class SqlColumns:
    """The names that a query may use: attributes, properties, and the names of its table."""

    query: SqlText
    universe: Universe
    tables: tuple[str, ...] = ()

    def name(self, node: Node) -> str:
        """Return the name of a column as dxprivacy queries write it."""
        written = self.written(node)
        spelled = self._spelled(written, node)
        match = SPEC.fullmatch(spelled)
        if match is None or match["name"].strip() != spelled:  # `by` would read it as a width or as edges
            raise self.query.at(node, "SQL cannot name an attribute with “/” or brackets", ["the same in words"])
        return spelled

    def written(self, node: Node) -> str:
        """Return a column as the SQL writes it, without the name of the table."""
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
        """Return the policy's spelling: SQL ignores case, except in quoted names."""
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
        """Return the name of a column, and the attribute or property that it means."""
        name = self.name(node)
        return name, resolve(name, self.universe)

    def numeric(self, node: Node) -> str:
        """Return the name of a column with numbers; refuse others."""
        name, ref = self.reference(node)
        if ref.numbers is None:
            raise self.query.at(node, f"{ref.name} has no numbers", [f"GROUP BY {name}"])
        return name

    def constant(self, node: Node) -> str:
        """Return a constant as dxprivacy queries write it: a text, a number, a day, true or false."""
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
                raise self.query.at(node, "NULL is not a value here", [other])
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

    def checked(self, node: Node, error: DxError) -> QueryError:
        """Return the same error, pointing at a part of the query."""
        return self.query.at(node, error.what, error.hints, error.details)


def _is_date(node: exp.Cast) -> bool:
    to = node.args.get("to")
    if not isinstance(to, exp.DataType) or to.this != exp.DataType.Type.DATE:
        return False
    return not [key for key, value in to.args.items() if key != "this" and value not in (None, False, [])]
