"""Counting a Parquet file against the plain GROUP BY that any engine needs: what our domain, checks and rules cost.

Run by itself with `python -m benchmarks.histogram [rows]`.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

ROWS = 10_000_000
CSV_ROWS = 1_000_000
REPEATS = 5

UNIVERSE = Universe(
    [
        Values(name="sex", values=("M", "F")),
        Integers(name="age", low=0, high=99),
        Values(name="region", values=tuple(f"region {k:02d}" for k in range(50))),
    ]
)
# As many different numbers as rows: placed before grouping, or ten million rows would be ten million groups.
INCOME = Universe([Numbers(name="income", low=0, high=200_000, step=1000)])
# A multiplicative hash in place of random(): the same file in every run, and no order to profit from.
MAKE = """
    SELECT CASE WHEN h % 2 = 0 THEN 'M' ELSE 'F' END AS sex,
           CAST(h // 2 % 100 AS INTEGER) AS age,
           printf('region %02d', h // 200 % 50) AS region{more}
    FROM (SELECT hash(i) // 1024 AS h FROM range({rows}) AS t(i))
"""


def run(rows: int = ROWS, *, repeats: int = REPEATS) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory(prefix="dxprivacy-bench-") as folder:
        path, lines = Path(folder) / "people.parquet", Path(folder) / "people.csv"
        csv_rows = min(rows, CSV_ROWS)
        with duckdb.connect() as con:
            more = ", h / 9007199254740992 * 100000 AS income"
            con.execute(f"COPY ({MAKE.format(rows=rows, more=more)}) TO '{path}' (FORMAT parquet)")
            con.execute(f"COPY ({MAKE.format(rows=csv_rows, more='')}) TO '{lines}' (FORMAT csv, HEADER)")

        def ours(file: Path, universe: Universe = UNIVERSE) -> None:
            open_source(file).count(universe)

        def peer(function: str, file: Path, columns: str = "sex, age, region") -> None:
            with duckdb.connect() as con:
                con.execute(f"SELECT {columns}, count(*) AS n FROM {function}('{file}') GROUP BY ALL").fetchnumpy()

        return [
            _compare(
                f"histogram of {rows:,} Parquet rows, against the bare GROUP BY",
                lambda: ours(path),
                lambda: peer("read_parquet", path),
                repeats,
                target="≤ 1.3",
            ),
            _compare(
                f"histogram of {rows:,} different numbers in cells, against grouping them by cell in floats",
                lambda: ours(path, INCOME),
                lambda: peer("read_parquet", path, "floor(income / 1000)"),
                repeats,
                target="≤ 3",
            ),
            _compare(
                f"histogram of {csv_rows:,} CSV rows, against DuckDB's sniffing reader",
                lambda: ours(lines),
                lambda: peer("read_csv", lines),
                repeats,
                target="none",
            ),
        ]


def _compare(
    what: str, ours: Callable[[], None], peer: Callable[[], None], repeats: int, *, target: str
) -> dict[str, object]:
    """Alternating runs, so that a slow minute of the machine hits both; the median of each."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for action, spent in zip((ours, peer), times, strict=True):
            start = time.perf_counter()
            action()
            spent.append(time.perf_counter() - start)
    ours_s, peer_s = (statistics.median(spent) for spent in times)
    return {"what": what, "ours_s": ours_s, "peer_s": peer_s, "ratio": ours_s / peer_s, "target": target}


if __name__ == "__main__":
    for row in run(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS):
        print(f"{row['what']}: {row['ours_s']:.3f} s, {row['peer_s']:.3f} s, {row['ratio']:.2f} ({row['target']})")
