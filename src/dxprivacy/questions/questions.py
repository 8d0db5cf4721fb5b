"""Questions: unbound, frozen, serialisable.  `question.on(universe)` turns one into a workload.

    dx.table("sex", "age/10")                 one count per combination
    dx.count(sex="F", age=(18, 65))           one count, bounds included
    dx.sum_of("income", by="sex")             sums
    dx.mean_of("home.elevation", within=2)    a mean, wanted within 2 (95 % of the time)
    dx.table("age/10", weight=2)              more important than others in its plan
    dx.matrix([[1, 0, 1]])                    any linear questions

Questions stack with `+`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dxprivacy.attributes.base import as_text
from dxprivacy.attributes.text_formats import as_date
from dxprivacy.errors import QuestionError, UsageError, did_you_mean
from dxprivacy.exact.numbers import Number, exact
from dxprivacy.model.workload import stack

if TYPE_CHECKING:
    from dxprivacy.model.universe import Universe
    from dxprivacy.model.workload import Workload
    from dxprivacy.questions.strategy_rows import Picked, Steps, Tally

Condition: TypeAlias = tuple[str, ...] | tuple[Fraction, Fraction] | tuple[date, date]
"""Any of these values, or a range of numbers or days with both ends included."""


ASKS = ("count", "sum", "mean", "prefixes", "ranges", "marginals")
MISSING = {"sum": "zero", "mean": "left out"}
"""How missing and invalid entries count: as 0, unless the policy declares another value; not at all."""
WHOLE = ("prefixes", "ranges", "marginals")
"""What is asked of all records at once: neither groups nor conditions."""


@dataclass(frozen=True)
class Question:
    """A count, sum or mean, possibly by groups, under conditions, with a target."""

    ask: str
    of: str = ""
    by: tuple[str, ...] = ()
    where: tuple[tuple[str, Condition], ...] = ()
    within: Fraction | None = None
    unit: str = ""
    weight: Fraction = Fraction(1)  # so many times its squared errors count when the noise is shared out
    title: str = ""  # what people call it
    missing: str = ""  # how missing and invalid entries count, see MISSING; as the middle of the range where it is ""

    def on(self, universe: "Universe") -> "Workload":
        """This question's rows over a universe."""
        from dxprivacy.questions.binding import bind

        return bind(self, universe)

    def __add__(self, other: "Question | Stack | Matrix") -> "Stack":
        return Stack((self,)) + other

    def __str__(self) -> str:
        from dxprivacy.questions.grammar import write

        return write(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        out: dict[str, Any] = {"ask": self.ask}
        if self.of:
            out["of"] = self.of
        if self.by:
            out["by"] = list(self.by)
        if self.where:
            out["where"] = [[name, _condition_to_dict(condition)] for name, condition in self.where]
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
        return out

    @property
    def name(self) -> str:
        """Its title, or its words without target and weight."""
        from dxprivacy.questions.grammar import write

        return self.title or write(self, goals=False)

    def weighted(self, weight: Number) -> "Question":
        """The same question, so much more important than others in its plan.

        >>> str(count(sex="F").weighted(2))
        'count where sex=F weight 2'
        """
        return replace(self, weight=importance(weight))


@dataclass(frozen=True, eq=False)
class Matrix:
    """Explicit rows, dense or sparse, on the integer grid.

    Where they were rounded to fit it (`bias`), `written` holds them as they were: a sensitivity is asked for those.
    """

    whole: Any
    factor: Fraction = Fraction(1)
    bias: Fraction = Fraction(0)
    labels: tuple[str, ...] = ()
    within: Fraction | None = None
    weight: Fraction = Fraction(1)
    written: Any = None

    def on(self, universe: "Universe") -> "Workload":
        """These rows over a universe."""
        from dxprivacy.questions.binding import bind_matrix

        return bind_matrix(self, universe)

    def __add__(self, other: "Question | Stack | Matrix") -> "Stack":
        return Stack((self,)) + other

    def __str__(self) -> str:
        return f"{self.whole.shape[0]} explicit rows"

    @property
    def name(self) -> str:
        """How many rows."""
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the non-zero entries."""
        from scipy.sparse import coo_array

        entries = coo_array(self.whole)
        entries.sum_duplicates()
        return {
            "ask": "matrix",
            "shape": list(self.whole.shape),
            "rows": entries.row.tolist(),
            "columns": entries.col.tolist(),
            "entries": entries.data.tolist(),
            "factor": str(self.factor),
            "bias": str(self.bias),
            "labels": list(self.labels),
            **({} if self.within is None else {"within": str(self.within)}),
            **({} if self.weight == 1 else {"weight": str(self.weight)}),
        }


@dataclass(frozen=True)
class Stack:
    """Several questions asked together."""

    questions: "tuple[Asked, ...]"

    def __add__(self, other: "Question | Stack | Matrix") -> "Stack":
        more = other.questions if isinstance(other, Stack) else (other,)
        return Stack((*self.questions, *more))

    def on(self, universe: "Universe") -> "Workload":
        """All rows over a universe."""
        return stack([q.on(universe) for q in self.questions])

    def to_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [q.to_dict() for q in self.questions]


Asked: TypeAlias = "Question | Matrix | Tally | Steps | Picked"
"""Everything that has rows: what people ask, and what plans and adaptive mechanisms ask in its place."""

_HEAVIEST = 1_000_000
_NUMBER = (int, float, np.number, Fraction, Decimal)
Ask: TypeAlias = "Question | Matrix | Stack | str | Iterable[Question | Matrix | Stack | str]"


def gather(*asked: Any) -> Stack:
    """Questions, lists of them, arrays, and questions in words, as one stack.

    >>> len(gather("count by sex", [count(), mean_of("age")]).questions)
    3
    """
    found: list[Asked] = []
    for item in asked:
        if isinstance(item, (Question, Matrix)):
            found.append(item)
        elif isinstance(item, Stack):
            found += item.questions
        elif isinstance(item, str):
            from dxprivacy.questions.grammar import parse

            found.append(parse(item))
        elif isinstance(item, np.ndarray) or hasattr(item, "tocsc"):
            found += gather(matrix(item)).questions
        elif isinstance(item, (list, tuple)) and item and not any(isinstance(x, _NUMBER) for x in item):
            numeric = all(isinstance(x, (list, tuple)) and x and isinstance(x[0], _NUMBER) for x in item)
            found += gather(*([matrix(item)] if numeric else item)).questions
        elif isinstance(item, (list, tuple)) and item:
            found += gather(matrix([item])).questions
        else:
            raise UsageError(
                f"not a question: {type(item).__name__}", hints=["dx.table, dx.count, dx.sum_of, dx.mean_of"]
            )
    if not found:
        raise UsageError("ask at least one question", hints=["dx.count(), dx.table('sex')"])
    return Stack(tuple(found))


def assemble(
    ask: str,
    *,
    of: str = "",
    by: Sequence[str] = (),
    where: Sequence[tuple[str, Condition]] = (),
    within: Fraction | None = None,
    unit: str = "",
    weight: Fraction = Fraction(1),
    title: str = "",
    missing: str | None = None,
) -> Question:
    """A question from its parts, however they were written; what has no meaning is refused.

    Words, `[[ask]]` tables and JSON all end here.

    >>> str(assemble("sum", of="income", by=["sex"]))
    'sum income by sex'
    """
    if ask not in ASKS:
        raise QuestionError(f"“{ask}” is not something to ask", hints=did_you_mean(str(ask), ASKS) or [("count", "")])
    if (ask == "count") == bool(of):
        what = f"{ask} of what?" if not of else f"count takes no “{of}”"
        raise QuestionError(what, hints=[(f"{ask} age", "") if not of else (f"count by {of}", "")])
    if by and ask in WHOLE:
        raise QuestionError(f"{ask} cannot be grouped", hints=[("count by …", "for groups")])
    if where and ask in WHOLE:
        raise QuestionError(f"{ask} take no condition", hints=[("count where …", "for conditions")])
    usual = MISSING.get(ask, "")
    if missing not in (None, "", usual):
        hint = (f'missing = "{usual}"', "how missing entries count") if usual else ("no missing", "entries all count")
        raise QuestionError(f"{ask} does not know how missing entries count: {str(missing)[:40]!r}", hints=[hint])
    return Question(
        ask, of, tuple(by), tuple(where), within, unit, weight, title, usual if missing is None else missing
    )


def table(
    *by: str, where: Mapping[str, object] | None = None, within: Number | None = None, weight: Number = 1
) -> Question:
    """Counts for every combination of the given attributes or properties; `age/10` groups by tens.

    >>> str(table("sex", "age/10", within=5))
    'count by sex, age/10 within 5'
    """
    if not by:
        raise UsageError("a table needs at least one attribute", hints=["dx.count() counts all records"])
    return Question("count", by=_names(by), where=_where(where), within=target(within), weight=importance(weight))


def count(*, within: Number | None = None, by: str | Sequence[str] = (), **where: object) -> Question:
    """How many records fulfil the conditions; `age=(18, 65)` includes both ends, a list means any of them.

    On numbers in cells `income=(0, 5000)` means from 0 to below 5000.

    Conditions are keywords, also one on an attribute `weight`: importance is `dx.count(…).weighted(2)`.

    >>> str(count(sex="F", age=(18, 65)))
    'count where sex=F and age=18..65'
    """
    return Question("count", by=_names(by), where=_where(where), within=target(within))


def sum_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Mapping[str, object] | None = None,
    within: Number | None = None,
    weight: Number = 1,
) -> Question:
    """The sum of a number over records, possibly by groups; what is missing counts as 0, or as the policy declares.

    >>> str(sum_of("income", by="sex"))
    'sum income by sex'
    """
    return Question(
        "sum", of, _names(by), _where(where), target(within), weight=importance(weight), missing=MISSING["sum"]
    )


def mean_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Mapping[str, object] | None = None,
    within: Number | None = None,
    weight: Number = 1,
) -> Question:
    """The mean of a number over the records that have a valid one: a ratio of two noisy answers.

    Where the policy declares the attribute `complete`, the mean over all records is their sum over the public n.

    >>> str(mean_of("age", where={"sex": "F"}))
    'mean age where sex=F'
    """
    return Question(
        "mean", of, _names(by), _where(where), target(within), weight=importance(weight), missing=MISSING["mean"]
    )


def prefixes(of: str, *, within: Number | None = None, weight: Number = 1) -> Question:
    """How many records lie from the first value up to each: a cumulative distribution; `age/10` in steps of ten.

    >>> str(prefixes("age/10"))
    'prefixes age/10'
    """
    return Question("prefixes", of, within=target(within), weight=importance(weight))


def ranges(of: str, *, within: Number | None = None, weight: Number = 1) -> Question:
    """How many records lie in each interval of an ordered attribute.

    >>> str(ranges("age/10", within=5))
    'ranges age/10 within 5'
    """
    return Question("ranges", of, within=target(within), weight=importance(weight))


def marginals(order: int, *, within: Number | None = None, weight: Number = 1) -> Question:
    """All tables of `order` attributes.

    >>> str(marginals(2))
    'marginals 2'
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise UsageError(f"marginals of how many attributes? {order!r} is no such number")
    return Question("marginals", str(order), within=target(within), weight=importance(weight))


def matrix(
    rows: Any, *, labels: Sequence[str] = (), within: Number | None = None, weight: Number = 1
) -> "Matrix | Stack":
    """Any linear questions, one row each; dense or scipy sparse.

    Rows of very different sizes are several questions, each on a grid that suits it.

    >>> matrix([[1, 0.5], [0, 1]]).factor
    Fraction(1, 2)
    """
    from dxprivacy.questions.explicit_rows import on_grids

    goals = (target(within), importance(weight))
    parts = on_grids(rows)
    count = sum(part.whole.shape[0] for part in parts)
    if labels and len(labels) != count:
        raise QuestionError(f"{len(labels)} labels for {count} rows")
    names = tuple(str(x) for x in labels)
    if len(parts) == 1:
        return replace(parts[0], labels=names, within=goals[0], weight=goals[1])
    names = names or tuple(f"row {k + 1}" for k in range(count))
    out, start = [], 0
    for part in parts:
        stop = start + part.whole.shape[0]
        out.append(replace(part, labels=names[start:stop], within=goals[0], weight=goals[1]))
        start = stop
    return Stack(tuple(out))


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)


