"""Make tables agree: the least-squares projection onto tables with equal shared margins.

A table splits into orthogonal components, one for each set of its attributes: the total, the main effects, the
interactions.  The true tables of one data set have equal components for shared sets of attributes.  So the nearest
tables that agree take the weighted mean of each component.  This is the orthogonal projection onto a linear space that
contains the truth, so it never increases the distance to the truth.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats

MOST_AXES = 12


@dataclass(frozen=True, eq=False)
class AgreeingTable:
    """Counts by some attributes, one axis each; `weight` multiplies its squared errors, infinite if it has none.

    Along `axes`, each record is in exactly one bin.  Along `strata`, records may be left out, so strata must not be
    summed over.  The dimensions of `values` are the strata, then the axes.
    """

    axes: tuple[Hashable, ...]
    values: Floats
    weight: float = 1.0
    strata: tuple[Hashable, ...] = ()


def agree(tables: Sequence[AgreeingTable], total: float | None = None) -> list[Floats]:
    """Return the nearest tables that agree on shared attributes, and with the total if it is known.

    >>> one, other = AgreeingTable(("sex",), np.array([4.0, 6.0])), AgreeingTable(("age",), np.array([3.0, 5.0]))
    >>> [table.tolist() for table in agree([one, other])]
    [[3.5, 5.5], [3.5, 5.5]]
    """
    sizes = _sizes(tables)
    out: list[Floats] = [table.values for table in tables]
    for strata in {frozenset(table.strata) for table in tables}:
        members = [k for k, table in enumerate(tables) if frozenset(table.strata) == strata]
        order = sorted(strata, key=lambda key: list(sizes).index(key))
        known = total if not strata else None
        aligned = [_strata_first(tables[k], order) for k in members]
        for k, values in zip(members, _agreed(aligned, sizes, len(order), known), strict=True):
            back = [order.index(key) for key in tables[k].strata]
            out[k] = np.transpose(values, [*back, *range(len(order), values.ndim)])
    return out


def informed(tables: Sequence[AgreeingTable], *, total: bool) -> bool:
    """Return whether any margin must agree: two tables with the same strata, or one and the known total."""
    strata = [frozenset(table.strata) for table in tables]
    return len(set(strata)) < len(strata) or (total and frozenset() in strata)


def _sizes(tables: Sequence[AgreeingTable]) -> dict[Hashable, int]:
    sizes: dict[Hashable, int] = {}
    for table in tables:
        keys = (*table.strata, *table.axes)
        if len(keys) != table.values.ndim or len(set(keys)) != len(keys):
            raise UsageError("a table needs one axis for each of its attributes, all different")
        if len(table.axes) > MOST_AXES:
            raise UsageError(f"a table by more than {MOST_AXES} attributes")
        if not table.weight > 0:
            raise UsageError("the weight of a table is a positive number")
        for key, size in zip(keys, table.values.shape, strict=True):
            if sizes.setdefault(key, size) != size:
                raise UsageError("two tables have the same attribute with different numbers of values")
    return sizes


def _strata_first(table: AgreeingTable, order: Sequence[Hashable]) -> AgreeingTable:
    axes = [table.strata.index(key) for key in order]
    values = np.transpose(table.values, [*axes, *range(len(order), table.values.ndim)])
    return AgreeingTable(table.axes, values, table.weight, tuple(order))


def _agreed(
    tables: Sequence[AgreeingTable], sizes: dict[Hashable, int], strata: int, total: float | None
) -> list[Floats]:
    place = {key: k for k, key in enumerate(sizes)}
    found: dict[frozenset[Hashable], list[tuple[float, Floats]]] = {}
    for table in tables:
        cells = float(np.prod([sizes[key] for key in table.axes], dtype=np.float64))
        for chosen in _subsets(table.axes):
            part = _component(table, chosen, strata, place)
            found.setdefault(frozenset(chosen), []).append((table.weight / cells, part))
    means = {chosen: _mean(parts) for chosen, parts in found.items()}
    if total is not None:
        means[frozenset()] = np.asarray(float(total))
    return [_together(table, means, sizes, strata, place) for table in tables]


def _subsets(axes: Sequence[Hashable]) -> Iterator[tuple[Hashable, ...]]:
    for count in range(len(axes) + 1):
        yield from combinations(axes, count)


def _component(table: AgreeingTable, chosen: tuple[Hashable, ...], strata: int, place: dict[Hashable, int]) -> Floats:
    """Return the component of the chosen attributes: their margin without lower-order effects, in a common order."""
    others = tuple(strata + k for k, key in enumerate(table.axes) if key not in chosen)
    margin = table.values.sum(axis=others)
    for axis in range(strata, margin.ndim):
        margin = margin - margin.mean(axis=axis, keepdims=True)
    kept = [key for key in table.axes if key in chosen]
    order = sorted(range(len(kept)), key=lambda k: place[kept[k]])
    return np.transpose(margin, [*range(strata), *(strata + k for k in order)])


def _mean(parts: Sequence[tuple[float, Floats]]) -> Floats:
    exact = [part for weight, part in parts if np.isinf(weight)]
    if exact:
        return np.asarray(np.mean(exact, axis=0), dtype=np.float64)
    mean = np.average([part for _, part in parts], axis=0, weights=[weight for weight, _ in parts])
    return np.asarray(mean, dtype=np.float64)


def _together(
    table: AgreeingTable,
    means: dict[frozenset[Hashable], Floats],
    sizes: dict[Hashable, int],
    strata: int,
    place: dict[Hashable, int],
) -> Floats:
    """Add up a table's components, each spread evenly over the bins that it does not separate."""
    out = np.zeros(table.values.shape)
    for chosen in _subsets(table.axes):
        mean = means[frozenset(chosen)]
        sorted_keys = sorted(chosen, key=lambda key: place[key])
        shape = list(table.values.shape[:strata]) + [1] * len(table.axes)
        at = [k for k, key in enumerate(table.axes) if key in chosen]
        for k in at:
            shape[strata + k] = sizes[table.axes[k]]
        back = [strata + sorted_keys.index(table.axes[k]) for k in at]
        spread = float(np.prod([sizes[key] for key in table.axes if key not in chosen], dtype=np.float64))
        out = out + np.transpose(mean, [*range(strata), *back]).reshape(shape) / spread
    return out
