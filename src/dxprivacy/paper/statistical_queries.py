"""Statistical queries: averages over the records, with the universe mapped instead of the query (appendix C).

`Z = c q(x') + Laplace(c)` averages the mapped records u' in place of u.  It is d_X-private if
`||q(u') - q(v')||_1 <= n d(u, v)` (theorem 10), and its error is the sum of the map's bias and the noise (theorem 11).
Under a sum of attributes, the d-way marginal query (one average for each attribute) splits into one problem per
attribute, `min over c of max (|u - v| - c n d_i(u, v))_+ / 2 + c`.  It is convex and solved exactly on the pieces of an
envelope.  The paper calls that a relaxation; it is in fact equivalent (docs/theorems.md).

Invariant: the result is an ordinary certified plan; every number here is computed from the plan, not from the solver.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.answer_grid import to_grid
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import exact, is_whole
from dxprivacy.mechanisms.linear.estimators.measured import RowForRow
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.planner import chosen, finish, prepare
from dxprivacy.mechanisms.linear.strategies.biased_rows import require_applicable
from dxprivacy.mechanisms.planned import target
from dxprivacy.metrics import Metric
from dxprivacy.policy import Policy
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.kinds.matrix_query import MatrixQuery, on_grids
from dxprivacy.queries.kinds.sums import Mean
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import columns, digits, plain, plural, repr_of_half_built, wrap

METHOD = "statistical"
OBJECTIVES = ("absolute", "squared")
_MOST_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False)
class MappedUniverse:
    """Averages that are planned together: the contribution of each possible record, and its mapped contribution.

    Columns are the records that these averages separate.  `counted` is c u' of the paper; if c is 0, it is a constant,
    which costs nothing (by the paper's formula c u' would be 0: a constant other than 0 is only a limit of c to 0).
    """

    answers: tuple[int, ...]
    asked: Floats
    counted: Floats
    c: Floats

    @property
    def mapped(self) -> Floats:
        """The mapped records u'; 0 if c is 0.  Summed over all averages, |u' - v'| <= n d(u, v)."""
        c = self.c[:, None]
        return np.divide(self.counted, c, out=np.zeros_like(self.counted), where=c > 0)

    def moved(self, p: float) -> float:
        """Return the largest bias of the averages in the l_p norm: the largest ||c u' - u||_p of a record."""
        return float(np.linalg.norm(self.counted - self.asked, ord=p, axis=0).max(initial=0.0))


