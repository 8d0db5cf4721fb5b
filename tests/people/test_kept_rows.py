"""Which rows are kept: the same on every source, whatever the order of the file, and by that person's rows alone."""

import random
from collections import Counter

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dxprivacy as dx
from contracts.long_forms import slow
from dxprivacy.engines import open_source
from dxprivacy.engines.contribution_bounding import EACH_THEIR_OWN, LONGEST_KEY, UNUSABLE
from dxprivacy.errors import DataError, PolicyError
from engines.engine_kinds import EVERY, build
from people.people_cases import kept_by_hand

WHO = ["p1", "p2", "p2 ", "P2", "ü9", "17", "", None, "x" * LONGEST_KEY, "x" * (LONGEST_KEY + 1)]


def policy_of(max_rows=3, *, key='"who"', no_key="one", more=""):
    return dx.Policy.parse(
        f'title = "T"\ndataset = "t"\n[people]\nkey = {key}\nmax_rows = {max_rows}\nno_key = "{no_key}"\n'
        f'[attributes.a]\nvalues = ["x", "y", "z"]\nepsilon = 1.0\n'
        f"[attributes.b]\nintegers = [0, 9]\nepsilon = 0.5\nper = 1\n{more}"
    )


def table(rows):
    who, a, b = (list(column) for column in zip(*rows, strict=True))
    return {"who": (pa.string(), who), "a": (pa.string(), a), "b": (pa.int64(), b)}


def invented(seed, rows=240):
    rng = random.Random(seed)
    a, b = ["x", "y", "z", "?", None], [0, 1, 9, 10, None]
    return [(rng.choice(WHO), rng.choice(a), rng.choice(b)) for _ in range(rows)]


def by_hand(rows, max_rows, no_key="one"):
    """Kept rows by (a, b), and the cells of every person."""
    people = {}
    for k, (who, a, b) in enumerate(rows):
        cell = ("xyz".find(a) if a and a in "xyz" else 3) * 11 + (b if b is not None and 0 <= b <= 9 else 10)
        if not who:
            mine = "" if no_key == "one" else ("own", k)
        else:
            mine = who if len(who) <= LONGEST_KEY else "" if no_key == "one" else UNUSABLE
        people.setdefault(mine, []).append(cell)
    kept = {
        who: kept_by_hand(who, cells, max_rows) if isinstance(who, str) else Counter(cells)
        for who, cells in people.items()
    }
    total = Counter()
    for cells in kept.values():
        total.update(cells)
    return kept, total


def found(source, policy):
    kept = source.kept(policy.universe, (0, 1))
    whole = kept.histogram(policy.universe.onto((0, 1))).over((0, 1))
    return Counter(dict(zip((whole.along(0) * 11 + whole.along(1)).tolist(), whole.counts.tolist(), strict=True)))


@pytest.mark.parametrize("no_key", ["one", "own"])
@pytest.mark.parametrize("kind", EVERY)
def test_every_source_keeps_the_same_rows(kind, no_key, tmp_path):
    policy = policy_of(no_key=no_key)
    rows = invented(1)
    want, total = by_hand(rows, 3, no_key)
    for order in (rows, rows[::-1], sorted(rows, key=str)):
        source = open_source(build(kind, table(order), tmp_path))
        source.check(policy.universe)
        assert found(source, policy) == total
        assert source.people(policy.universe) == len(want.keys() | {"" if no_key == "one" else UNUSABLE})
        by_a = source.kept(policy.universe, (0,)).histogram(policy.universe.onto((0,))).over((0,))
        assert Counter(dict(zip(by_a.along(0).tolist(), by_a.counts.tolist(), strict=True))) == Counter(
            {a: sum(n for c, n in total.items() if c // 11 == a) for a in range(4) if any(c // 11 == a for c in total)}
        )


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "jsonl", "duckdb", "postgres"])
@pytest.mark.parametrize("no_key", ["one", "own"])
def test_people_are_told_from_one_another_where_that_is_asked(kind, no_key, tmp_path):
    policy, rows = policy_of(2, no_key=no_key), invented(5, 90)
    want, _ = by_hand(rows, 2, no_key)
    kept = open_source(build(kind, table(rows), tmp_path)).kept(policy.universe, (0, 1), by_person=True)
    people = {}
    for who, cell, n in zip(kept.person.tolist(), kept.numbers[0].tolist(), kept.counts.tolist(), strict=True):
        if who == EACH_THEIR_OWN:
            for k in range(n):
                people["own", len(people), k] = Counter([cell])
        else:
            people.setdefault(who, Counter())[cell] += n
    order = str
    assert sorted((sorted(c.elements()) for c in people.values()), key=order) == sorted(
        (sorted(c.elements()) for c in want.values()), key=order
    )


