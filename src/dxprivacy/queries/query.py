"""The base class of users' queries: statistics by groups and under conditions, or many counts at once, with a target.

Each kind is a class in a file of its own, which binds itself to a universe.  Common to all are the parts, their words,
and the checks that a new query counts what its words say.
"""

import re
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dxprivacy.errors import DxError, QueryError
from dxprivacy.exact.arrays import Bools, changed
from dxprivacy.exact.rounding import Number, number_text
from dxprivacy.queries.asked import Asked, importance
from dxprivacy.queries.conditions import Conditions, condition_to_dict, is_range, plain_parts
from dxprivacy.queries.further_fields import FURTHER
from dxprivacy.queries.grouping import SPEC, require_within_limits, resolve, selected, told
from dxprivacy.queries.text.written_names import in_words, quoted
from dxprivacy.universe.ordering.order import OrderedBins
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload

_HALF = re.compile("[\ud800-\udfff]")
_SEVERAL = 2
_REMEMBERED_ROWS = 400_000  # in all


@dataclass(frozen=True)
class Query(Asked):
    """Base of all kinds of queries."""

    ask: ClassVar[str]
    said: ClassVar[str] = ""  # the words for `ask`, if they differ from it
    takes_of: ClassVar[bool] = True  # whether it needs an attribute in `of`, like `sum income`
    whole: ClassVar[bool] = False  # about all records at once: takes neither groups nor conditions
    listing: ClassVar[str] = ""  # the word before a list of attributes, for a query about all records
    missing_as: ClassVar[str] = ""  # how missing and invalid entries count in a new query
    also: ClassVar[tuple[str, ...]] = ()  # names of its further fields (further_fields.py)

    of: str = ""
    by: tuple[str, ...] = ()
    where: Conditions = ()
    within: Fraction | None = None
    unit: str = ""
    weight: Fraction = Fraction(1)  # the weight of its squared errors in the error objective
    title: str = ""  # the user's name for it
    missing: str = ""  # how missing and invalid entries count; "": as the middle of the range

    @abstractmethod
    def rows_on(self, universe: Universe) -> Workload:
        """Compute the rows over a universe."""

    def on(self, universe: Universe) -> Workload:
        """Return the rows; the last few are cached, because adaptive mechanisms bind the same query repeatedly."""
        for known, where, bound in tuple(_RECENT):
            if known == self and _same(where, universe):
                return bound if where is universe else replace(bound, universe=universe)
        with placed(self):
            rows = self.rows_on(universe)
        bound = announced(rows, self.title or self.words(universe=universe), self.weight, self.title)
        _RECENT.append((self, universe, bound))
        while len(_RECENT) > 1 and sum(known.rows for *_, known in tuple(_RECENT)) > _REMEMBERED_ROWS:
            _RECENT.popleft()
        return bound

    @property
    def measure(self) -> str:
        """The kind of its numbers; `count` unless it adds up numbers."""
        return "count"

    def grouped(self) -> tuple[str, ...]:
        """Return the group specifications that it separates."""
        return self.by

    def names(self, universe: Universe) -> list[str]:  # noqa: ARG002
        specs = [re.split(r"[/\[]", spec)[0].strip() for spec in self.grouped()]
        return specs + [name for name, _ in self.where]

    def rows_only(self) -> Self:
        return replace(self, within=None, unit="", weight=Fraction(1), title="")

    def untargeted(self) -> Self:
        return replace(self, within=None, unit="")

    def weighted(self, weight: Number) -> Self:
        """Return the same query with a weight relative to the other queries of its plan.

        >>> from dxprivacy.queries.asking import count
        >>> str(count(sex="F").weighted(2))
        'count where sex=F weight 2'
        """
        return replace(self, weight=importance(weight))

    def __str__(self) -> str:
        return self.words()

    @property
    def name(self) -> str:
        """Its title, or its words without target and weight."""
        return self.title or self.words(goals=False)

    def words(self, *, goals: bool = True, universe: Universe | None = None) -> str:
        """Write the query in words; parsing them gives it back.  `goals=False` leaves out target and weight.

        With a universe, conditions name what is counted there: a bin, or the end of the policy's range.
        """
        words = [self.about()]
        if self.by:
            words.append(f"{self.listing or 'by'} " + ", ".join(map(quoted, self.by)))
        if self.where:
            words.append("where " + _said(self.where, universe))
        words += [clause for name in self.also if (clause := self.further_words(name, universe))]
        if self.within is not None and goals:
            words.append(f"within {number_text(self.within)}" + (f" {self.unit}" if self.unit else ""))
        if self.weight != 1 and goals:
            words.append(f"weight {number_text(self.weight)}")
        return " ".join(words)

    def further_words(self, name: str, universe: Universe | None = None) -> str:
        """Write the clause of one of its further fields."""
        value = getattr(self, name)
        if name == "among" and value:
            return f"among {_said(value, universe)}"
        return FURTHER[name].words(value)

    def settled(self) -> Self:
        """Return the query in normal form; refuse invalid further fields, from any source."""
        return self

    @property
    def called(self) -> str:
        """The text in the labels of its answers, with unquoted names."""
        return f"{self.said or self.ask} {self.of}".strip()

    def about(self) -> str:
        """Return the start of its words: the kind of query and its attribute."""
        return f"{self.said or self.ask} {quoted(self.of)}" if self.of else self.said or self.ask

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"ask": self.ask}
        if self.of:
            out["of"] = self.of
        if self.by:
            out["by"] = list(self.by)
        if self.where:
            out["where"] = [[name, condition_to_dict(condition)] for name, condition in self.where]
        if self.within is not None:
            out["within"] = str(self.within)
        if self.unit:
            out["unit"] = self.unit
        if self.weight != 1:
            out["weight"] = str(self.weight)
        if self.title:
            out["title"] = self.title
        if self.missing:
            out["missing"] = self.missing
        given = {name: value for name in self.also if (value := getattr(self, name)) not in (None, (), "")}
        return out | {name: FURTHER[name].to_json(value) for name, value in given.items()}

    def require_honest(self, universe: Universe) -> None:
        """Refuse a query that would count something else than its words say.

        Conditions on numbers outside a range that clamps would count the nearest end.  Conditions that cannot hold
        together would count no records.
        """
        self._require_known_values(universe)
        self._require_possible(universe)
        for name, wanted in self.where:
            ref = resolve(name, universe)
            entry = ref.entry
            with placed(self):
                for part in plain_parts(wanted):
                    require_within_limits(name, part, universe)
            values = [v for part in plain_parts(wanted) if isinstance(part, tuple) and not is_range(part) for v in part]
            beyond = [str(v) for v in values if entry is not None and entry.beyond(v)]
            if beyond:
                raise QueryError(
                    f"{beyond[0][:60]} lies outside the range of {ref.name}",
                    where=f"query “{self}”",
                    details=[f"The policy counts a {ref.name} outside its range as the nearest end of it."],
                    hints=[("a value within the range", "the first and the last hold all that lies beyond them")],
                )

    def _require_known_values(self, universe: Universe) -> None:
        """Refuse groups by, and conditions on, sums of numbers that are known only in bins."""
        grouped = [match["name"].strip() for spec in self.grouped() if (match := SPEC.fullmatch(spec.strip()))]
        for name in (*grouped, *(name for name, _ in self.where)):
            ref = resolve(name, universe)
            if ref.fact is None or not any(ref.hides) or isinstance(ref.attribute.order(ref.fact), OrderedBins):
                continue
            raise QueryError(
                f"{name} adds up numbers that are known only in bins, so its values cannot be separated",
                where=f"query “{self}”",
                hints=[f"mean {name}", f"sum {name}"],
            )

    def _require_possible(self, universe: Universe) -> None:
        """Refuse conditions on one attribute that no value fulfils together; `rows_on` checks each one alone."""
        if len(self.where) < _SEVERAL:
            return
        masks: dict[int, Bools] = {}
        for name, wanted in self.where:
            with placed(self):
                axis, mask = selected(name, wanted, universe)
            masks[axis] = masks.get(axis, True) & mask
            if not masks[axis].any():
                raise QueryError(
                    f"no possible record fulfils all conditions on {universe.names[axis]}",
                    where=f"query “{self}”",
                    hints=[("or", "joins conditions of which one is to hold")],
                )


