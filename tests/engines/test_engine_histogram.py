"""The histogram holds true counts and shows none of them."""

import numpy as np
import pytest

from dxprivacy.errors import DataError
from dxprivacy.histogram import Histogram
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe

THREE = Universe.listed(["a", "b", "c"])


@pytest.mark.parametrize(
    "counts",
    [[4711, 0, 2], (4711, 0, 2), np.array([4711, 0, 2], dtype=np.uint64), np.array([4711.0, 0.0, 2.0]), [4711.0, 0, 2]],
    ids=["list", "tuple", "unsigned", "whole floats", "mixed"],
)
def test_whole_numbers_of_any_type_are_accepted(counts):
    histogram = Histogram.of(THREE, counts)
    assert histogram.counts.dtype == np.int64
    assert histogram.counts.tolist() == [4711, 0, 2]
    assert histogram.total == 4713


@pytest.mark.parametrize(
    ("counts", "what"),
    [
        ([4711, 0], "wrong shape"),
        ([[4711, 0, 1]], "wrong shape"),
        (4711, "wrong shape"),
        ([], "wrong shape"),
        ([4711, 0.5, 1], "whole numbers"),
        ([4711, float("nan"), 1], "whole numbers"),
        ([4711, float("inf"), 1], "whole numbers"),
        ([4711, -1, 1], "negative"),
        ([4711, "1", 1], "whole numbers"),
        ([4711, None, 1], "whole numbers"),
        ([True, False, True], "whole numbers"),
        ([[4711], [1, 2], 3], "whole numbers"),
        ([4711, 10**30, 1], "too large"),
        ([4711, 10**400, 1], "whole numbers"),
        ([2**62, 2**62, 4711], "too large"),
        (np.array([2**64 - 1, 0, 4711], dtype=np.uint64), "too large"),
        ({"a": 4711}, "whole numbers"),
    ],
)
def test_anything_else_is_refused_without_showing_a_count(counts, what):
    with pytest.raises(DataError) as caught:
        Histogram.of(THREE, counts)
    assert what in str(caught.value)
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


def test_its_text_hides_the_counts():
    histogram = Histogram.of(Universe([Integers(name="age", low=0, high=905)]), [4711] * 907)
    assert repr(histogram) == str(histogram) == f"{histogram}" == "Histogram(907 cells, counts hidden)"


def test_counts_are_a_copy_that_cannot_be_written():
    mine = np.array([1, 2, 3])
    histogram = Histogram.of(THREE, mine)
    mine[0] = 9
    assert histogram.counts.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        histogram.counts[0] = 9
    with pytest.raises(AttributeError):
        histogram.counts = mine  # type: ignore[misc]
