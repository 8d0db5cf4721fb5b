"""Tables that add up to 0: their numbers are those of all tables, and each is drawn as often as any other."""

import itertools
from collections import Counter
from math import comb

import numpy as np
import pytest
from scipy import stats

from dxprivacy.mechanisms.sampling.zero_sum_tables import Tables, tables_of


def everything(cells, most):
    """All tables of this size at most."""
    for head in itertools.product(range(-most, most + 1), repeat=cells - 1):
        z = (*head, -sum(head))
        if sum(map(abs, z)) <= 2 * most:
            yield z


@pytest.mark.parametrize(("cells", "most"), [(2, 40), (3, 12), (4, 6), (5, 4), (6, 3)])
def test_there_are_as_many_as_are_counted(cells, most):
    found = Counter(sum(map(abs, z)) // 2 for z in everything(cells, most))
    assert [Tables(cells).of(r) for r in range(most + 1)] == [found[r] for r in range(most + 1)]
    assert Tables(cells).upto(most) == sum(found.values())


@pytest.mark.parametrize("cells", [2, 3, 7, 30, 101])
def test_the_recurrence_counts_what_positive_and_negative_cells_can_be(cells):
    tables = Tables(cells)
    for r in (1, 2, 3, 10, 57, 200):
        ways = [comb(cells, p) * comb(r - 1, p - 1) * comb(cells - p + r - 1, r) for p in range(1, cells)]
        assert tables.of(r) == sum(ways)
        assert tables.upto(r) == sum(comb(cells - 1, k) ** 2 * comb(r + cells - 1 - k, cells - 1) for k in range(cells))


@pytest.mark.parametrize("cells", [2, 3, 8, 40])
def test_their_numbers_are_log_concave(cells):
    b = [Tables(cells).upto(r) for r in range(300)]
    assert all(b[r] ** 2 >= b[r - 1] * b[r + 1] for r in range(1, 299))


@pytest.mark.parametrize(("cells", "most"), [(2, 6), (3, 3), (4, 2), (5, 1), (3, 0)])
def test_each_is_drawn_as_often_as_any_other(cells, most):
    rng = np.random.default_rng(cells)
    known = list(everything(cells, most))
    found = Counter(tuple(tables_of(cells).draw(most, rng.bytes)) for _ in range(200 * len(known)))
    assert set(found) <= set(known)
    assert len(known) == 1 or stats.chisquare([found[z] for z in known]).pvalue > 1e-4


def test_every_number_picks_one_table_and_all_tables_are_picked():
    """Ranks go through the numbers of positive cells in turn, each as often as there are such tables."""
    tables = Tables(5)
    for r in (1, 2, 4, 7):
        found = Counter(tables._positive(r, rank) for rank in range(tables.of(r)))
        assert found == Counter(
            {p: w for p in range(1, 5) if (w := comb(5, p) * comb(r - 1, p - 1) * comb(5 - p + r - 1, r))}
        )


@pytest.mark.parametrize("cells", [2, 5, 40])
def test_as_many_bytes_are_drawn_whatever_comes_out(cells):
    rng, asked = np.random.default_rng(1), []
    for _ in range(60):
        lengths = []
        tables_of(cells).draw(50, lambda n, lengths=lengths: lengths.append(n) or rng.bytes(n))
        asked.append(sum(lengths))
    assert len(set(asked)) == 1


def test_a_table_has_two_cells_at_least():
    with pytest.raises(ValueError, match="two bins"):
        Tables(1)
