"""What a session's settings may not decide: how old days are read, and which files are left out.

Of files they are set by options of the reader.  Of a table or a frame they are only looked at: where one entry could
stop a count, or take other rows out of it, the data is refused.  Settings are public, and no row is read.
"""

import re
from typing import Any

from dxprivacy.errors import DataError

# Options of the reader of files, whatever the session says.
PINNED = {
    "recursiveFileLookup": "true",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
_ANYWHERE = {"spark.sql.parquet.int96TimestampConversion": "false"}  # has no option
_UNPINNED = _ANYWHERE | {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.files.ignoreCorruptFiles": "false",
    "spark.files.ignoreMissingFiles": "false",
}
_CORE = "spark.files."  # known to a session only where somebody set them
_CLOCKS = "spark.sql.parquet.inferTimestampNTZ.enabled"
_CONVERTED = {
    "spark.sql.hive.convertMetastoreParquet": "true",
    "spark.sql.hive.convertMetastoreOrc": "true",
}
_WHY = "With it, one entry or file could stop a count, take others out of it, or mean another day."


def require_settings(session: Any, name: str) -> None:
    """Refuse a session that reads tables in a way which a row's content decides."""
    _require(session, name, _UNPINNED)


def require_settings_of_files(session: Any, name: str, *, has_instants: bool) -> None:
    """Refuse what options of the reader do not set; without the last one, clocks are taken for instants."""
    _require(session, name, _ANYWHERE | ({_CLOCKS: "true"} if has_instants else {}))


def require_own_reader(session: Any, name: str) -> None:
    """Refuse a session that has Hive read Parquet and ORC: each partition in its own format, lines among them."""
    _require(session, name, _CONVERTED)


def require_options(name: str, properties: str) -> None:
    """Refuse a table that was made with options which weigh more than the session's settings."""
    for option, wanted in PINNED.items():
        for found in re.findall(rf"\b{option}=([^,\]]*)", properties, re.IGNORECASE):
            if option != "recursiveFileLookup" and found.strip().lower() != wanted.lower():
                hints = [(f"{option} = {wanted}", "in the options of the table, or give its files as spark:/path")]
                raise DataError(f"the table has an option {option}", where=name, details=[_WHY], hints=hints)


def _require(session: Any, name: str, wanted: dict[str, str]) -> None:
    for key, value in wanted.items():
        found = _setting(session, key)
        if found.lower() != value.lower():
            hints = [(f"{key} = {value}", "in the session's configuration")]
            told = found if re.fullmatch(r"\w{1,20}", found) else "not known"
            raise DataError(f"Spark's setting {key} is {told}", where=name, details=[_WHY], hints=hints)


def _setting(session: Any, key: str) -> str:
    if key.startswith(_CORE):
        return str(session.conf.get(key, "false"))
    try:
        return str(session.conf.get(key))
    except Exception as error:
        lost = type(error).__name__ in ("SparkConnectGrpcException", "_InactiveRpcError", "Py4JNetworkError")
        if lost:
            raise
        return ""
