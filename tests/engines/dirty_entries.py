"""The dirtiest entries that we know, by type, and where each belongs: what all engines have to agree on."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
from every_type import ATTRIBUTES, FLOATS, TEXTS

from dxprivacy.engines.placing import PlacedBlock, PlacedSource
from dxprivacy.engines.source import Source
from dxprivacy.errors import DataError
from dxprivacy.histogram import Histogram
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.universe import Universe

_rng = random.Random(18)

# Texts that PostgreSQL or Spark read as numbers, days or times by themselves, and numbers at the ends of float64.
LENIENT = [
    "today", "now", "epoch", "yesterday", "infinity", "-infinity", "Infinity", "NaN", "0x1F", "0b101", "0o17", "1_000",
    "1d", "1f", "1D", "1L", "1e", "e1", "+", "-", ".", "1.e1", "$5", "5%", "(5)", "allballs", "24:00", "23:59:60",
    "2026-01-02 BC", "January 2, 2026", "20260102", "2026-1-2", "2026-001", "2026-W01", "02/01/2026", "J2461043",
    "0000-01-01", "-0001-01-01", "10000-01-01", "2026-01-02 10:00+14:59", "2026-01-02T10:00:00.123456789Z",
    "1e-400", "-1e-400", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623158e308",
    "1.7976931348623159e308", "0.000e999", "1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e401", "0e-999", "1e999",
    "." + "0" * 330 + "1", "1" + "0" * 309, "1" + "0" * 6000 + "e-999", "+.5", "5.", "-0.0", "-.0e5", "0" * 5000 + "1",
    "1" + ".000" * 16_000, "1.000" * 3, " 1", "1 ", "\t1", "1\n", "\n1", "1\r", "M\n", "M ", " M", "m",
    "M\u00a0", "\u00a0M",
    "M\u200b", "ｍ", "Ｍ", "M\u0301", "e\u0301te\u0301", "été", "ÉTÉ", "ß", "ss", "i", "ı", "TRUE", "True",
    "t", "true ",
]  # fmt: skip
_SOUND = [text.decode() for text in TEXTS if b"\0" not in text and text.decode("utf-8", "ignore").encode() == text]
_MARKS = "0123456789.,+-eE: TZMF\t\n٣é\u00a0'\\{}%$"
WRITTEN = [
    *_SOUND,
    *LENIENT,
    *("".join(_rng.choice(_MARKS) for _ in range(_rng.randrange(12))) for _ in range(800)),
]
DECIMALS = [
    Decimal(text)
    for text in (
        "0", "1", "-7", "1.50", "0.1", "0.30", "5", "5.0", "5.000001", "0.05", "1.0", "0.0000001", "-0.0000001",
        "0.0000000001", "12345678901234567890123", "9999999999999999999999999999.9999999999", "17.5", "-20",
    )
]  # fmt: skip
BEYOND = [
    Decimal(text)
    for text in (
        "1e50", "-1e50", "1e-50", "1e38", "9.99e37", "1e300", "1e308", "1.8e308", "1e-330", "1e400", "1e-400", "NaN",
        "Infinity", "-Infinity", "170141183460469231731687303715884105727", "1e24", "-1e24", "999999999999999999999999",
    )
]  # fmt: skip
REALS = [
    *FLOATS, float("nan"), float("inf"), -float("inf"), 1e-5, 0.3, 1e22, 1e23, 1e24, 1.7014118346046923e38, 2.0**64,
    12345678901234567890123.0, 2.0**63 + 2048, 2.2250738585072014e-308, 5e-324, -5e-324, 1e-310,
    *(_rng.uniform(-2, 2) for _ in range(100)), *(k / 10 for k in range(-20, 30)),
]  # fmt: skip
SINGLES = [float(np.float32(x)) for x in REALS if not 3.4e38 < abs(x) < float("inf")]
DAYS = [date(1, 1, 1), date(1, 1, 2), date(9999, 12, 31), date(1600, 6, 1), date(1582, 10, 4), date(1582, 10, 10)]
DAYS += [date(1582, 10, 15), date(1970, 1, 1), date(1969, 12, 31), date(1900, 2, 28), date(2000, 2, 29)]
DAYS += [date(2026, 1, 1) + timedelta(k) for k in range(-3, 5)]
CLOCKS = [datetime.combine(day, time(_rng.randrange(24), _rng.randrange(60), _rng.randrange(60))) for day in DAYS * 4]
CLOCKS += [datetime(1, 1, 1), datetime.max, datetime(1800, 1, 1), datetime(2199, 12, 31, 23, 59, 59, 999999)]
CLOCKS += [datetime(1969, 12, 28) + timedelta(minutes=_rng.randrange(9000)) for _ in range(100)]
CLOCKS += [
    datetime(2026, 3, 29, 2, 30),
    datetime(2026, 10, 25, 2, 30),
    datetime(2025, 3, 9, 2, 30),
]
INSTANTS = [clock.replace(tzinfo=UTC) for clock in CLOCKS if 1 < clock.year < 9999]
TIMES = [time(0), time(23, 59, 59, 999999), time(12, 30), *(time(_rng.randrange(24), 59, 59) for _ in range(20))]


class ByPython(PlacedSource):
    """Entries of one column, read one by one: the reference."""

    name = "entries"

    def __init__(self, entries: Sequence[object]) -> None:
        self._entries = list(entries)

    def columns(self) -> list:
        return []

    def check(self, universe: Universe) -> None:
        pass

    def rows(self) -> int:
        return len(self._entries)

    def blocks(self, universe: Universe) -> Iterator[PlacedBlock]:
        read = sum(len(attribute.reads) for attribute in universe.attributes)
        yield PlacedBlock(np.ones(len(self._entries), dtype=np.int64), [list(self._entries) for _ in range(read)])


def fitting(source: Source) -> list[Attribute]:
    """The attributes that a column `x` can be read as; all others are refused by the schema."""
    found = []
    for attribute in ATTRIBUTES.values():
        try:
            source.check(Universe([attribute]))
        except DataError:
            continue
        found.append(attribute)
    return found


def occupied(histogram: Histogram) -> Counter:
    """The cells that have rows."""
    axes = range(len(histogram.universe.shape))
    table = histogram.over(axes)
    cells = zip(*(table.along(axis).tolist() for axis in axes), strict=True)
    found = list(zip(cells, table.counts.tolist(), strict=True))
    assert len(dict(found)) == len(found)  # each cell once
    return Counter(dict(found))


def require_agreement(source: Source, entries: Sequence[object], at_least: int) -> None:
    """All attributes at once, so that every entry is looked at by itself, not only how many there are."""
    attributes = fitting(source)
    assert len(attributes) >= at_least
    universe = Universe(attributes)
    assert occupied(source.count(universe)) == occupied(ByPython(entries).count(universe))
