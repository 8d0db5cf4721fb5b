"""Queries: unbound, frozen, serializable.  `query.on(universe)` turns one into a workload.

    dx.table("sex", "age/10")                 one count per combination
    dx.count(sex="F", age=(18, 65))           one count, bounds included
    dx.count(age=dx.above(30))                also at_least, below, at_most, none_of, any_of
    dx.sum_of("income", sex="F")              conditions as keywords, of any query that takes some
    dx.table("sex", where="age<18 or age>65") or in words, or by name, {"sex": "F"}
    dx.count_people(ward="A")                 people with at least one such row
    dx.sum_of("income", by="sex")             sums
    dx.mean_of("home.elevation", within=2)    a mean with target 2 (95 % of the noise within ± 2)
    dx.proportion_of(sex="F", by="state")     proportions, from 0 to 1
    dx.sd_of("age"), dx.correlation_of(…)     standard deviations, correlations
    dx.table("age/10", weight=2)              its squared errors count twice in its plan
    dx.matrix([[1, 0, 1]])                    any linear queries

Queries stack with `+`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.rounding import Number, exact
from dxprivacy.queries.asked import Asked, Stack, importance, one_name, require_no_conditions, target
from dxprivacy.queries.conditions import Conditions, conditions
from dxprivacy.queries.kinds.counts import Count, CountPeople
from dxprivacy.queries.kinds.densities import Density
from dxprivacy.queries.kinds.marginals import Marginals, Prefixes, Ranges
from dxprivacy.queries.kinds.matrix_query import MatrixQuery, on_grids
from dxprivacy.queries.kinds.quantiles import Quantiles
from dxprivacy.queries.kinds.ratios import Proportion, RatioOf
from dxprivacy.queries.kinds.spreads import Correlation, Covariance, Deviation, Variance
from dxprivacy.queries.kinds.sums import LEFT_OUT, ZERO, Mean, Sum
from dxprivacy.queries.text.query_grammar import parse, parse_conditions
from dxprivacy.queries.text.written_names import Length, in_one_unit

_NUMBER = (int, float, np.number, Fraction, Decimal)
Where: TypeAlias = "Mapping[str, object] | str | None"
"""Conditions by name, or in words as after `where`."""
Ask: TypeAlias = "Asked | Stack | str | Iterable[Asked | Stack | str]"


def gather(*asked: Any) -> Stack:
    """Collect queries, lists of them, arrays, and queries in words, into one stack.

    >>> len(gather("count by sex", [count(), mean_of("age")]).queries)
    3
    """
    found: list[Stack] = []
    for item in asked:
        if isinstance(item, Asked):
            found.append(Stack((item,)))
        elif isinstance(item, Stack):
            found.append(item)
        elif isinstance(item, str):
            found.append(Stack((parse(item),)))
        elif isinstance(item, np.ndarray) or hasattr(item, "tocsc"):
            found.append(gather(matrix(item)))
        elif isinstance(item, (list, tuple)) and item and not any(isinstance(x, _NUMBER) for x in item):
            numeric = all(isinstance(x, (list, tuple)) and x and isinstance(x[0], _NUMBER) for x in item)
            found.append(gather(*([matrix(item)] if numeric else item)))
        elif isinstance(item, (list, tuple)) and item:
            found.append(gather(matrix([item])))
        else:
            raise UsageError(f"not a query: {type(item).__name__}", hints=["dx.table, dx.count, dx.sum_of, dx.mean_of"])
    if not found:
        raise UsageError("ask at least one query", hints=["dx.count(), dx.table('sex')"])
    return Stack(tuple(q for each in found for q in each.queries), tuple(n for each in found for n in each.notes))


def table(
    *by: str,
    where: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    blur: Number | None = None,
    **more: object,
) -> Count:
    """Count every combination of the given attributes or properties; `age/10` groups by tens.

    With a `blur`, borders between groups of numbers are soft.  This needs far less noise if the policy allows only a
    small ε between close numbers.

    >>> str(table("sex", "age/10", within=5)), str(table("age/10", blur=2))
    ('count by sex, age/10 within 5', 'count by age/10 blur 2')
    >>> str(table("sex", where="age >= 30 and age < 40"))
    'count by sex where age>=30 and age<40'
    """
    if not by:
        raise UsageError("a table needs at least one attribute", hints=["dx.count() counts all records"])
    goals = (target(within), "", importance(weight))
    return Count("", _names(by), _conditions(where, more), *goals, **_lengths(blur=blur)).settled()


def count(*, within: Number | None = None, by: str | Sequence[str] = (), **where: object) -> Count:
    """Count the records that fulfil the conditions; `age=(18, 65)` includes both ends, a list means any of them.

    For binned numbers, `income=(0, 5000)` means from 0 to below 5000.

    All keywords are conditions, even one on an attribute `weight`; `dx.count(…).weighted(2)` weights the query.

    >>> str(count(sex="F", age=(18, 65)))
    'count where sex=F and age=18..65'
    >>> from dxprivacy.queries.conditions import above, none_of
    >>> str(count(age=above(30), sex=none_of("F")))
    'count where age>30 and not sex=F'
    """
    return Count(by=_names(by), where=_conditions(where), within=target(within))


def count_people(*, within: Number | None = None, by: str | Sequence[str] = (), **where: object) -> CountPeople:
    """Count the people with at least one kept row that fulfils the conditions; needs `[people]` in the policy.

    >>> str(count_people(ward="A", by="month"))
    'count people by month where ward=A'
    """
    return CountPeople(by=_names(by), where=_conditions(where), within=target(within))


def sum_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Sum:
    """Sum a number over records, possibly by groups; missing numbers count as 0, or as the policy declares.

    >>> str(sum_of("income", by="sex")), str(sum_of("income", where="age<65", sex="F"))
    ('sum income by sex', 'sum income where age<65 and sex=F')
    """
    return Sum(
        one_name(of), _names(by), _conditions(where, more), target(within), weight=importance(weight), missing=ZERO
    )


def mean_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Mean:
    """Average a number over the records that have a valid one: a ratio of two noisy answers.

    If the policy declares the attribute `complete`, the mean over all records is their sum divided by the public n.

    >>> str(mean_of("age", where={"sex": "F"}))
    'mean age where sex=F'
    """
    return Mean(
        one_name(of), _names(by), _conditions(where, more), target(within), weight=importance(weight), missing=LEFT_OUT
    )


def proportion_of(
    where: Where = None,
    /,
    *,
    by: str | Sequence[str] = (),
    among: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Proportion:
    """Return the proportion of records that fulfil the conditions: of all, of each group, or among some.

    >>> str(proportion_of(delay=(15, 60), by="carrier")), str(proportion_of({"by": "x"}, among={"sex": "F"}))
    ('proportion by carrier where delay=15..60', "proportion where 'by'=x among sex=F")
    """
    goals = {"within": target(within), "weight": importance(weight)}
    return Proportion(by=_names(by), where=_conditions(where, more), among=_conditions(among), **goals).settled()  # type: ignore[arg-type]


def ratio_of(
    of: str,
    to: str = "",
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> RatioOf:
    """Divide a sum by the number of records, or by the sum of numbers that are all positive.

    >>> str(ratio_of("children", by="region")), str(ratio_of("cost", "area"))
    ('ratio of sum children to count by region', 'ratio of sum cost to sum area')
    """
    return RatioOf(
        one_name(of),
        _names(by),
        _conditions(where, more),
        target(within),
        "",
        importance(weight),
        "",
        ZERO,
        to and one_name(to),
    )


def variance_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Variance:
    """Return the variance (mean squared distance from the mean) over the records with a valid number.

    >>> str(variance_of("age", by="sex"))
    'variance age by sex'
    """
    return Variance(one_name(of), _names(by), _conditions(where, more), target(within), weight=importance(weight))


def sd_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Deviation:
    """Return the standard deviation, the square root of the variance.

    >>> str(sd_of("age", where={"sex": "F"}))
    'sd age where sex=F'
    """
    return Deviation(one_name(of), _names(by), _conditions(where, more), target(within), weight=importance(weight))


def covariance_of(
    of: str,
    beside: str,
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Covariance:
    """Return the covariance of two numbers over the records that have both.

    >>> str(covariance_of("age", "income"))
    'covariance age, income'
    """
    goals = (target(within), "", importance(weight))
    return Covariance(one_name(of), _names(by), _conditions(where, more), *goals, beside=one_name(beside))


def correlation_of(
    of: str,
    beside: str,
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Correlation:
    """Return the correlation: the covariance divided by both standard deviations, from -1 to 1.

    >>> str(correlation_of("age", "income", by="sex"))
    'correlation age, income by sex'
    """
    goals = (target(within), "", importance(weight))
    return Correlation(one_name(of), _names(by), _conditions(where, more), *goals, beside=one_name(beside))


def median_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    width: Number | None = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Quantiles:
    """Return the median, for a plan; alone also for a selection (`session.plan_selection`).

    Ranks are smoothed over `width`; a plan selects it if it is not given, and 0 means no smoothing.

    >>> str(median_of("age", by="sex")), str(median_of("income", width=5000))
    ('median age by sex', 'median income width 5000')
    """
    return quantile_of(of, "0.5", by=by, where=where, width=width, within=within, weight=weight, **more)


def quantile_of(
    of: str,
    *at: Number,
    by: str | Sequence[str] = (),
    where: Where = None,
    width: Number | None = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Quantiles:
    """Return quantiles: the numbers up to which proportions of the records lie; several at once cost little more.

    >>> str(quantile_of("income", 0.9)), str(quantile_of("age", 0.25, 0.75, where={"sex": "F"}))
    ('quantile 0.9 of income', 'quantile 0.25, 0.75 of age where sex=F')
    """
    if any(isinstance(x, (list, tuple, np.ndarray)) for x in at):
        raise UsageError("quantiles are given one by one", hints=['dx.quantile_of("age", 0.25, 0.75)'])
    levels = tuple(Fraction(exact(x, what="a quantile")) for x in at)
    goals, wide = (target(within), "", importance(weight)), _length(width, "width")
    return Quantiles(one_name(of), _names(by), _conditions(where, more), *goals, at=levels, width=wide).settled()


def density_of(
    of: str,
    *,
    by: str | Sequence[str] = (),
    where: Where = None,
    width: Number | None = None,
    every: Number | None = None,
    within: Number | None = None,
    weight: Number = 1,
    **more: object,
) -> Density:
    """Count records in bins along a line or on a map, each blurred by `width`; a plan selects it if not given.

    >>> str(density_of("income", width=5000, every=2500)), str(density_of("home", width="500 m"))
    ('density income width 5000 every 2500', 'density home width 0.5 km')
    """
    goals, lengths = (target(within), "", importance(weight)), _lengths(width=width, every=every)
    return Density(one_name(of), _names(by), _conditions(where, more), *goals, **lengths).settled()


def prefixes(of: str, *, within: Number | None = None, weight: Number = 1, **where: object) -> Prefixes:
    """Count the records up to each value: a cumulative distribution; `age/10` in steps of ten.

    >>> str(prefixes("age/10"))
    'prefixes age/10'
    """
    require_no_conditions(where, Prefixes.ask)
    return Prefixes(one_name(of), within=target(within), weight=importance(weight))


def ranges(of: str, *, within: Number | None = None, weight: Number = 1, **where: object) -> Ranges:
    """Count the records in each interval of an ordered attribute.

    >>> str(ranges("age/10", within=5))
    'ranges age/10 within 5'
    """
    require_no_conditions(where, Ranges.ask)
    return Ranges(one_name(of), within=target(within), weight=importance(weight))


def marginals(
    order: int, *, of: str | Sequence[str] = (), within: Number | None = None, weight: Number = 1, **where: object
) -> Marginals:
    """Return all tables of `order` attributes: of all attributes or of those in `of`, possibly in groups.

    >>> str(marginals(2)), str(marginals(2, of=["sex", "age/10", "job"]))
    ('marginals 2', 'marginals 2 of sex, age/10, job')
    """
    require_no_conditions(where, Marginals.ask)
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise UsageError(f"marginals of how many attributes? {order!r} is not a positive integer")
    return Marginals(str(order), _names(of), within=target(within), weight=importance(weight))


def matrix(
    rows: Any, *, labels: Sequence[str] = (), within: Number | None = None, weight: Number = 1
) -> MatrixQuery | Stack:
    """Return arbitrary linear queries, one for each row; dense or scipy sparse.

    Rows of very different sizes become several queries, each on its own integer grid.

    >>> matrix([[1, 0.5], [0, 1]]).factor
    Fraction(1, 2)
    """
    goals = (target(within), importance(weight))
    parts = on_grids(rows)
    count = sum(part.whole.shape[0] for part in parts)
    if labels and len(labels) != count:
        raise QueryError(f"{len(labels)} labels for {count} rows")
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


def _conditions(where: Where, more: Mapping[str, object] | None = None) -> Conditions:
    """Return conditions given in words or by name, followed by those given as keywords."""
    return (*(parse_conditions(where) if isinstance(where, str) else conditions(where)), *conditions(more))


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)


def _lengths(**given: Number | None) -> dict[str, Any]:
    """Return the query fields of lengths: their numbers, and `lengths` if any has a unit on the Earth."""
    read = {name: Length.read(value, name) for name, value in given.items() if value is not None}
    return {name: length.number for name, length in read.items()} | in_one_unit(read)


def _length(given: Number | None, name: str) -> Fraction | None:
    return None if given is None else Fraction(exact(given, what=f"a {name}"))
