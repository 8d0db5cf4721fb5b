"""Rows find their cell or their nearest place by a function of their own two entries, alike in every source."""

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pyarrow as pa
import pytest
from engine_kinds import EVERY, build

from contracts.long_forms import slow
from dxprivacy.engines import nearest_places, open_source
from dxprivacy.engines.nearest_places import Locator
from dxprivacy.errors import DataError
from dxprivacy.metrics.distances import RADIUS_KM, great_circle_floor
from dxprivacy.universe.attributes.grid import Grid
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.nearest_place import Nearest
from dxprivacy.universe.people import People
from dxprivacy.universe.reading.codecs import Surroundings
from dxprivacy.universe.universe import Universe

EARTH = np.array([[48.137, 11.575], [52.52, 13.405], [48.137, 11.575], [-33.9, 151.2], [0.0, 180.0], [0.0, -180.0]])
PLANE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.1, 0.2], [1e-200, 0.0]])


def exact_distance(at, place, earth):
    """In whole numbers alone: what the nearest place is decided by."""
    if earth:
        return great_circle_floor(at, place)
    return (F(at[0]) - F(place[0])) ** 2 + (F(at[1]) - F(place[1])) ** 2


def slow_place(surroundings, first, second):
    """The nearest place by its definition: all places, one after the other."""
    most = (90, 360) if surroundings.earth else (1e150, 1e150)
    if not (math.isfinite(first) and math.isfinite(second) and abs(first) <= most[0] and abs(second) <= most[1]):
        return len(surroundings.coordinates)
    away = [exact_distance((first, second), tuple(p), surroundings.earth) for p in surroundings.coordinates.tolist()]
    k = away.index(min(away))
    reach = surroundings.reach
    if reach is not None and away[k] > (reach / RADIUS_KM if surroundings.earth else reach**2):
        return len(away)
    return k


def slow_cell(grid, first, second):
    """The cell of two numbers by comparing them with the ends of all cells."""
    index = 0
    sides = ((grid.box[0], grid.box[2], grid.cells[0]), (grid.box[1], grid.box[3], grid.cells[1]))
    for number, (low, high, n) in zip((first, second), sides, strict=True):
        edges = [float(low + k * (high - low) / n) for k in range(n + 1)]
        if not edges[0] <= number <= edges[-1]:
            return grid.listed
        index = index * n + min(max(k for k in range(n + 1) if edges[k] <= number), n - 1)
    return index


def near(rng, places, earth):
    """Coordinates that are hard to place: in the middle of two places, on one, at the poles, beyond all."""
    a, b = rng.choice(places), rng.choice(places)
    kinds = [
        lambda: (float((a[0] + b[0]) / 2), float((a[1] + b[1]) / 2)),
        lambda: (float(a[0]), float(a[1])),
        lambda: (float(np.nextafter(a[0], 99)), float(a[1])),
        lambda: (rng.uniform(-90, 90), rng.uniform(-360, 360)) if earth else (rng.uniform(-2, 2), rng.uniform(-2, 2)),
        lambda: (rng.choice([90.0, -90.0, -0.0]), rng.choice([0.0, 360.0, -360.0, 180.0])),
        lambda: (-float(a[0]), float(a[1]) - math.copysign(180, a[1])),  # the antipode
        lambda: (rng.choice([91.0, 1e300, math.nan, math.inf]), rng.choice([0.0, -math.inf, 400.0])),
        lambda: (5e-324, -5e-324),
    ]
    return rng.choice(kinds)()


@pytest.mark.parametrize("reach", [None, F(600), F(1, 2)])
@pytest.mark.parametrize("earth", [True, False])
def test_the_nearest_place_is_that_of_exact_distances_and_of_equal_ones_the_first(earth, reach):
    rng = random.Random(f"{earth} {reach}")
    places = EARTH if earth else PLANE
    for extra in (0, 30):
        more = [[rng.randint(-9, 9) / 4, rng.randint(-9, 9) / 4] for _ in range(extra)]
        surroundings = Surroundings(np.concatenate([places, np.array(more).reshape(-1, 2)]), earth, reach)
        at = np.array([near(rng, surroundings.coordinates, earth) for _ in range(300)])
        found = Locator(surroundings).places(at[:, 0], at[:, 1])
        want = [slow_place(surroundings, *pair) for pair in at.tolist()]
        assert found.tolist() == want
        for k in rng.sample(range(300), 20):  # alone, or beside any others
            assert Locator(surroundings).places(at[k : k + 1, 0], at[k : k + 1, 1]).tolist() == [want[k]]


