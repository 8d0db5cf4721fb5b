"""Questions: unbound, frozen, serialisable.  `question.on(universe)` turns one into a workload.

    dx.table("sex", "age/10")                 one count per combination
    dx.count(sex="F", age=(18, 65))           one count, bounds included
    dx.sum_of("income", by="sex")             sums
    dx.mean_of("home.elevation", within=2)    a mean, wanted within 2 (95 % of the time)
    dx.matrix([[1, 0, 1]])                    any linear questions

Questions stack with `+`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dxprivacy.errors import QuestionError, UsageError
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.model.grid import array_to_grid
from dxprivacy.model.numbers import Number, exact

if TYPE_CHECKING:
    from dxprivacy.model.universe import Universe
    from dxprivacy.model.workload import Workload

Condition: TypeAlias = tuple[str, ...] | tuple[Fraction, Fraction] | tuple[date, date]
"""Any of these values, or a range of numbers or days with both ends included."""


ASKS = ("count", "sum", "mean", "prefixes", "ranges", "marginals")


@dataclass(frozen=True)
class Question:
    """A count, sum or mean, possibly by groups, under conditions, with a target."""

    ask: str
    of: str = ""
    by: tuple[str, ...] = ()
    where: tuple[tuple[str, Condition], ...] = ()
    within: Fraction | None = None
    unit: str = ""

    def on(self, universe: "Universe") -> "Workload":
        """This question's rows over a universe."""
        from dxprivacy.model.binding import bind

        return bind(self, universe)

    def __add__(self, other: "Question | Stack | Matrix") -> "Stack":
        return Stack((self,)) + other

    def __str__(self) -> str:
        from dxprivacy.model.grammar import write

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
        return out


@dataclass(frozen=True, eq=False)
class Matrix:
    """Explicit rows, dense or sparse, on the integer grid."""

    whole: Any
    factor: Fraction = Fraction(1)
    bias: Fraction = Fraction(0)
    labels: tuple[str, ...] = ()
    within: Fraction | None = None

    def on(self, universe: "Universe") -> "Workload":
        """These rows over a universe."""
        from dxprivacy.model.binding import bind_matrix

        return bind_matrix(self, universe)

    def __add__(self, other: "Question | Stack | Matrix") -> "Stack":
        return Stack((self,)) + other

    def __str__(self) -> str:
        return f"{self.whole.shape[0]} explicit rows"

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
        }


@dataclass(frozen=True)
class Stack:
    """Several questions asked together."""

    questions: tuple[Question | Matrix, ...]

    def __add__(self, other: "Question | Stack | Matrix") -> "Stack":
        more = other.questions if isinstance(other, Stack) else (other,)
        return Stack((*self.questions, *more))

    def on(self, universe: "Universe") -> "Workload":
        """All rows over a universe."""
        from dxprivacy.model.workload import stack

        return stack([q.on(universe) for q in self.questions])

    def to_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [q.to_dict() for q in self.questions]


_NUMBER = (int, float, np.number)
Ask: TypeAlias = "Question | Matrix | Stack | str | Iterable[Question | Matrix | Stack | str]"


def gather(*asked: Any) -> Stack:
    """Questions, lists of them, arrays, and questions in words, as one stack.

    >>> len(gather("count by sex", [count(), mean_of("age")]).questions)
    3
    """
    found: list[Question | Matrix] = []
    for item in asked:
        if isinstance(item, (Question, Matrix)):
            found.append(item)
        elif isinstance(item, Stack):
            found += item.questions
        elif isinstance(item, str):
            from dxprivacy.model.grammar import parse

            found.append(parse(item))
        elif isinstance(item, np.ndarray) or hasattr(item, "tocsc"):
            found.append(matrix(item))
        elif isinstance(item, (list, tuple)) and item and not any(isinstance(x, _NUMBER) for x in item):
            numeric = all(isinstance(x, (list, tuple)) and x and isinstance(x[0], _NUMBER) for x in item)
            found += [matrix(item)] if numeric else gather(*item).questions
        elif isinstance(item, (list, tuple)) and item:
            found.append(matrix([item]))
        else:
            raise UsageError(
                f"not a question: {type(item).__name__}", hints=["dx.table, dx.count, dx.sum_of, dx.mean_of"]
            )
    if not found:
        raise UsageError("ask at least one question", hints=["dx.count(), dx.table('sex')"])
    return Stack(tuple(found))


def table(*by: str, where: Mapping[str, object] | None = None, within: Number | None = None) -> Question:
    """Counts for every combination of the given attributes or properties; `age/10` groups by tens.

    >>> str(table("sex", "age/10", within=5))
    'count by sex, age/10 within 5'
    """
    if not by:
        raise UsageError("a table needs at least one attribute", hints=["dx.count() counts all records"])
    return Question("count", by=_names(by), where=_where(where), within=_target(within))


def count(*, within: Number | None = None, by: str | Sequence[str] = (), **where: object) -> Question:
    """How many records fulfil the conditions; `age=(18, 65)` includes both ends, a list means any of them.

    >>> str(count(sex="F", age=(18, 65)))
    'count where sex=F and age=18..65'
    """
    return Question("count", by=_names(by), where=_where(where), within=_target(within))


def sum_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Mapping[str, object] | None = None,
    within: Number | None = None,
) -> Question:
    """The sum of a number over records, possibly by groups.

    >>> str(sum_of("income", by="sex"))
    'sum income by sex'
    """
    return Question("sum", of, _names(by), _where(where), _target(within))


