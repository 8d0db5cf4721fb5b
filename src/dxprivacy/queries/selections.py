"""Selections by the exponential mechanism: unbound, frozen, serializable; `pick.on(universe)` gives candidates.

    dx.most_common("job")               the value with the most records; also of any counts or sums: `largest`
    dx.median_of("age")                 the value in the middle
    dx.quantile_of("income", 0.9)       the value with nine tenths of the records below
    dx.bin_edges("age", bins=4)         edges that cut the records into bins of equal size
    dx.closest(queries, targets)        the best of several public guesses

No selection needs the number of records n, so that selections also work where n is private.  Multiples of n are part of
the rows: `2 #(<= v) - n` counts +1 up to v and -1 beyond.  Invalid entries (`other`) do not count.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError, TooLarge, UsageError
from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.exact.rounding import Number, exact, number_text
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather, quantile_of, table
from dxprivacy.queries.grouping import Grouping, group, resolve
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.quantiles import Quantiles
from dxprivacy.queries.query import Query
from dxprivacy.queries.strategy_rows import Steps
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import OneLine, repr_of_half_built

# -- Candidates and their integer scores over a universe ---------------------------------------------------------------
# The score of candidate r is `u_r = -max_t (sign_t (A x)_row(t) - offset_t)` over its terms t, with signs -1, 0 or 1.
# This form covers many scores: the largest row (sign -1), the rows closest to public targets (both signs), the rank
# of a value (below it, above it, and a constant 0).
#
# Sensitivity (Definition 5 of the paper): replacing record i by j moves every term by at most |A_ki - A_kj| of its row,
# and a maximum moves by at most the largest move of a term.  So every score moves by at most `D(i, j) =
# max_k |A_ki - A_kj|`, which `SelectionCost` compares with the policy.


Term = tuple[int, int, int]
"""Row, sign and offset."""


@repr_of_half_built
@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """The candidates of a selection, the rows that are counted, and the terms that give the scores."""

    queries: Stack
    workload: Workload
    labels: tuple[str, ...]
    starts: Ints  # the first term of each candidate
    rows: Ints
    signs: Ints
    offsets: Ints
    unit: Fraction  # the size of one step of a score, in the unit of `measure`
    measure: str  # what a shortfall of the score means, in words: "records fewer"

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            given = "one candidate" if self.labels else "no candidates"
            raise QueryError(f"{given}: there is nothing to choose", hints=["give at least two"])
        # A score with a row counted twice would have twice the sensitivity that the certificate states.
        if not np.isin(self.signs, (-1, 0, 1)).all() or not len(self.rows) == len(self.signs) == len(self.offsets):
            raise QueryError("a score uses each of its rows once, with sign 1, 0 or -1")
        for name in ("starts", "rows", "signs", "offsets"):
            object.__setattr__(self, name, read_only(np.array(getattr(self, name), dtype=np.int64)))
        used = np.unique(self.rows)
        if len(used) != self.workload.rows:
            raise QueryError("a row that no candidate's score uses")

    def __repr__(self) -> str:
        return f"Candidates({len(self.labels):,} over {self.workload.rows:,} rows)"

    def __len__(self) -> int:
        return len(self.labels)

    def scores(self, answers: Ints) -> Ints:
        """Return the score of every candidate from the rows' exact answers; scores are as confidential as these."""
        return np.asarray(-np.maximum.reduceat(self.signs * answers[self.rows] - self.offsets, self.starts))

    def largest(self, records: int) -> int:
        """Return the largest absolute score that this number of records can give."""
        return self.workload.largest * records + int(np.abs(self.offsets).max(initial=0))


def candidates(
    queries: Stack,
    workload: Workload,
    labels: Sequence[str],
    terms: Sequence[Sequence[Term]],
    *,
    unit: Fraction,
    measure: str,
) -> Candidates:
    """Make candidates from the terms of each."""
    lengths = [len(some) for some in terms]
    if 0 in lengths or len(lengths) != len(labels):
        raise QueryError("every candidate needs a score")
    table: Ints = np.array([t for some in terms for t in some], dtype=np.int64).reshape(-1, 3)
    starts: Ints = np.cumsum([0, *lengths[:-1]]).astype(np.int64)[: len(lengths)]
    rows, signs, offsets = (np.ascontiguousarray(table[:, k]) for k in range(3))
    return Candidates(queries, workload, tuple(labels), starts, rows, signs, offsets, unit, measure)


