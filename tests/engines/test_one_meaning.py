"""One meaning on every engine: random tables of the dirtiest entries have the same histogram wherever they lie.

And a changed row moves one unit, in all of them from the same cell to the same other cell.
"""

import random

import numpy as np
import pyarrow as pa
import pytest
from dirty_entries import CLOCKS, DAYS, DECIMALS, INSTANTS, REALS, SINGLES, WRITTEN, fitting, occupied
from every_type import WHOLES

from contracts.long_forms import slow
from dxprivacy.engines import open_source
from dxprivacy.universe.universe import Universe
from engines.engine_kinds import from_arrow

KINDS = {
    "text": (pa.string(), WRITTEN),
    "int16": (pa.int16(), [w for w in WHOLES if abs(w) < 2**15]),
    "int64": (pa.int64(), [w for w in WHOLES if -(2**63) <= w < 2**63]),
    "decimal": (pa.decimal128(38, 10), DECIMALS),
    "double": (pa.float64(), REALS),
    "float": (pa.float32(), [np.float32(x) for x in SINGLES]),
    "truth": (pa.bool_(), [True, False]),
    "date": (pa.date32(), DAYS),
    "clock": (pa.timestamp("us"), CLOCKS),
    "instant": (pa.timestamp("us", "UTC"), INSTANTS),
}
HERE = ["arrow", "parquet", "duckdb", "polars", "pandas"]


def random_table(rng):
    """Two columns of one type, and the same with one row changed."""
    declared, pool = KINDS[rng.choice(list(KINDS))]
    rows = [[rng.choice([*pool, None]) for _ in range(2)] for _ in range(rng.choice([1, 2, 30, 60]))]
    other = [[rng.choice([*pool, None]) for _ in range(2)], *rows[1:]]
    return [_of(declared, t) for t in (rows, other)]


def _of(declared, rows):
    columns = zip(("x", "x2"), zip(*rows, strict=True), strict=True)
    return pa.table({name: pa.array(list(column), declared) for name, column in columns})


def check(seed, engines, folder):
    rng = random.Random(seed)
    before, after = random_table(rng)
    attributes = fitting(open_source(before))
    universe = Universe(rng.sample(attributes, min(len(attributes), rng.choice([1, 2, 5, 30]))))
    (folder / str(seed)).mkdir()
    counted = {}
    for kind in engines:
        pair = []
        for k, table in enumerate((before, after)):
            place = folder / str(seed) / f"{kind}{k}"
            place.mkdir()
            source = open_source(from_arrow(kind, table, place))
            fit = {a.name for a in fitting(source)}  # of a pandas column of objects, every attribute fits
            assert fit >= {a.name for a in attributes}, kind
            assert kind == "pandas" or len(fit) == len(attributes), kind
            pair.append(occupied(source.count(universe)))
        pair[0].subtract(pair[1])
        assert sorted(n for n in pair[0].values() if n) in ([], [-1, 1]), kind
        counted[kind] = ({c: n for c, n in pair[0].items() if n}, pair[1])
    first = counted[engines[0]]
    for kind, found in counted.items():
        assert found == first, (seed, kind)


@pytest.mark.parametrize(("start", "number"), [(1, 1), *(slow(start, 10) for start in range(0, 40, 10))])
def test_random_tables_mean_the_same_here_and_on_a_server(start, number, tmp_path):
    for seed in range(start, start + number):
        check(seed, [HERE[seed % len(HERE)], "postgres"], tmp_path)


@pytest.mark.spark
def test_random_tables_mean_the_same_in_spark(tmp_path):
    for seed in range(12):
        check(seed, ["arrow", "spark"], tmp_path)


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.parametrize("start", range(1000, 1500, 20))
def test_five_hundred_random_tables_mean_the_same_everywhere(start, tmp_path):
    for seed in range(start, start + 20):
        check(seed, [*HERE, "postgres", "spark"], tmp_path)