@repr_of_half_built
@dataclass(frozen=True, eq=False, repr=False)
class Statistical:
    """Averages over n records: the certified plan, its map, and the error bounds of theorem 11.

    The noise is discrete; the bounds here hold for discrete noise.

    >>> import dxprivacy as dx
    >>> found = dx.statistical(dx.metrics.line(3, 1), n=4, values=[0, 1, 5])
    >>> found.c.tolist(), found.bias.tolist()
    ([1.0], [0.0])
    """

    plan: Plan
    n: int
    parts: tuple[MappedUniverse, ...]

    @cached_property
    def c(self) -> Floats:
        """The noise scale of each average."""
        return self._by_answer([part.c for part in self.parts])

    @cached_property
    def bias(self) -> Floats:
        """The largest bias of each average."""
        return self._by_answer([np.abs(part.counted - part.asked).max(axis=1) for part in self.parts])

    def moved(self, p: float = 2) -> float:
        """Return the largest bias of all averages in the l_p norm, over all data sets; attained by n equal records."""
        _require_order(p)
        each = [part.moved(p) for part in self.parts]
        return float(np.linalg.norm(each, ord=p))

    @property
    def squared_error(self) -> float:
        """The bound of theorem 11.1, corrected: moved^2 + 2 ||c||^2, up to the grid; the paper has twice that."""
        return self.moved(2) ** 2 + 2 * float(self.c @ self.c)

    def error(self, p: float = 1) -> float:
        """Return the bound of theorem 11.2 on the expected l_p error; the noise term is exact for p = 1."""
        _require_order(p)
        c, k = self.c, int((self.c > 0).sum())
        if math.isinf(p):  # the largest of k equal scales has mean (1 + 1/2 + ... + 1/k) c
            noise = float(c.max()) * sum(1 / m for m in range(1, k + 1))
        else:  # Jensen: the mean of the norm is at most the p-th root of the mean of its power
            log = math.lgamma(p + 1) / p
            noise = math.exp(log) * float(np.linalg.norm(c, ord=p))
        return self.moved(p) + noise

    def within(self, delta: float = 0.05) -> float:
        """Return the bound of theorem 11.3: with probability 1 - delta, all errors are at most this, simultaneously."""
        if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 < delta <= 1:
            raise UsageError("delta is a probability above 0", hints=["within(0.05)"])
        # P(|Y| >= m) = 2 p^m / (1 + p) <= p^(m - 1/2): half a step more than continuous noise.
        return self.moved(math.inf) + math.log(len(self.c) / delta) * float(self.c.max()) + self._step / 2

    @property
    def _step(self) -> float:
        """The coarsest step of the noise grids, in units of an average."""
        noisy = [_value(self.plan, k, self.n) * float(self.plan.counted.units[row] / self.plan.workload.units[row])
                 for k, row in enumerate(_rows(self.plan)) if self.plan.scales[row] > 0]  # fmt: skip
        return max(noisy, default=0.0) / self.n

    def _by_answer(self, parts: Sequence[Floats]) -> Floats:
        out = np.zeros(len(self.plan.workload.answers))
        for part, values in zip(self.parts, parts, strict=True):
            out[list(part.answers)] = values
        return out

    def __repr__(self) -> str:
        return f"Statistical({len(self.plan.workload.answers)} averages over {self.n:,} records)"

    def __str__(self) -> str:
        table = [["", "noise c", "moved by at most", "typical error"]]
        for answer, c, bias in zip(self.plan.workload.answers, self.c.tolist(), self.bias.tolist(), strict=True):
            table.append([answer.label, digits(c), digits(bias), digits(c + bias)])
        note = (
            f"averages over {plural(self.n, 'record')}; "
            f"all together off by at most {digits(self.error(1))} (sum, expected), "
            f"each by at most {digits(self.within())} (95 %). Next: dx.laplace(found.plan, counts)"
        )
        return "\n".join(plain(line) for line in [*columns(table, "lrrr"), *(f"  {t}" for t in wrap(note, 94))])


def statistical(
    policy: Policy | Metric,
    *,
    n: int,
    values: Mapping[str, Any] | Sequence[Any] | None = None,
    query: Any = None,
    objective: str = "absolute",
    budget: object = "100%",
    title: str = "",
    dataset: str = "",
) -> Statistical:
    """Plan averages over n records with the least worst-case error, from bias (mapped records) and noise.

    By default, plan one average for each attribute that has numbers.  `values` selects attributes and may give the
    numbers of their values ({"vote": [-1, 1], "age": None}; a list for a universe of one attribute).  `query` gives
    rows of any numbers, one for each possible record.  `objective` is minimized: the sum of "absolute" or "squared"
    errors.

    >>> from dxprivacy import metrics
    >>> found = statistical(metrics.line(3, 1), n=4, values=[0, 1, 5])
    >>> found.c.tolist(), found.bias.tolist(), found.parts[0].mapped.tolist()
    ([1.0], [0.0], [[0.0, 1.0, 5.0]])
    >>> str(found.plan.certificate.ratio), found.plan.method
    ('1', 'statistical')
    """
    metric, title, dataset = target(policy, title, dataset)
    if objective not in OBJECTIVES:
        raise UsageError(f"no objective “{objective}” for averages", hints=[f"one of {', '.join(OBJECTIVES)}"])
    if not is_whole(n) or n < 1:
        raise UsageError("the number of records is a whole number of at least 1", hints=["n=1000"])
    if values is not None and query is not None:
        raise UsageError("give the numbers of attributes (values) or of possible records (query), not both")
    universe = metric.universe
    asked = Stack(tuple(_rows_of(query, int(n)) if query is not None else _means(universe, values, int(n))))
    _, task = prepare(asked, metric, objective=objective, budget=budget, n_records=int(n))
    require_applicable(task.workload, task.records)
    found = replace(chosen(task, "biased"), method=METHOD)
    plan = finish(asked, task, found, title=title, dataset=dataset)
    return Statistical(plan, int(n), tuple(_mapped(plan, int(n))))