# -- Selections --------------------------------------------------------------------------------------------------------


MOST_CANDIDATES = 1 << 20
MOST_VALUES = 2_000  # values with ranks: the rows are a square matrix of this size
MOST_CUTS = 20_000  # sets of edges as candidates
_WIDTHS = tuple(f * 10**e for e in range(8) for f in (1, 2, 5))


class Pick(OneLine, ABC):
    """A selection: which of several candidates is best, by the data."""

    def in_short(self) -> str:
        return repr(str(self))

    @abstractmethod
    def on(self, universe: Universe) -> Candidates:
        """Return candidates with scores over a universe."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Write it as JSON data."""

    def require_honest(self, universe: Universe) -> None:
        """Refuse a selection by queries that would count something else than their words say."""


class _AmongAnswers(Pick):
    """A selection among the answers of queries."""

    queries: Stack

    def require_honest(self, universe: Universe) -> None:
        self.queries.require_honest(universe)


@dataclass(frozen=True)
class Largest(_AmongAnswers):
    """The largest of several counts or sums."""

    queries: Stack

    def on(self, universe: Universe) -> Candidates:
        """Return a candidate for each answer; its row is the score."""
        workload = self.queries.on(universe)
        recipes = [(a.label, a.recipe) for a in workload.answers]
        linear = [(label, r) for label, r in recipes if isinstance(r, Linear)]
        if len(linear) < len(recipes):
            raise QueryError(
                "means of groups are ratios, whose sensitivity is not known",
                where=f"selection “{self}”",
                hints=[("largest sum …", "a sum is linear")],
            )
        factors = {r.factor for _, r in linear}
        asks = {type(q) for q in self.queries.queries if isinstance(q, Query)}
        if len(factors) > 1 or len(asks) > 1 or len({r.per_record for _, r in linear}) > 1:
            raise QueryError("answers in different units cannot be compared", where=f"selection “{self}”")
        _require_few(len(linear), MOST_CANDIDATES, str(self))
        counts = all(isinstance(q, Count) for q in self.queries.queries)
        unit = next(iter({a.unit for a in workload.answers}))
        return candidates(
            self.queries,
            workload,
            [label for label, _ in linear],
            [[(r.row, -1, 0)] for _, r in linear],
            unit=factors.pop(),
            measure="records fewer than the most common one has" if counts else f"{unit} less than the largest".strip(),
        )

    def __str__(self) -> str:
        if len(self.queries.queries) == 1:
            (only,) = self.queries.queries
            if isinstance(only, Count) and only.by:
                return f"most common {only.name.removeprefix('count by ')}"
        return "largest " + " + ".join(q.name for q in self.queries.queries)

    def to_dict(self) -> dict[str, Any]:
        return {"select": "largest", "queries": self.queries.to_dict()}


@dataclass(frozen=True)
class Closest(_AmongAnswers):
    """The closest of several public sets of answers: the one with the smallest maximum difference to the data."""

    queries: Stack
    targets: tuple[tuple[str, tuple[Fraction, ...]], ...]

    def on(self, universe: Universe) -> Candidates:
        """Return a candidate for each set of targets."""
        workload = self.queries.on(universe)
        if not all(isinstance(a.recipe, Linear) and not a.recipe.per_record for a in workload.answers):
            raise QueryError("public guesses are compared with counts and sums", where=f"selection “{self}”")
        if len(set(workload.units)) > 1:
            raise QueryError("answers in different units cannot be compared", where=f"selection “{self}”")
        _require_few(len(self.targets) * workload.rows, MOST_CANDIDATES, str(self))
        unit = workload.units[0]
        terms = []
        for label, values in self.targets:
            if len(values) != workload.rows:
                raise QueryError(f"“{label}” has {len(values)} targets for {workload.rows} answers")
            whole = [v / unit for v in values]
            if any(v.denominator != 1 or abs(v) >= 1 << 50 for v in whole):
                raise QueryError(
                    f"“{label}” has a target that is not a whole multiple of {number_text(unit)}",
                    hints=["round the targets: they are public"],
                )
            terms.append([t for k, v in enumerate(whole) for t in ((k, 1, int(v)), (k, -1, -int(v)))])
        labels = [label for label, _ in self.targets]
        measure = "further off in its worst answer than the closest one"
        return candidates(self.queries, workload, labels, terms, unit=unit, measure=measure)

    def __str__(self) -> str:
        return f"closest of {len(self.targets):,} guesses"

    def to_dict(self) -> dict[str, Any]:
        targets = [[label, [str(v) for v in values]] for label, values in self.targets]
        return {"select": "closest", "queries": self.queries.to_dict(), "targets": targets}