def test_somebody_with_rows_in_several_files_is_one_person(tmp_path):
    policy, rows = policy_of(), invented(2)
    _, total = by_hand(rows, 3)
    parts = [build(kind, table(rows[k::3]), tmp_path) for k, kind in enumerate(("parquet", "csv", "pandas"))]
    source = open_source(parts)
    assert found(source, policy) == total
    assert source.people(policy.universe) == open_source(build("csv", table(rows), tmp_path)).people(policy.universe)


def test_another_persons_rows_change_nobody_elses(tmp_path):
    policy, rows = policy_of(2), invented(3)
    others = [row for row in rows if row[0] != "p1"]
    changed = [*others, *[("p1", "y", 5)] * 50, ("p1", "x", 1)]
    one, two = (found(open_source(build("parquet", table(r), tmp_path)), policy) for r in (rows, changed))
    moved = Counter(one)
    moved.subtract(two)
    assert sum(abs(n) for n in moved.values()) <= 2 * 2


def test_keys_may_be_whole_numbers_and_several_columns(tmp_path):
    rows = [(k % 5, k % 2, "xyz"[k % 3], k % 10) for k in range(60)]
    columns = list(zip(*rows, strict=True))
    whole = {
        "site": (pa.int32(), list(columns[0])),
        "nr": (pa.int64(), list(columns[1])),
        "a": (pa.string(), list(columns[2])),
        "b": (pa.int64(), list(columns[3])),
    }
    text = whole | {name: (pa.string(), [str(x) for x in whole[name][1]]) for name in ("site", "nr")}
    policy = policy_of(2, key='["site", "nr"]')
    told = []
    for kind, data in (("parquet", whole), ("csv", whole), ("parquet", text), ("arrow", text), ("pandas", whole)):
        source = open_source(build(kind, data, tmp_path))
        told.append(found(source, policy))
        assert source.people(policy.universe) == 11  # ten and the one without a key
    assert all(each == told[0] for each in told)
    want = Counter()
    for who in {row[:2] for row in rows}:
        mine = ["xyz".find(a) * 11 + b for *key, a, b in rows if tuple(key) == who]
        want.update(kept_by_hand("".join(f"{len(str(x))}:{x}" for x in who), mine, 2))
    assert told[0] == want
    missing = whole | {"nr": (pa.int64(), [None if n % 7 == 0 else n for n in range(60)])}
    nobody = policy_of(2, key='["site", "nr"]')
    source = open_source(build("parquet", missing, tmp_path))
    assert source.people(nobody.universe) == open_source(build("csv", missing, tmp_path)).people(nobody.universe)


def test_floating_point_keys_that_are_whole_are_whole_numbers(tmp_path):
    rows = [(float(k % 4), "x", 1) for k in range(20)]
    frame = pl.DataFrame(rows, schema=["who", "a", "b"], orient="row")
    text = frame.with_columns(pl.col("who").cast(pl.Int64).cast(pl.String))
    policy = policy_of(2)
    assert found(open_source(frame), policy) == found(open_source(text), policy)