def _said(where: Conditions, universe: Universe | None) -> str:
    """Write conditions in words: as given, or as they are counted in a universe."""
    if universe is None:
        return in_words(where)
    return in_words(where, {k: words for k, (n, wanted) in enumerate(where) if (words := told(n, wanted, universe))})


_RECENT: deque[tuple[Query, Universe, Workload]] = deque(maxlen=8)


def _same(one: Universe, other: Universe) -> bool:
    # Equality of universes ignores units, but answers carry them.
    return one is other or (one == other and one.units() == other.units())


@contextmanager
def placed(query: Asked | str) -> Iterator[None]:
    """Add the query to errors that do not name a place."""
    try:
        yield
    except DxError as error:
        if error.where:
            raise
        at = f"query “{query}”"
        raise type(error)(error.what, where=at, details=error.details, hints=error.hints) from None


def announced(bound: Workload, title: str, weight: Fraction, label: str = "") -> Workload:
    """Return the rows of one query with its title and weight; `label` replaces the label of a single answer."""
    answers = bound.answers
    if _HALF.search("".join((title, *(a.label for a in answers)))):  # Python does not pair them up
        raise QueryError(
            "a title or label has half of a character (a lone surrogate), which no file can hold",
            hints=["write the title or the labels again"],
        )
    if weight != 1:
        answers = tuple(changed(a, weight=weight) for a in answers)
    if label and len(answers) == 1:
        answers = (replace(answers[0], label=label),)
    return replace(bound, answers=answers, titles=(title,))
