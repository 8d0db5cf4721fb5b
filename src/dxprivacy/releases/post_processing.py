"""`dx.post`: post-processing of released answers, at no privacy cost; results are marked as processed.

    post.nonnegative(release)        no count below 0; with total=release.records complete tables also add up to it
    post.whole(release)              integer counts with the same (rounded) total
    post.consistent(release)         tables whose shared margins agree, by least squares

Each takes a release, the result of another step, or plain numbers (`consistent`: {names: table}), and returns
`Processed`.  The first and the last are projections onto convex sets that contain the truth, so they never increase the
squared error.  One step may undo another: after `nonnegative` or `whole`, tables need not agree any more.
"""

import math
from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.releases.answer_structure import AnswerPart, parts_of
from dxprivacy.releases.processed_answers import Processed, after, start
from dxprivacy.releases.release import Release
from dxprivacy.releases.table_agreement import AgreeingTable, agree, informed

__all__ = ["Processed", "consistent", "nonnegative", "whole"]

NONNEGATIVE, WHOLE, CONSISTENT = "non-negative", "whole", "consistent"
_LARGEST = 2.0**53

Given: TypeAlias = Any
"""A release, the result of an earlier step, or a list of numbers."""


def nonnegative(given: Given, *, total: float | None = None) -> Processed:
    """Raise negative counts to 0; with a known total, project onto nonnegative answers with this sum.

    In a release, only answers to which no record contributes negatively change, and the total applies to complete
    tables: those that count each record once.  Intervals are cut at 0.

    >>> nonnegative([3.0, -1.0, 2.0]).values.tolist()
    [3.0, 0.0, 2.0]
    >>> nonnegative([3.0, -1.0, 2.0], total=4).values.tolist()
    [2.5, 0.0, 1.5]
    """
    before = _start(given)
    target = None if total is None else _number(total, "the total")
    if target is not None and target < 0:
        raise UsageError("counts that are not negative cannot add up to a negative total")
    values = before.values.copy()
    ends = {}
    for part in _parts(before):
        if not part.nonnegative:
            continue
        some = values[part.places]
        adds_up = target is not None and (part.complete or before.release is None)
        values[part.places] = _onto_simplex(some, target) if adds_up and target is not None else np.maximum(some, 0.0)
        for place in part.places.tolist() if before.answers else ():
            row = before.answers[place]
            ends[place] = (max(row.low, 0.0), max(row.high, 0.0))
    return after(before, values, NONNEGATIVE, ends)


def whole(given: Given) -> Processed:
    """Round to integers, each less than 1 away, whose total is the rounded old total (largest remainder method).

    In a release, only counts change, query by query.

    >>> whole([1.4, 1.4, 1.4]).values.tolist()
    [2.0, 1.0, 1.0]
    """
    before = _start(given)
    values = before.values.copy()
    for part in _parts(before):
        if part.whole:
            values[part.places] = _rounded(values[part.places])
    return after(before, values, WHOLE)


def consistent(
    given: Given,
    *,
    total: float | None = None,
    weights: Mapping[Any, float] | None = None,
    assume_no_other: bool = False,
) -> Processed:
    """Make shared margins of tables agree, by the least-squares projection.

    Give a release, or {("sex", "age"): table, "sex": table} with `weights` (1 / variance; default equal).  The public
    number of records is a margin too: that of a release is used automatically, else give `total`.

    Tables of a release leave out records with an invalid entry (`other`), so only margins over attributes without
    `other` must agree.  `assume_no_other` assumes that all records are valid: this costs no privacy, but may be wrong.

    >>> found = consistent({"sex": [4.0, 6.0], "age": [3.0, 5.0]}, total=10)
    >>> found.tables["sex",].tolist(), found.tables["age",].tolist()
    ([4.0, 6.0], [4.0, 6.0])
    """
    known = None if total is None else _number(total, "the total")
    if isinstance(given, Mapping) or (isinstance(given, Processed) and given.frame):
        before, tables = _from_tables(given, weights)
        ends = np.cumsum([table.values.size for table in tables])[:-1]
        places: list[Ints] = np.split(np.arange(len(before.values), dtype=np.int64), ends)
    else:
        before = _start(given)
        if before.release is None or weights is not None:
            raise UsageError(
                "only named tables have margins and weights", hints=['post.consistent({"sex": […], "age": […]})']
            )
        known = before.release.records if known is None else known
        tables, places = _from_release(before, assume_no_other=assume_no_other)
    if not informed(tables, total=known is not None):
        raise UsageError(
            "no two tables share a margin that must agree",
            details=[
                "Records whose entry is invalid (“other”) are in no bin, so tables may add up to different totals."
            ],
            hints=[("assume_no_other=True", "if there are none")],
        )
    values = before.values.copy()
    for place, table in zip(places, agree(tables, known), strict=True):
        values[place] = table.ravel()
    return after(before, values, CONSISTENT)