@pytest.mark.parametrize(
    ("kind", "entries"),
    [(pa.bool_(), [True]), (pa.date32(), [None]), (pa.list_(pa.int64()), [[1]]), (pa.binary(), [b"x"])],
)
def test_keys_of_kinds_that_cannot_be_compared_are_refused_by_the_schema(kind, entries, tmp_path):
    data = {"who": (kind, entries), "a": (pa.string(), ["x"]), "b": (pa.int64(), [1])}
    for form in ("arrow", "parquet"):
        source = open_source(build(form, data, tmp_path))
        with pytest.raises(DataError, match="a key is text or whole numbers"):
            source.check(policy_of().universe)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_key_that_is_not_there_is_refused_before_anything_is_read(kind, tmp_path):
    data = build(kind, table(invented(1, 5)), tmp_path)
    with pytest.raises(DataError, match="no column “whom”"):
        dx.Session(policy_of(key='"whom"'), data, ledger=tmp_path / "l.db", new_ledger=True)
    assert not (tmp_path / "l.db").exists()


@pytest.mark.parametrize("rows", [20_000, slow(1_000_000)])
def test_a_million_rows_of_one_person_are_a_handful(rows, tmp_path):
    frame = pl.DataFrame({"who": ["p1"] * rows, "a": ["x", "y"] * (rows // 2), "b": np.arange(rows) % 10})
    policy = policy_of(3)
    got = found(open_source(frame), policy)
    assert got.total() == 3
    cells = [0 if k % 2 == 0 else 11 for k in range(rows)]
    cells = [cell + k % 10 for k, cell in enumerate(cells)]
    assert got == kept_by_hand("p1", cells, 3)


def test_an_attribute_may_not_read_the_key():
    with pytest.raises(PolicyError, match="reads who, which is the key of people"):
        policy_of(more='[attributes.who]\nvalues = ["p1"]\nepsilon = 1.0\n')


def test_a_universe_of_very_many_cells_is_kept_alike(tmp_path):
    more = "".join(f"[attributes.c{k}]\nintegers = [0, 999999]\nepsilon = 1.0\nper = 1\n" for k in range(5))
    policy = policy_of(2, more=more)
    assert policy.universe.is_wide
    rng = random.Random(7)
    rows = [(*row, *(rng.choice([5, 999_999, None]) for _ in range(5))) for row in invented(4, 80)]
    names = ["who", "a", "b", *(f"c{k}" for k in range(5))]
    data = {
        name: (pa.string() if name in ("who", "a") else pa.int64(), list(column))
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    told = [found(open_source(build(kind, data, tmp_path)), policy) for kind in ("csv", "parquet", "jsonl", "polars")]
    assert told[0].total() > 0
    assert all(each == told[0] for each in told)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "polars"])
def test_rare_values_are_not_favored_on_any_source(kind, tmp_path):
    """Of a hundred rows alike and one other, the other is kept as rarely as it is there."""
    rows = [(f"p{k}", "x", 1) for k in range(60) for _ in range(100)] + [(f"p{k}", "y", 2) for k in range(60)]
    _, total = by_hand(rows, 2)
    got = found(open_source(build(kind, table(rows), tmp_path)), policy_of(2))
    assert got == total
    assert got[1 * 11 + 2] <= 10


@pytest.mark.parametrize("kinds", [("csv",), ("parquet",), ("csv", "parquet")])
def test_the_person_without_a_usable_key_is_counted_even_if_there_is_none(kinds, tmp_path):
    rows = [(f"p{k % 7}", "x", 1) for k in range(20)]
    parts = [build(kind, table(rows[k :: len(kinds)]), tmp_path) for k, kind in enumerate(kinds)]
    assert open_source(parts).people(policy_of().universe) == 8
    assert open_source(parts).people(policy_of(no_key="own").universe) == 8
