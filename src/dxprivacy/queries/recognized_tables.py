"""Tables in explicit matrices: rows that count every combination of some attributes are asked for as such tables.

A plan of tables is found by their structure, in a second where the same rows as a matrix take minutes, and has less
noise.  Nothing is guessed: a table is taken for rows only where it counts the same records, row by row.
"""

import math

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.exact.arrays import Ints
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.matrix_query import Matrix
from dxprivacy.universe.blocks import OneHot
from dxprivacy.universe.universe import Universe

_MOST_ENTRIES = 50_000_000


def recognized(asked: Stack, universe: Universe) -> Stack:
    """The same rows in the same order; matrices that are nothing but tables as these.

    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> u = Universe([Values(name="sex", values=("F", "M")), Values(name="job", values=("Y", "N"))])
    >>> by_job = np.tile(np.eye(2, 3, dtype=np.int64), 3)  # the third column of each sex: neither
    >>> [str(q) for q in recognized(Stack((Matrix(by_job),)), u).questions]
    ['count by job']
    """
    found: list[Asked] = []
    for question in asked.questions:
        found += (isinstance(question, Matrix) and _tables(question, universe)) or [question]
    return Stack(tuple(found), asked.notes)


def _tables(question: Matrix, universe: Universe) -> list[Count] | None:
    """All rows of a matrix as tables, or None where some are not."""
    whole = question.whole
    if question.labels or question.factor != 1 or question.bias or len(universe.attributes) < 2:
        return None
    if universe.absent is not None or whole.shape[1] != universe.cells:
        return None
    if whole.shape[0] * universe.cells > _MOST_ENTRIES:
        return None
    entries: Ints = np.asarray(whole if isinstance(whole, np.ndarray) else whole.todense(), dtype=np.int64)
    out: list[Count] = []
    start = 0
    while start < len(entries):
        found = _table(entries[start:], question, universe)
        if found is None:
            return None
        table, rows = found
        out.append(table)
        start += rows
    return out


def _table(entries: Ints, question: Matrix, universe: Universe) -> tuple[Count, int] | None:
    """The table that the first rows are, and how many rows it has.

    Its attributes are those along which the first row counts the first value alone.
    """
    counted = entries[0].reshape(universe.shape) != 0
    axes = [a for a in range(counted.ndim) if universe.shape[a] > 1 and not np.moveaxis(counted, a, 0)[1:].any()]
    if not axes or math.prod(universe.attributes[a].listed for a in axes) > len(entries):
        return None
    names = tuple(universe.names[a] for a in axes)
    table = Count(by=names, within=question.within, weight=question.weight)
    try:
        (block,) = table.on(universe).blocks
    except QuestionError:  # a name that is read otherwise in a question, such as `age/2`
        return None
    if not isinstance(block, OneHot) or block.rows > len(entries):
        return None
    cells = np.arange(universe.cells, dtype=np.int64)
    row, value = block.place(cells)
    same = np.zeros((block.rows, universe.cells), dtype=np.int64)
    same[row[value != 0], cells[value != 0]] = value[value != 0]
    return (table, block.rows) if np.array_equal(same, entries[: block.rows]) else None