def mean_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Mapping[str, object] | None = None,
    within: Number | None = None,
) -> Question:
    """The mean of a number: its sum over the public n, or for groups a ratio of two noisy answers.

    >>> str(mean_of("age", where={"sex": "F"}))
    'mean age where sex=F'
    """
    return Question("mean", of, _names(by), _where(where), _target(within))


def prefixes(of: str, *, within: Number | None = None) -> Question:
    """How many records lie from the first value up to each: a cumulative distribution; `age/10` in steps of ten.

    >>> str(prefixes("age/10"))
    'prefixes age/10'
    """
    return Question("prefixes", of, within=_target(within))


def ranges(of: str, *, within: Number | None = None) -> Question:
    """How many records lie in each interval of an ordered attribute.

    >>> str(ranges("age/10", within=5))
    'ranges age/10 within 5'
    """
    return Question("ranges", of, within=_target(within))


def marginals(order: int, *, within: Number | None = None) -> Question:
    """All tables of `order` attributes.

    >>> str(marginals(2))
    'marginals 2'
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise UsageError(f"marginals of how many attributes? {order!r} is no such number")
    return Question("marginals", str(order), within=_target(within))


def matrix(rows: Any, *, labels: Sequence[str] = (), within: Number | None = None) -> Matrix:
    """Any linear questions, one row each; dense or scipy sparse.

    >>> matrix([[1, 0.5], [0, 1]]).factor
    Fraction(1, 2)
    """
    if hasattr(rows, "tocsc"):
        sparse = rows.tocsr(copy=True)
        sparse.sum_duplicates()
        sparse.eliminate_zeros()
        grid = array_to_grid(_floats(sparse.data))
        whole = sparse.astype(np.int64)
        whole.data = grid.whole
        shape = whole.shape
    else:
        dense = _floats(rows)
        if dense.ndim == 1:
            dense = dense[None, :]
        if dense.ndim != 2 or not dense.size:
            raise QuestionError(f"a question matrix of shape {dense.shape}; rows of numbers are needed")
        grid = array_to_grid(dense)
        whole, shape = grid.whole, dense.shape
    if labels and len(labels) != shape[0]:
        raise QuestionError(f"{len(labels)} labels for {shape[0]} rows")
    return Matrix(whole, grid.unit, grid.bias, tuple(str(x) for x in labels), _target(within))


def _floats(rows: Any) -> Floats:
    """Real numbers only: no dates, no complex numbers, no text."""
    try:
        given = np.asarray(rows)
        if given.dtype.kind not in "biufO":
            raise ValueError("kind")
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise QuestionError("a question matrix must be rows of real numbers, all of one length") from None


def from_dict(data: Mapping[str, Any]) -> Question | Matrix:
    """A question back from JSON."""
    within = Fraction(data["within"]) if "within" in data else None
    if data["ask"] == "matrix":
        from scipy.sparse import csr_array

        entries: Ints = np.array(data["entries"], dtype=np.int64)
        whole = csr_array((entries, (data["rows"], data["columns"])), shape=tuple(data["shape"]))
        dense = whole.toarray() if whole.shape[0] * whole.shape[1] <= 5_000_000 else whole
        return Matrix(dense, Fraction(data["factor"]), Fraction(data["bias"]), tuple(data["labels"]), within)
    names = (data["ask"], data.get("of", ""), data.get("unit", ""), *data.get("by", ()))
    if data["ask"] not in ASKS or not all(isinstance(name, str) for name in names):
        raise ValueError("a question of an unknown kind")
    where = tuple((str(name), _condition_from_dict(c)) for name, c in data.get("where", []))
    return Question(data["ask"], data.get("of", ""), tuple(data.get("by", ())), where, within, data.get("unit", ""))


def with_unit(question: Question, unit: str) -> Question:
    """The same question with the unit that its target was given in."""
    return replace(question, unit=unit)


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)


def _target(within: Number | None) -> Fraction | None:
    if within is None:
        return None
    target = exact(within, what="within")
    if target <= 0:
        raise UsageError(f"within is {within}; a target is positive")
    return Fraction(target)


def _where(where: Mapping[str, object] | None) -> tuple[tuple[str, Condition], ...]:
    return tuple((name, condition(wanted)) for name, wanted in (where or {}).items())


def condition(wanted: object) -> Condition:
    """A condition from what was written: a pair of numbers or days is a range, a list means any of its values."""
    from dxprivacy.model.ordered import as_date

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
    from dxprivacy.model.attributes import as_text

    values = tuple(as_text(v) for v in (wanted if isinstance(wanted, (list, set, frozenset)) else [wanted]))
    if not values:
        raise UsageError("a condition needs at least one value")
    return values


def is_range(condition: Condition) -> bool:
    """Whether a condition is a range."""
    return not isinstance(condition[0], str)


def _condition_to_dict(condition: Condition) -> Any:
    return {"from": str(condition[0]), "to": str(condition[1])} if is_range(condition) else list(condition)


def _condition_from_dict(data: Any) -> Condition:
    from dxprivacy.model.ordered import as_date

    if isinstance(data, Mapping):
        ends = (data["from"], data["to"])
        return condition(tuple(end if as_date(end) else Fraction(end) for end in ends))
    if not data or not all(isinstance(value, str) for value in data):
        raise ValueError("a condition needs at least one value")
    return tuple(data)