@dataclass(frozen=True)
class Quantile(Pick):
    """The value v with at most a proportion `at` of the records below it, and at least that proportion up to it.

    With at = a/b the score is `-max(0, b #(< v) - a n, a n - b #(<= v))`: the error of its rank in records, times b.
    It is 0 for the quantile itself, even if many records have the same value.  n is the number of valid entries.
    """

    of: str
    at: Fraction

    def on(self, universe: Universe) -> Candidates:
        """Return a candidate for each value or group of values."""
        grouping = _ordered(self.of, universe, str(self))
        count = len(grouping.labels)
        if count > MOST_VALUES:
            raise TooLarge(
                f"ranks along {count:,} values are more than {MOST_VALUES:,}",
                where=f"selection “{self}”",
                hints=[(_coarser(self.of, universe), "counts many values together")],
            )
        a, b = self.at.numerator, self.at.denominator
        groups = grouping.groups
        cuts = np.arange(1, count)[:, None]  # row k: records below cut k + 1
        rows = np.where(groups < 0, 0, np.where(groups < cuts, b - a, -a)).astype(np.int64)
        terms = [[(k - 1, 1, 0)] * (k > 0) + [(k, -1, 0)] * (k < count - 1) + [(0, 0, 0)] for k in range(count)]
        unit, measure = Fraction(1, b), "records off in its rank"
        return _along(universe, grouping, rows, grouping.labels, terms, unit=unit, measure=measure)

    def __str__(self) -> str:
        return f"median {self.of}" if self.at == Fraction(1, 2) else f"quantile {number_text(self.at)} of {self.of}"

    def to_dict(self) -> dict[str, Any]:
        return {"select": "quantile", "of": self.of, "at": str(self.at)}


@dataclass(frozen=True)
class BinEdges(Pick):
    """Edges on a public grid that cut an ordered attribute into bins of equal numbers of records.

    The score of a set of edges is `-max |bins #(bin) - n|` over its bins.  If no steps are given (as in `age/5`), the
    grid has the smallest step of 1, 2, 5, 10, … values with at most 20,000 sets of edges.
    """

    of: str
    bins: int

    def on(self, universe: Universe) -> Candidates:
        """Return a candidate for each set of edges."""
        grouping = _grid(_ordered(self.of, universe, str(self)), self.bins, coarser=not set("/[") & set(self.of))
        steps = len(grouping.labels)
        sets = math.comb(steps - 1, self.bins - 1)
        if sets < 1:
            raise QueryError(
                f"{self.of} has {steps:,} steps, too few for {self.bins} bins", where=f"selection “{self}”"
            )
        if sets > MOST_CUTS:
            raise TooLarge(
                f"{sets:,} sets of edges are more than {MOST_CUTS:,}",
                where=f"selection “{self}”",
                hints=["fewer bins, or wider steps"],
            )
        edges = [(0, *cuts, steps) for cuts in combinations(range(1, steps), self.bins - 1)]
        row_of: dict[tuple[int, int], int] = {}
        terms = []
        for cut in edges:
            places = [row_of.setdefault(span, len(row_of)) for span in pairwise(cut)]
            terms.append([(k, sign, 0) for k in places for sign in (1, -1)])
        low, high = (np.array([span[side] for span in row_of], dtype=np.int64)[:, None] for side in (0, 1))
        groups = grouping.groups
        inside = (groups >= low) & (groups < high)
        rows = np.where(groups < 0, 0, np.where(inside, self.bins - 1, -1)).astype(np.int64)
        labels = [" | ".join(grouping.from_to(x, y - 1) for x, y in pairwise(c)) for c in edges]
        unit = Fraction(1, self.bins)
        measure = "records more in the worst bin’s deviation than with the best edges"
        return _along(universe, grouping, rows, labels, terms, unit=unit, measure=measure)

    def __str__(self) -> str:
        return f"{self.bins} bins of {self.of}"

    def to_dict(self) -> dict[str, Any]:
        return {"select": "bins", "of": self.of, "bins": self.bins}


def most_common(what: Any) -> Largest:
    """Select the value of an attribute with the most records, or the largest of any counts or sums.

    >>> str(most_common("job")), str(most_common(table("job", where={"sex": "F"})))
    ('most common job', 'most common job where sex=F')
    """
    return Largest(Stack((table(what),)) if isinstance(what, str) else gather(what))


