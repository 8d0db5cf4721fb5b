"""Every entry that a PostgreSQL column can hold counts where Python's reader puts it, or the schema is refused."""

import random
from decimal import Decimal

import numpy as np
import psycopg
import pytest
from dirty_entries import (
    BEYOND,
    CLOCKS,
    DAYS,
    DECIMALS,
    INSTANTS,
    REALS,
    SINGLES,
    TIMES,
    WRITTEN,
    fitting,
    occupied,
    require_agreement,
)
from every_type import WHOLES

from contracts.long_forms import mostly_slow
from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from engines.servers import postgres

COLUMNS = {
    "text": (WRITTEN, 17),
    "varchar": (WRITTEN, 17),
    'text COLLATE "C"': (WRITTEN, 17),
    "int2": ([w for w in WHOLES if abs(w) < 2**15], 8),
    "int4": ([w for w in WHOLES if abs(w) < 2**31], 8),
    "int8": ([w for w in WHOLES if -(2**63) <= w < 2**63], 8),
    "numeric": ([*DECIMALS, *BEYOND], 8),
    "numeric(38, 10)": (DECIMALS, 8),
    "float8": (REALS, 8),
    "float4": ([np.float32(x) for x in SINGLES], 8),
    "bool": ([True, False], 1),
    "date": (DAYS, 11),
    "timestamp": (CLOCKS, 13),
    "timestamptz": (INSTANTS, 13),
    "time": (TIMES, 2),
}


def on_server(kind, entries):
    sent = [float(x) if isinstance(x, np.float32) else x for x in entries]
    return open_source(postgres().table({"x": (kind, sent), "x2": (kind, sent)}))


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_entry_counts_where_the_reader_of_python_puts_it(kind):
    entries, fit = COLUMNS[kind]
    entries = [*entries, None, None]
    require_agreement(on_server(kind, entries), entries, fit)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("date", ["infinity", "-infinity", "0044-03-15 BC", "4713-01-01 BC", "5874897-12-31"]),
        ("timestamp", ["infinity", "-infinity", "0001-12-31 23:59:59 BC", "294276-12-31 23:59:59.999999"]),
        ("timestamptz", ["infinity", "-infinity", "4713-01-01 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00"]),
        ("timetz", ["10:00:00+15:59", "23:59:59-15:59:59", "24:00:00+00"]),
        ("time", ["24:00:00"]),
    ],
)
def test_what_no_other_engine_can_hold_counts_as_other_or_as_its_clock_shows(kind, written):
    source = on_server(kind, written)
    for attribute in fitting(source):
        counts = source.count(Universe([attribute])).counts
        assert counts.sum() == len(written)
        if kind == "timetz" and attribute.name == "hours":
            assert counts[10] == counts[23] == counts[24] == 1  # 24:00 is no time of a day
        else:
            assert counts[-1] == len(written) or kind == "timetz"


def test_blanks_that_fill_up_a_char_are_no_part_of_its_entry():
    source = on_server("char(5)", ["M", "F", " M", "M F", None])
    counts = source.count(Universe([Values(name="x", values=("M", "F", " M"))])).counts
    assert counts.tolist() == [1, 1, 1, 2]


def test_texts_that_a_collation_calls_equal_are_told_apart():
    try:
        postgres().execute(
            "CREATE COLLATION IF NOT EXISTS anyhow (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this build of PostgreSQL has no ICU")
    source = on_server("text COLLATE anyhow", ["M", "m", "Ｍ", "été", "ete", "M"])
    counts = source.count(Universe([Values(name="x", values=("M", "m", "ete"))])).counts
    assert counts.tolist() == [2, 1, 1, 2]


def test_domains_and_enums_are_read_as_what_they_stand_for():
    postgres().execute(
        "DROP TABLE IF EXISTS stands_for",
        "DROP DOMAIN IF EXISTS older, grown, color_word",
        "DROP TYPE IF EXISTS color",
        "CREATE DOMAIN grown AS int CHECK (VALUE >= 18)",
        "CREATE DOMAIN older AS grown CHECK (VALUE >= 65)",
        "CREATE TYPE color AS ENUM ('red', 'Green', 'été')",
        "CREATE DOMAIN color_word AS color",
        "CREATE TABLE stands_for (age older, hue color, word color_word)",
        "INSERT INTO stands_for VALUES (65, 'red', 'été'), (70, 'Green', 'red'), (NULL, NULL, NULL)",
    )
    source = open_source(f"{postgres().uri}::stands_for")
    universe = Universe(
        [
            Integers(name="age", low=60, high=70),
            Values(name="hue", values=("red", "été")),
            Values(name="word", values=("été",)),
        ]
    )
    assert occupied(source.count(universe)) == {(5, 0, 0): 1, (10, 2, 1): 1, (11, 2, 1): 1}


@pytest.mark.parametrize(
    "kind",
    mostly_slow(
        ["int[]", "jsonb", "json", "uuid", "bytea", "interval", "inet", "money", "int4range", "point", "xml", "bit(3)",
         "tsvector", '"char"', "oid", "pg_lsn"], 4),
)  # fmt: skip
def test_types_that_we_do_not_read_are_refused_by_the_schema(kind):
    assert fitting(on_server(kind, [])) == []


# Not made small: each type is read under its own settings.
def test_settings_of_a_user_change_nothing():
    """Zones, styles, paths of names, digits of floats: a role may have its own."""
    server = postgres()
    server.execute(
        "DROP ROLE IF EXISTS peculiar",
        "CREATE ROLE peculiar LOGIN SUPERUSER",
        "ALTER ROLE peculiar SET TimeZone = 'Pacific/Apia'",
        "ALTER ROLE peculiar SET DateStyle = 'SQL, DMY'",
        "ALTER ROLE peculiar SET extra_float_digits = '-15'",
        "ALTER ROLE peculiar SET standard_conforming_strings = off",
        "ALTER ROLE peculiar SET search_path = strange, pg_catalog, public",
        "CREATE SCHEMA IF NOT EXISTS strange",
        "CREATE OR REPLACE FUNCTION strange.octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 0'",
        "CREATE OR REPLACE FUNCTION strange.floor(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 0::float8'",
    )
    for kind in ("text", "float8", "numeric", "timestamptz", "date"):
        entries = [*COLUMNS[kind][0], None]
        sent = postgres().table({"x": (kind, list(entries)), "x2": (kind, list(entries))})
        require_agreement(open_source(sent.replace("postgres@", "peculiar@")), entries, COLUMNS[kind][1])


@pytest.mark.parametrize("kind", mostly_slow(["float8", "text", "numeric", "timestamptz"], 1))
def test_one_changed_row_moves_one_unit_at_most(kind):
    rng, (entries, _) = random.Random(kind), COLUMNS[kind]
    for _ in range(3):
        before = [rng.choice(entries) for _ in range(20)]
        after = [rng.choice(entries), *before[1:]]
        one, other = on_server(kind, before), on_server(kind, after)
        universe = Universe(fitting(one))
        change = occupied(one.count(universe))
        change.subtract(occupied(other.count(universe)))
        assert sorted(n for n in change.values() if n) in ([], [-1, 1])


def test_a_number_of_a_hundred_thousand_digits_stops_nothing():
    many = [Decimal("9" * 100_000), Decimal("-" + "9" * 100_000), Decimal("0." + "0" * 16_000 + "1"), Decimal(1)]
    require_agreement(on_server("numeric", many), many, 8)