def _means(universe: Universe, values: Any, n: int) -> list[Asked]:
    if values is None:
        numeric = [a.name for a in universe.attributes if a.numbers is not None]
        if not numeric:
            raise QueryError("no attribute has numbers to average", hints=[('values={"sex": [-1, 1]}', "gives some")])
        return [Mean(name) for name in numeric]
    if not isinstance(values, Mapping):
        if len(universe.attributes) != 1:
            raise UsageError("several attributes need names", hints=['values={"sex": [-1, 1], "age": None}'])
        values = {universe.names[0]: values}
    if not values:
        raise UsageError("ask for at least one average")
    return [Mean(name) if numbers is None else _custom(universe, name, numbers, n) for name, numbers in values.items()]


def _custom(universe: Universe, name: str, numbers: Any, n: int) -> MatrixQuery:
    """Return the query for the average of given numbers of an attribute's values."""
    axis = universe.axis(name)
    attribute = universe.attributes[axis]
    if isinstance(numbers, str) or not isinstance(numbers, (Sequence, np.ndarray)):
        raise UsageError(f"{name} needs a list of numbers, one for each value")
    given = [exact(number, what=f"a number of {name}") for number in list(numbers)]
    if len(given) == attribute.listed < attribute.size:
        given = list(attribute.values_in_sums(given))  # type: ignore[arg-type]
    if len(given) != attribute.size:
        raise UsageError(f"{len(given):,} numbers for {attribute.size:,} values of {name}")
    if universe.cells > _MOST_ENTRIES:
        raise QueryError(
            f"{universe.cells:,} possible records are too many for given numbers",
            hints=["declare the numbers in the policy: integers, numbers, or a property of points"],
        )
    grid = to_grid(given)  # type: ignore[arg-type]
    row = grid.whole[universe.along(axis, np.arange(universe.cells, dtype=np.int64))]
    return MatrixQuery(row[None, :], grid.unit / n, grid.bias / n, (f"mean {name}",))


def _rows_of(query: Any, n: int) -> list[MatrixQuery]:
    labels = (f"mean q{k}" for k in count(1))
    return [
        replace(
            part,
            factor=part.factor / n,
            bias=part.bias / n,
            labels=tuple(islice(labels, part.whole.shape[0])),
            written=None,
        )
        for part in on_grids(query)
    ]


def _rows(plan: Plan) -> list[int]:
    """Return the row of each answer; an average has exactly one."""
    return [row for answer in plan.workload.answers if (row := answer.recipe.single) is not None]


def _value(plan: Plan, answer: int, n: int) -> float:
    """Return the step of a workload row's grid in units of one record's contribution."""
    recipe = plan.workload.answers[answer].recipe
    return float(recipe.factor) * (1 if recipe.is_mean else n)


def _mapped(plan: Plan, n: int) -> list[MappedUniverse]:
    """Return the measured rows next to the workload rows, in units of one record's contribution."""
    same = plan.measured.as_asked
    sides = RowForRow(plan.workload, plan.queries) if same else plan.measured
    if not isinstance(sides, RowForRow):
        raise TypeError("averages are counted row for row")
    of = {row: k for k, row in enumerate(_rows(plan))}
    steps = [float(mine / theirs) for mine, theirs in zip(plan.counted.units, plan.workload.units, strict=True)]
    out = []
    for rows, mine, theirs in sides.side_by_side():
        answers = tuple(of[row] for row in rows)
        value = np.array([_value(plan, k, n) for k in answers])
        step = value * np.array([steps[row] for row in rows])
        c = np.array([plan.scales[row] for row in rows]) * step / n
        out.append(MappedUniverse(answers, _scaled(theirs, value), _scaled(mine, step), c))
    return out


def _scaled(rows: Ints, by: Floats) -> Floats:
    return np.asarray(rows * by[:, None], dtype=np.float64)


def _require_order(p: float) -> None:
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not p >= 1:
        raise UsageError("the order of a norm is at least 1", hints=["error(1)", "error(math.inf)"])
