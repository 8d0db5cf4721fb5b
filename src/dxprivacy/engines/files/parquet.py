"""Writing a Parquet file, for the demo and for examples."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dxprivacy.errors import DataError


def write_parquet(path: Path, columns: Mapping[str, Any]) -> None:
    """Write named numpy arrays as one Parquet file."""
    import duckdb

    try:
        with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as database:
            database.register("table_", dict(columns))
            target = str(path).replace("'", "''")
            database.execute(f"COPY (SELECT * FROM table_) TO '{target}' (FORMAT parquet)")
    except (duckdb.Error, OSError):
        raise DataError("cannot be written", where=str(path)) from None
