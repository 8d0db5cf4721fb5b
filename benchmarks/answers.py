"""Ten thousand answers at once: planned, released and verified."""

import tempfile
from pathlib import Path

from benchmarks.commands import judged, took
from benchmarks.figures import Figure

LIMIT = 5
QUERY = "count by a, b"


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="dxprivacy-bench-") as here:
        folder = Path(here)
        policy, data = _write(folder)
        plan, ledger = folder / "plan.json", folder / "ledger.db"
        chosen = ("--data", data, "--policy", policy, "--ledger", ledger, "--new-ledger", "--anyway", "--out", folder)
        commands = (
            ("plan", lambda: ("plan", policy, QUERY, "--n-records", "100000", "--out", plan)),
            ("release", lambda: ("release", plan, *chosen)),
            ("verify", lambda: ("verify", next(folder.glob("release-*.json")), "--ledger", ledger)),
        )
        figures: list[Figure] = []
        for name, command in commands:
            done = took(*command(), patience=12 * LIMIT)
            figures += judged(f"10,000 answers: {name}", done, LIMIT)
            if done.seconds is None:
                break
            figures.append(Figure(f"10,000 answers: {name}, peak memory", done.megabytes, None, None, unit="MB"))
        return figures


def _write(folder: Path) -> tuple[Path, Path]:
    """Two attributes of a hundred values, `other` among them."""
    import duckdb

    values = ", ".join(f'"{k}"' for k in range(99))
    lines = [f"[attributes.{name}]\nvalues = [{values}]\nepsilon = 1.0\n" for name in "ab"]
    policy, data = folder / "policy.toml", folder / "people.parquet"
    policy.write_text('title = "t"\ndataset = "t"\n' + "".join(lines))
    query = "SELECT CAST(hash(i) % 99 AS VARCHAR) AS a, CAST(hash(i + 7) % 99 AS VARCHAR) AS b FROM range(100000) t(i)"
    with duckdb.connect() as con:
        con.execute(f"COPY ({query}) TO '{data}' (FORMAT parquet)")
    return policy, data


if __name__ == "__main__":
    for figure in run():
        print(figure)