def quantile(of: str, at: Number) -> Quantile:
    """Select the value up to which a proportion of the records lies; `income/5000` in wider steps.

    >>> str(quantile("income", 0.9)), str(quantile("age", "0.5"))
    ('quantile 0.9 of income', 'median age')
    """
    return as_pick(quantile_of(_name(of), at))


def as_pick(asked: Quantiles) -> Quantile:
    """Return the selection for a query of one quantile; refuse groups, conditions and targets, which need a plan."""
    if asked.by or asked.where or len(asked.at) > 1 or asked.width or asked.within is not None:
        raise QueryError(
            "a selection is a single value of all records",
            where=f"selection “{asked}”",
            hints=[("session.plan(…)", "answers by groups, under conditions and several at once")],
        )
    return Quantile(asked.of, asked.at[0])


def bin_edges(of: str, *, bins: int) -> BinEdges:
    """Select edges that cut an ordered attribute into bins with equal numbers of records.

    >>> str(bin_edges("age/5", bins=4))
    '4 bins of age/5'
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= 100:
        raise UsageError(f"{str(bins)[:40]} bins; a whole number from 2 to 100 is needed", hints=["bins=4"])
    return BinEdges(_name(of), bins)


def closest(queries: Any, targets: Mapping[str, Sequence[Number]]) -> Closest:
    """Select the public set of answers that is closest to the data, by the largest difference.

    >>> str(closest(table("sex"), {"even": [50, 50], "mostly F": [20, 80]}))
    'closest of 2 guesses'
    """
    if not isinstance(targets, Mapping):
        raise UsageError("targets have names", hints=['{"last year": [50, 50], "even": [40, 60]}'])
    named = [(str(k), tuple(Fraction(exact(v, what="a target")) for v in values)) for k, values in targets.items()]
    return Closest(gather(queries), tuple(named))


def _name(of: object) -> str:
    if not isinstance(of, str) or not of.strip():
        raise UsageError("name an attribute", hints=['dx.median_of("age")'])
    return of.strip()


def _require_few(count: int, most: int, what: str) -> None:
    if count > most:
        raise TooLarge(f"{count:,} candidates are more than {most:,}", where=f"selection “{what}”")


def _ordered(spec: str, universe: Universe, what: str) -> Grouping:
    """Return the groups of an ordered attribute or property; refuse one without an order."""
    ref = resolve(spec.partition("/")[0].partition("[")[0].strip(), universe)
    if ref.attribute.order(ref.fact) is None:
        raise QueryError(
            f"{ref.name} has no order", where=f"selection “{what}”", hints=[(f"most common {ref.name}", "needs none")]
        )
    return group(spec, universe)


def _coarser(spec: str, universe: Universe) -> str:
    """Return a specification with wider groups, for a hint."""
    ref = resolve(spec.partition("/")[0].partition("[")[0].strip(), universe)
    return (ref.attribute.coarser if ref.fact is None else "") or f"{ref.name}/10"


def _grid(fine: Grouping, bins: int, *, coarser: bool) -> Grouping:
    """Return the given groups, or with `coarser` the finest steps that give few enough sets of edges."""
    count = len(fine.labels)
    if not coarser:
        return fine
    width = next(w for w in _WIDTHS if math.comb(max(-(-count // w) - 1, 0), bins - 1) <= MOST_CUTS)
    groups = np.where(fine.groups < 0, -1, fine.groups // width).astype(np.int64)
    spans = [(k, min(k + width, count) - 1) for k in range(0, count, width)]
    labels = tuple(fine.from_to(a, b) for a, b in spans)
    ends = tuple((fine.ends[a][0], fine.ends[b][1]) for a, b in spans) if fine.ends else ()
    return Grouping(fine.axis, groups, labels, fine.name, ends)


def _along(
    universe: Universe,
    grouping: Grouping,
    rows: Ints,
    labels: Sequence[str],
    terms: Sequence[Sequence[tuple[int, int, int]]],
    *,
    unit: Fraction,
    measure: str,
) -> Candidates:
    """Make candidates whose rows depend on one attribute."""
    if len(labels) < 2:
        raise QueryError(f"{grouping.name} has a single value: there is nothing to choose")
    asked = Stack((Steps.from_rows(universe.names[grouping.axis], rows),))
    workload: Workload = asked.on(universe)
    return candidates(asked, workload, labels, terms, unit=unit, measure=measure)
