"""What is asked about is counted, and nothing else: in one histogram or several, the answers are the same."""

import numpy as np
import pytest

from dxprivacy.engines import open_source
from dxprivacy.engines.fields import Packing, merged, together
from dxprivacy.errors import TooLarge, UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.queries.asking import gather
from dxprivacy.session import count_records
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

pandas = pytest.importorskip("pandas")


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    names = {f"a{k}": rng.integers(0, 6, 400) for k in range(5)}
    frame = pandas.DataFrame({**names, "job": rng.choice(["x", "y", "?"], 400)})
    universe = Universe(
        [Integers(name=n, low=0, high=4) for n in names] + [Values(name="job", values=("x", "y"))],
    )
    return open_source(frame), universe


QUERIES = ("count by a0, a1", "count by a1, job", "sum a2 by a3", "count where a4=1..3", "count")


def test_one_histogram_and_several_give_the_same_answers(people, monkeypatch):
    source, universe = people
    workload = gather(*QUERIES).on(universe)
    whole = workload.answer(source.count(universe).counts)
    asked = workload.asks
    one = count_records.count(source, universe, asked, 400)
    assert len(one.tables) == 1
    monkeypatch.setattr(count_records, "MOST_HELD", 10)
    monkeypatch.setattr(count_records, "_MOST_CELLS", 40)
    several = count_records.count(source, universe, asked, 400)
    assert len(several.tables) > 1
    for histogram in (one, several):
        assert workload.answer(histogram).tolist() == whole.tolist()
        assert histogram.total == 400


def test_what_was_not_counted_cannot_be_asked(people):
    source, universe = people
    histogram = count_records.count(source, universe, [(0, 1)], 400)
    with pytest.raises(UsageError, match="were not counted"):
        gather("count by a3").on(universe).answer(histogram)
    assert "counts hidden" in repr(histogram)
    assert not any(ch.isdigit() for ch in repr(histogram.tables[0]).replace("a0", "").replace("a1", ""))


def test_every_query_is_among_one_of_the_projections():
    universe = Universe([Integers(name=f"a{k}", low=0, high=999, has_other=False) for k in range(6)])
    asked = [(0, 1), (1, 2), (3, 4), (5,), (0,), ()]
    for records in (10, 10**6, 10**12):
        parts = count_records.projections(universe, asked, records)
        assert all(any(set(a) <= set(part) for part in parts) for a in asked)


def test_attributes_are_packed_into_as_many_numbers_as_they_need():
    universe = Universe([Integers(name=f"a{k}", low=0, high=2**20 - 1, has_other=False) for k in range(7)])
    packing = Packing(universe)
    assert len(packing.numbers) == 3
    rng = np.random.default_rng(1)
    values = [rng.integers(0, 2**20, 50) for _ in range(7)]
    numbers = packing.pack(values)
    assert all(packed.max() < 2**62 for packed in numbers)
    histogram = packing.histogram(*merged(numbers * 1, np.ones(50, dtype=np.int64)))
    assert histogram.total == 50
    table = histogram.over(range(7))
    found = sorted(zip(*(table.along(k).tolist() for k in range(7)), strict=True))
    assert found == sorted(set(zip(*(v.tolist() for v in values), strict=True)))
    twice = together(universe, [histogram, histogram])
    assert twice.total == 100
    assert len(twice.tables[0].counts) == len(table.counts)


def test_a_count_for_each_of_too_many_cells_is_refused():
    universe = Universe([Integers(name=f"a{k}", low=0, high=999) for k in range(4)])
    histogram = Packing(universe).histogram([np.array([5])], np.array([2]))
    with pytest.raises(TooLarge, match="too many to hold a count for each"):
        _ = histogram.counts
    assert Histogram.of(Universe.listed("ab"), [1, 2]).counts.tolist() == [1, 2]
