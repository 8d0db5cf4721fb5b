"""Write Parquet files; convert kinds of attributes and encodings of text for the readers."""

import codecs
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, assert_never

from dxprivacy.errors import DataError
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.attribute_kinds import OURS, is_known
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.times import Times, Weekdays
from dxprivacy.universe.reading.codecs import (
    Coordinate,
    Days,
    DaysOfTheWeek,
    ListedTexts,
    NumbersInBins,
    TimesOfDay,
    WholeNumbers,
)
from dxprivacy.universe.universe import Universe


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


# -- Kinds of attributes of others, as our own kinds that read every entry alike: for the separate process -------------


def read_alike(universe: Universe, where: str) -> Universe:
    """Return a universe of our own kinds that maps every row alike; refuse unknown kinds."""
    if all(type(attribute) in OURS for attribute in universe.attributes):
        return universe
    return universe.like(_alike(a, where) for a in universe.attributes)


def _alike(attribute: Attribute, where: str) -> Attribute:
    if type(attribute) in OURS:
        return attribute
    if not is_known(attribute) or len(attribute.reads) > 1:
        raise DataError(f"attribute {attribute.name} is of a kind that cannot be counted yet", where=where)
    same: dict[str, Any] = {"name": attribute.name, "column": attribute.column, "has_other": attribute.has_other}
    match attribute.codec:
        case ListedTexts(texts, spelling):
            return Values(values=texts, spelling=spelling, **same)
        case WholeNumbers(low, high, clamp, written):
            return Integers(low=low, high=high, clamp=clamp, format=written, **same)
        case NumbersInBins(low, high, step, clamp, written):
            return Numbers(low=low, high=high, step=step, clamp=clamp, format=written, **same)
        case Days(first, last, zone, written, step, clamp):
            return Dates(first=first, last=last, timezone=zone, format=written, step=step, clamp=clamp, **same)
        case DaysOfTheWeek(zone, written):
            return Weekdays(timezone=zone, format=written, **same)
        case TimesOfDay(first_second, end, width, zone, written):
            return Times(low=first_second, high=end, step=width, timezone=zone, format=written, **same)
        case Coordinate():
            raise DataError(f"attribute {attribute.name} is of a kind that cannot be counted yet", where=where)
        case unknown:
            assert_never(unknown)


# -- Recoding to UTF-8 while bytes are read: all later steps see UTF-8 alone -------------------------------------------
# A bad byte becomes U+FFFD.  In every encoding that a policy may name, a line feed is a character of its own, so that
# one row never affects the next.


_CHUNK = 1 << 20


class _Recoded(io.RawIOBase):
    def __init__(self, handle: BinaryIO, codec: str) -> None:
        self._handle = handle
        self._decoder = codecs.getincrementaldecoder(codec)(errors="replace")
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: "memoryview | bytearray") -> int:  # type: ignore[override]
        while not self._ready:
            chunk = self._handle.read(_CHUNK)
            self._ready = memoryview(self._decoder.decode(chunk, final=not chunk).encode("utf-8"))
            if not chunk and not self._ready:
                return 0
        taken = self._ready[: len(into)]
        into[: len(taken)] = taken
        self._ready = self._ready[len(taken) :]
        return len(taken)

    def close(self) -> None:
        self._handle.close()
        super().close()


def recoded(handle: BinaryIO, codec: str) -> BinaryIO:
    """Recode a stream to UTF-8.

    >>> recoded(io.BytesIO("été\\n".encode("latin-1")), "latin-1").readline().decode()
    'été\\n'
    """
    return io.BufferedReader(_Recoded(handle, codec), _CHUNK)