def target(within: Number | None) -> Fraction | None:
    """A target as it was given: a positive number, or none."""
    if within is None:
        return None
    number = exact(within, what="within")
    if number <= 0:
        raise UsageError(f"within is {within}; a target is positive", hints=["within=10"])
    return Fraction(number)


def importance(weight: Number) -> Fraction:
    """A weight as it was given: a positive number of a sane size.

    >>> importance(2), importance("0.5")
    (Fraction(2, 1), Fraction(1, 2))
    """
    number = Fraction(exact(weight, what="weight"))
    if not 1 / _HEAVIEST <= number <= _HEAVIEST:
        what = f"weight is {str(weight)[:40]}; it lies between 1/{_HEAVIEST:,} and {_HEAVIEST:,}"
        raise UsageError(what, hints=[("weight 2", "its squared errors count twice")])
    return number


def _where(where: Mapping[str, object] | None) -> tuple[tuple[str, Condition], ...]:
    return tuple((name, condition(wanted)) for name, wanted in (where or {}).items())


def condition(wanted: object) -> Condition:
    """A condition from what was written: a pair of numbers or days is a range, a list means any of its values."""
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise UsageError("a range needs two ends", hints=["age=(18, 65)"])
        first, last = as_date(wanted[0]), as_date(wanted[1])
        if first and last:
            if first > last:
                raise UsageError(f"the range {first}..{last} is empty")
            return first, last
        low, high = (Fraction(exact(x, what="end of a range")) for x in wanted)
        if low > high:
            raise UsageError(f"the range {wanted[0]}..{wanted[1]} is empty")
        return low, high
    values = tuple(as_text(v) for v in (wanted if isinstance(wanted, (list, set, frozenset)) else [wanted]))
    if not values:
        raise UsageError("a condition needs at least one value")
    return values


def written_condition(text: str) -> Condition:
    """A condition as it stands in a question: `18..65` is a range, everything else a value.

    >>> written_condition("18..65"), written_condition("F")
    ((Fraction(18, 1), Fraction(65, 1)), ('F',))
    """
    low, dots, high = text.partition("..")
    return condition((low, high) if dots else text)


def is_range(condition: Condition) -> bool:
    """Whether a condition is a range."""
    return not isinstance(condition[0], str)


def _condition_to_dict(condition: Condition) -> Any:
    return {"from": str(condition[0]), "to": str(condition[1])} if is_range(condition) else list(condition)