def test_one_place_alone_and_a_lattice_of_ties():
    lonely = Surroundings(np.array([[10.0, 20.0]]), True, F(100))
    assert Locator(lonely).places(np.array([10.0, -10.0]), np.array([20.5, 20.0])).tolist() == [0, 1]
    lattice = Surroundings(np.array(list(itertools.product(range(5), repeat=2)), dtype=float)[::-1], False, None)
    middles = np.array(list(itertools.product(np.arange(0, 4.5, 0.5), repeat=2)))
    found = Locator(lattice).places(middles[:, 0], middles[:, 1])
    assert found.tolist() == [slow_place(lattice, *pair) for pair in middles.tolist()]


NUMBERS = [48.137, 48.2, 52.0, 50.3285, 0.0, -0.0, 90.0, 90.5, 11.575, 13.4, 12.49, 180.0, -180.0, 360.0, 361.0, 47.0]
TEXTS = ["48.137", " 48.2 ", "5.2e1", "+50.3285", "0", "-0", "", "nan", "inf", "48,137", "0x30", "12.49", "180", None]
HOME = Nearest(name="home", ids=tuple("abcdef"), coordinates=EARTH, columns=("lat", "lon"), earth=True, reach=F(500))
CELL = Grid(name="cell", columns=("lat", "lon"), box=(F(47), F("10.5"), F(53), F(14)), cells=(7, 5), earth=True)
WAVE = Values(name="wave", values=("1", "2"))


def number_of(entry):
    """As a source reads an entry that is one."""
    if entry is None or (isinstance(entry, str) and entry.strip() in ("", "nan", "inf", "48,137", "0x30")):
        return math.nan
    return float(entry)


def want_counts(universe, rows):
    counts = np.zeros(universe.shape, dtype=np.int64)
    for entries in rows:
        at = []
        for attribute in universe.attributes:
            if attribute.kind == "values":
                at.append({"1": 0, "2": 1}.get(str(entries[2]), 2))
                continue
            first, second = map(number_of, entries[:2])
            slow = slow_cell(CELL, first, second) if attribute is CELL else slow_place(HOME.surroundings, first, second)
            at.append(slow)
        counts[tuple(at)] += 1
    return counts.reshape(-1).tolist()


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("attributes", [(HOME,), (CELL,), (WAVE, HOME, CELL)], ids=lambda a: a[0].name)
def test_every_source_finds_the_same_places(kind, attributes, tmp_path):
    universe = Universe(list(attributes))
    pairs = list(itertools.product([*NUMBERS, None], repeat=2))
    rows = [(a, b, k % 3) for k, (a, b) in enumerate(pairs)] * 2
    columns = {
        "lon": (pa.float64(), [b for _, b, _ in rows]),
        "lat": (pa.float64(), [a for a, _, _ in rows]),
        "wave": (pa.int8(), [w for *_, w in rows]),
    }
    data = build(kind, columns, tmp_path)
    assert open_source(data).count(universe).counts.tolist() == want_counts(universe, rows)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "pandas"])
def test_coordinates_written_as_text_are_read_as_numbers_are(kind, tmp_path):
    universe = Universe([HOME, CELL, WAVE])
    texts = [t for t in TEXTS if t != "48,137"]
    rows = [(a, b, k % 3) for k, (a, b) in enumerate(itertools.product(texts, repeat=2))]
    columns = {
        "lat": (pa.string(), [a for a, _, _ in rows]),
        "lon": (pa.string(), [b for _, b, _ in rows]),
        "wave": (pa.int8(), [w for *_, w in rows]),
    }
    data = build(kind, columns, tmp_path)
    assert open_source(data).count(universe).counts.tolist() == want_counts(universe, rows)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "duckdb", "csv", "polars"])