def _start(given: Given) -> Processed:
    if isinstance(given, (Release, Processed)):
        return start(given)
    return start(_numbers(given, 1))


def _parts(before: Processed) -> list[AnswerPart]:
    """Return the parts of a release; plain numbers are assumed to be nonnegative integer counts."""
    if before.release is not None:
        return parts_of(before.release)
    return [AnswerPart(np.arange(len(before.values)), True, True, None)]


def _numbers(given: Any, dimensions: int) -> Floats:
    """Return an array of finite numbers with the given number of dimensions."""
    try:
        array = np.asarray(given)
        fine = array.dtype.kind in "iuf" and array.ndim == dimensions and array.size > 0
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise UsageError(
            f"cannot process {type(given).__name__}",
            hints=["give a release, a list of numbers, or an earlier result; a table has an axis for each attribute"],
        )
    out = array.astype(np.float64)
    if not (np.abs(out) < _LARGEST).all():
        raise UsageError("numbers to process are finite, and below 2^53")
    return out


def _number(given: Any, what: str) -> float:
    fine = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    if not fine or not math.isfinite(given) or abs(given) >= _LARGEST:
        raise UsageError(f"{what} is not a number")
    return float(given)


def _onto_simplex(values: Floats, total: float) -> Floats:
    """Project onto the simplex of nonnegative numbers with sum `total`: lower all by the same amount, and cut at 0."""
    order = np.sort(values)[::-1]
    spare = (np.cumsum(order) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(order - spare > 0).max(initial=0))
    return np.asarray(np.maximum(values - spare[last], 0.0), dtype=np.float64)


def _rounded(values: Floats) -> Floats:
    low = np.floor(values)
    missing = round(float(math.fsum((values - low).tolist())))
    up = np.argsort(-(values - low), kind="stable")[:missing]
    low[up] += 1.0
    return low


def _from_release(before: Processed, *, assume_no_other: bool) -> tuple[list[AgreeingTable], list[Ints]]:
    tables, places = [], []
    for part in _parts(before):
        if part.table is None:
            continue
        complete = [a.complete or (assume_no_other and a.complete_without_other) for a in part.table]
        order = sorted(range(len(complete)), key=lambda k: complete[k])  # the incomplete ones first; stable
        shape = [axis.size for axis in part.table]
        kept = part.places.reshape(shape).transpose(order)
        keys: list[Hashable] = [part.table[k].key for k in order]
        strata = len(complete) - sum(complete)
        width = [before.answers[p].high - before.answers[p].low for p in part.places.tolist()]
        spread = float(np.mean(np.square(width)))
        weight = math.inf if spread == 0 else 1 / spread
        tables.append(AgreeingTable(tuple(keys[strata:]), before.values[kept], weight, tuple(keys[:strata])))
        places.append(kept.ravel())
    return tables, places


def _from_tables(
    given: Mapping[Any, Any] | Processed, weights: Mapping[Any, float] | None
) -> tuple[Processed, list[AgreeingTable]]:
    named = given.tables if isinstance(given, Processed) else given
    if not named:
        raise UsageError("no tables to make agree")
    weighed = {_names(names): _number(weight, "a weight") for names, weight in (weights or {}).items()}
    tables, frame = [], []
    for name, table in named.items():
        names = _names(name)
        values = _numbers(table, len(names))
        tables.append(AgreeingTable(names, values, weighed.pop(names, 1.0)))
        frame.append((names, values.shape))
    if weighed:
        raise UsageError(f"a weight for {', '.join(next(iter(weighed)))}, which is not a table here")
    if isinstance(given, Processed):
        return given, tables
    flat = np.concatenate([table.values.ravel() for table in tables])
    return Processed(flat, (), frame=tuple(frame)), tables


def _names(given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise UsageError('tables are named by their attributes: "sex", or ("sex", "age")')
    return names
