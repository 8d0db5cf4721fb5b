"""People with several rows: keeping at most ten of each, against the GROUP BY by key and cell that any engine needs.

Run by itself with `python -m benchmarks.people [rows]`.
"""

import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks.histogram import MAKE, _compare
from dxprivacy.engines import open_source
from dxprivacy.universe.people import People
from dxprivacy.universe.universe import Universe

ROWS = 1_000_000
EACH = 10  # rows of a person on average, and as many are kept: half of the people have too many
REPEATS = 7
COLUMNS = "sex, age, region"


def run(rows: int = ROWS, *, repeats: int = REPEATS) -> list[dict[str, object]]:
    from benchmarks.histogram import UNIVERSE

    universe = Universe(UNIVERSE.attributes, people=People(("patient",), EACH))
    with tempfile.TemporaryDirectory(prefix="dxprivacy-bench-") as folder:
        path = Path(folder) / "visits.parquet"
        key = f", printf('patient %07d', h // 10000 % {max(rows // EACH, 1)}) AS patient"
        with duckdb.connect() as con:
            con.execute(f"COPY ({MAKE.format(rows=rows, more=key)}) TO '{path}' (FORMAT parquet)")
        source = open_source(path)  # the process that reads it is there already, as in a session

        def group_by() -> None:
            with duckdb.connect() as con:
                sql = f"SELECT patient, {COLUMNS}, count(*) AS n FROM read_parquet('{path}') GROUP BY ALL"
                con.execute(sql).fetchnumpy()

        what = f"{rows:,} rows of {rows // EACH:,} people"
        axes = tuple(range(len(universe.shape)))
        return [
            _compare(
                f"{what}: at most {EACH} rows of each, against GROUP BY key and cell",
                lambda: source.kept(universe, axes),
                group_by,
                repeats,
                target="≤ 1.5",
            ),
            _compare(
                f"{what}: how many people, against counting different keys",
                lambda: source.people(universe),
                lambda: _distinct(path),
                repeats,
                target="none",
            ),
        ]


def _distinct(path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"SELECT count(DISTINCT patient) FROM read_parquet('{path}')").fetchall()


if __name__ == "__main__":
    for row in run(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS):
        print(f"{row['what']}: {row['ours_s']:.3f} s, {row['peer_s']:.3f} s, {row['ratio']:.2f} ({row['target']})")