def test_text_with_decimal_commas_needs_a_format_and_is_read_by_it(kind, tmp_path):
    from dataclasses import replace

    columns = {
        "lat": (pa.string(), ["48,137", "48.137", " 52,5 ", "", None, "9" * 70_000]),
        "lon": (pa.string(), ["11,6", "11,6", "13", "11", "11", "11"]),
    }
    for attribute, want in ((HOME, [1, 1, 0, 0, 0, 0, 4]), (CELL, None)):
        written = replace(attribute, format="1.234,5")
        counts = open_source(build(kind, columns, tmp_path)).count(Universe([written])).counts.tolist()
        assert counts[-1] == 4
        assert sum(counts) == 6
        if want:
            assert counts == want
        if kind in ("parquet", "arrow", "duckdb", "polars"):
            with pytest.raises(DataError, match="the policy needs numbers"):
                open_source(build(kind, columns, tmp_path)).count(Universe([attribute]))


def test_decimals_and_whole_numbers_are_coordinates_too(tmp_path):
    for declared, entries in ((pa.decimal128(9, 4), [Decimal("48.137"), None]), (pa.int16(), [48, 52]),
                              (pa.float32(), [48.137, 52.5])):  # fmt: skip
        columns = {"lat": (declared, entries), "lon": (pa.float64(), [11.6, 13.4])}
        want = [0] * 7
        for a, b in zip(entries, [11.6, 13.4], strict=True):
            number = math.nan if a is None else float(np.float32(a)) if declared == pa.float32() else float(a)
            want[slow_place(HOME.surroundings, number, b)] += 1
        for kind in ("parquet", "arrow", "polars"):
            assert open_source(build(kind, columns, tmp_path)).count(Universe([HOME])).counts.tolist() == want


def test_entries_that_do_not_count_are_shown_to_the_curator_in_both_columns(tmp_path):
    columns = {"lat": (pa.float64(), [48.1, 99.0, None]), "lon": (pa.float64(), [11.5, 3.0, 4.0])}
    for kind in ("parquet", "csv", "pandas"):
        (others,) = open_source(build(kind, columns, tmp_path)).others(Universe([HOME]), 9)
        assert others.columns == ("lat", "lon")
        assert (others.rows, others.distinct) == (2, 2)
        assert {entry[0][1] for entry in others.entries} == {"3.0", "4.0"}


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas"])
def test_people_with_several_rows_keep_the_same_ones_in_every_source(kind, tmp_path):
    rng = random.Random(3)
    rows = [(rng.uniform(47, 53), rng.uniform(10, 14), rng.randrange(20)) for _ in range(200)]
    columns = {
        "lat": (pa.float64(), [a for a, _, _ in rows]),
        "lon": (pa.float64(), [b for _, b, _ in rows]),
        "who": (pa.int64(), [w for *_, w in rows]),
    }
    universe = Universe([HOME, CELL], people=People(key=("who",), max_rows=3))
    kept = open_source(build(kind, columns, tmp_path)).kept(universe, [0, 1])
    want = open_source(build("csv", columns, tmp_path)).kept(universe, [0, 1])
    assert int(kept.counts.sum()) == 60
    totals = [np.bincount(found.numbers[0], weights=found.counts) for found in (kept, want)]
    assert totals[0].tolist() == totals[1].tolist()


@pytest.mark.parametrize(("number", "block"), [(2_000, 1 << 10), slow(80_000, 1 << 16)])
def test_many_different_pairs_are_placed_by_blocks(number, block, tmp_path, monkeypatch):
    monkeypatch.setattr(nearest_places, "BLOCK", block)
    assert number > block
    rng = np.random.default_rng(5)
    columns = {
        "lat": (pa.float64(), rng.uniform(40, 60, number).tolist()),
        "lon": (pa.float64(), rng.uniform(0, 20, number).tolist()),
    }
    counts = [
        open_source(build(kind, columns, tmp_path)).count(Universe([HOME])).counts.tolist()
        for kind in ("parquet", "pandas")
    ]
    at = [columns[name][1] for name in ("lat", "lon")]
    places = Locator(HOME.surroundings).places(np.array(at[0]), np.array(at[1]))
    assert counts[0] == counts[1] == np.bincount(places, minlength=7).tolist()
