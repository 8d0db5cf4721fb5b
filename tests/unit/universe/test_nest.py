"""Rows that are nested are a tree of counts; rows that are not are none."""

import numpy as np
import pytest

from contracts.nest_cases import chain_rows, halved_rows, random_rows
from dxprivacy.universe.hierarchy import NO_ROW, nest_of


def sums(rows, nest, x):
    """The counts of a nest for a histogram, from its cells upwards."""
    out = np.zeros(nest.size, dtype=np.int64)
    out[nest.ends] = x
    for whole, left, right in nest.divided[::-1].tolist():
        out[whole] = out[left] + out[right]
    return out


@pytest.mark.parametrize("seed", range(20))
def test_every_count_of_a_nest_is_its_row_and_the_sum_of_its_parts(seed):
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 12))
    rows = random_rows(rng, cells)
    nest = nest_of(rows)
    x = rng.integers(-50, 50, cells)
    found = sums(rows, nest, x)
    made = nest.row != NO_ROW
    assert sorted(nest.row[made].tolist()) == list(range(len(rows)))
    assert (found[made] == (rows @ x)[nest.row[made]]).all()
    assert found[0] == x.sum()
    assert nest.size == 2 * len(nest.divided) + 1


@pytest.mark.parametrize("rows", [chain_rows(2)[:2], chain_rows(300), halved_rows(257), np.eye(40, dtype=np.int64)])
def test_chains_halves_and_plain_cells_are_nests(rows):
    nest = nest_of(rows)
    assert (nest.divided[:, 0] < nest.divided[:, 1:].min(axis=1)).all(), "wholes come first"


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]],  # they cross
        [[1, 0, 0], [0, 1, 0]],  # the third cell is not counted by itself
        [[1, 0], [0, 1], [1, 0]],  # twice
        [[1, 0], [0, 1], [1, 1]],  # everything is no count: its number is known
        [[1, 0], [0, 1], [0, 0]],
        [[2, 0], [0, 1]],
        [[-1, 0], [0, 1]],
        [[1]],
        [[]],
    ],
)
def test_other_rows_are_no_nest(rows):
    assert nest_of(np.array(rows, dtype=np.int64)) is None
