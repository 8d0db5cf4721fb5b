"""Whose row it is, for keys of every odd type on every kind of source: a function of that row alone."""

import random
import zipfile
from collections import Counter
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from odd_keys import BIG, BLOCKS, KEYS, ODD_KEYS, SOURCES, by_hand, held, multisets, part, person

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from dxprivacy.cli import main
from dxprivacy.engines import open_source
from dxprivacy.engines.beside_people import BesidePeople, whose_rows
from dxprivacy.engines.contribution_bounding import MISSING_KEY, UNUSABLE, key_part
from dxprivacy.engines.files.line_files import LONGEST_LINE
from engines.workbooks import workbook

AT_MOST = 2


@cache
def policy_of(key, no_key="one", max_rows=AT_MOST):
    columns = ", ".join(f'"{column}"' for column in key)
    return dx.Policy.parse(
        f'title = "T"\ndataset = "t"\n[people]\nkey = [{columns}]\nmax_rows = {max_rows}\nno_key = "{no_key}"\n'
        '[attributes.a]\nvalues = ["x", "y"]\nepsilon = 1.0\n'
    )


def counted(source, policy):
    """Kept rows by cell, and the number of people, as a source tells them."""
    source.check(policy.universe)
    kept = source.kept(policy.universe, (0,)).histogram(policy.universe.onto((0,))).over((0,))
    return Counter(dict(zip(kept.along(0).tolist(), kept.counts.tolist(), strict=True))), source.people(policy.universe)


class Table:
    """People by blocks of rows: block b has a multiset of cells, and entry b of every key column."""

    def __init__(self, blocks, replaced=None):
        order = [(b if b != replaced else BLOCKS, cell) for b, cells in enumerate(blocks) for cell in cells]
        self.cells = [cell for _, cell in order]
        self.columns = {name: (kind, [pool[b] for b, _ in order]) for name, (kind, pool) in ODD_KEYS.items()}
        self.columns["a"] = (pa.string(), [("x", "y", "?")[cell] for cell in self.cells])

    def expected(self, key, source, no_key):
        read = [[part(x, source, self.columns[c][0]) for x in self.columns[c][1]] for c in key]
        whose = [person(list(parts), no_key, row) for row, parts in enumerate(zip(*read, strict=True))]
        return by_hand(whose, self.cells, AT_MOST, no_key)


def compare(seed, source, folder, keys):
    """A table and a neighbor of it, both by hand; one replaced person changes no more than the rows that count."""
    rng = random.Random(seed)
    some = multisets(3, AT_MOST + 1)
    for _ in range(seed * BLOCKS):
        next(some)
    blocks = [next(some) for _ in range(BLOCKS)]
    block = rng.randrange(BLOCKS)
    blocks[block] = blocks[block] or (0,)
    other = [next(some) or (1,) if b == block else cells for b, cells in enumerate(blocks)]
    tables = [Table(blocks), Table(other, block)]
    data = [open_source(held(source, table.columns, folder)) for table in tables]
    no_key = rng.choice(["one", "own"])
    for key in keys:
        policy = policy_of(key, no_key)
        (one, n), (two, m) = (counted(each, policy) for each in data)
        for found, table in (((one, n), tables[0]), ((two, m), tables[1])):
            assert found == table.expected(key, source, no_key), (key, source, no_key)
        if _is_one_person(key, source, block) and _is_one_person(key, source, BLOCKS):
            assert n == m
            assert max((one - two).total(), (two - one).total()) <= AT_MOST


def _is_one_person(key, source, block):
    """Whether nobody else in either table has the key of a block, and it is one."""
    every = list(zip(*([part(x, source, ODD_KEYS[c][0]) for x in ODD_KEYS[c][1]] for c in key), strict=True))
    return every.count(every[block]) == 1 and not {None, UNUSABLE} & set(every[block])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("seed", mostly_slow(range(20), [2]))
def test_keys_of_odd_types_are_read_alike_by_every_source(seed, source, tmp_path):
    compare(seed, source, tmp_path, KEYS[seed % 3 :: 3])


@pytest.mark.soak
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("seed", range(500))
def test_keys_of_odd_types_are_read_alike_by_every_source_on_many_tables(seed, source, tmp_path):
    compare(seed, source, tmp_path, KEYS)


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(6))
def test_keys_of_odd_types_are_read_alike_by_spark(seed, tmp_path):
    compare(seed, "spark", tmp_path, KEYS[seed::6])


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(20))
def test_keys_of_odd_types_are_read_alike_by_spark_on_many_tables(seed, tmp_path):
    compare(seed, "spark", tmp_path, KEYS)


# -- what was broken ---------------------------------------------------------------------------------------------------


def loss(one, two):
    """What a release of `count by a` at scale 1 tells of a replaced person, in rows that count."""
    return max((one - two).total(), (two - one).total())


@pytest.mark.parametrize("no_key", ["one", "own"])
@pytest.mark.parametrize("source", ["parquet", "duckdb", "polars", "pandas", "objects", "nullable", "postgres"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(6, 1)])
def test_a_person_with_a_fractional_key_has_no_more_than_the_rows_that_count(kind, source, no_key, tmp_path):
    """A key of 101.1 was no key, so that under "own" each of its five rows was a person."""
    policy, told = policy_of(("who",), no_key, max_rows=1), []
    for a in ("x", "y"):
        entries = [101.1] * 5 + [float(k) for k in range(9)]
        who = entries if kind == pa.float64() else [Decimal(str(x)) for x in entries]
        data = held(source, {"who": (kind, who), "a": (pa.string(), [a] * 5 + ["x"] * 9)}, tmp_path)
        told.append(counted(open_source(data), policy))
    (one, n), (two, m) = told
    assert loss(one, two) == 1
    assert n == m == 10


@pytest.mark.parametrize("no_key", ["one", "own"])
@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.astype(object), lambda x: x.astype("category")])
def test_a_missing_key_does_not_change_whose_the_other_rows_are(make, no_key):
    """One row without a key made floats of all keys, and those beyond 2^53 rounded together."""
    policy, ids = policy_of(("who",), no_key, max_rows=2), [BIG + k for k in range(81) for _ in range(2)]
    told = []
    for last in ([5, 5], [None, None], ["?", "?"]):
        frame = pd.DataFrame({"who": [*ids, *last], "a": ["x", "y"] * 82})
        told.append(counted(open_source(frame.assign(who=make(frame["who"]))), policy))
    assert all(loss(told[0][0], found) <= 2 for found, _ in told)
    assert told[0] == told[2]
    assert told[1][1] == (1 if no_key == "one" else 3)  # the person of all large ids, and each row without a key


@pytest.mark.parametrize("first", [1, 0.5, BIG])
def test_a_complex_entry_of_a_category_does_not_change_whose_the_other_rows_are(first):
    """One complex entry made complex numbers of all categories, and so unusable keys of all of them."""
    told = []
    for last in (first, 1j):
        who = pd.Categorical([first, 2, 3, 4, 5, last])
        frame = pd.DataFrame({"who": who, "a": ["x", "y"] * 3})
        told.append(counted(open_source(frame), policy_of(("who",))))
    assert loss(told[0][0], told[1][0]) <= 1
    assert told[0][1] == told[1][1] == (6 if first == 1 else 5)


def test_nullable_integers_are_read_in_full():
    policy, ids = policy_of(("who",), "one"), [BIG + k for k in range(80)]
    frame = pd.DataFrame({"who": pd.array([*ids, None], dtype="Int64"), "a": ["x"] * 81})
    assert counted(open_source(frame), policy)[1] == 81
    assert counted(open_source(frame.astype({"who": "string"})), policy)[1] == 81


def test_a_missing_key_in_the_table_of_people_does_not_change_whose_entries_the_others_are(tmp_path):
    text = (
        'title = "T"\ndataset = "t"\n[people]\nkey = "who"\nmax_rows = 1\n[people.table]\ndata = "p.csv"\nkey = "id"\n'
        '[attributes.sex]\nfrom = "person"\nvalues = ["F", "M"]\nepsilon = 1.0\n'
        '[attributes.a]\nvalues = ["x", "y"]\nepsilon = 1.0\n'
    )
    policy, ids = dx.Policy.parse(text), [BIG + k for k in range(40)]
    told = []
    for who, last in ((ids[-1], "M"), (None, "M")):
        rows = pd.DataFrame({"who": pd.array(ids, dtype="Int64"), "a": ["x"] * 40})
        people = pd.DataFrame({"id": [*ids[:-1], who], "sex": [*["F", "M"] * 19, "F", last]})
        source = BesidePeople(open_source(rows), open_source(people))
        kept = source.kept(policy.universe, (0,)).histogram(policy.universe.onto((0,))).over((0,))
        told.append(Counter(dict(zip(kept.along(0).tolist(), kept.counts.tolist(), strict=True))))
    assert loss(*told) <= 1


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.astype(object), lambda x: x.astype("category")])
def test_a_missing_entry_does_not_change_which_value_the_others_are(make):
    """Whole numbers as `values`: one missing entry made floats of all, which rounded to another value."""
    listed = [BIG + 1, BIG + 2, BIG, 7]
    texts = ", ".join(f'"{x}"' for x in listed)
    policy = dx.Policy.parse(f'title = "T"\ndataset = "t"\n[attributes.a]\nvalues = [{texts}]\nepsilon = 1.0\n')
    told = []
    for last in (7, None, "?"):
        frame = pd.DataFrame({"a": [*listed * 5, last]})
        counts = open_source(frame.assign(a=make(frame["a"]))).count(policy.universe).over((0,))
        told.append(Counter(dict(zip(counts.along(0).tolist(), counts.counts.tolist(), strict=True))))
    assert all(loss(told[0], found) <= 1 for found in told)


class Odd:
    """An object that cannot even be asked for its class."""

    @property
    def __class__(self):
        raise ValueError


def test_whatever_an_object_does_it_is_at_most_unusable():
    missing = [None, "", float("nan"), np.float32("nan"), Decimal("NaN"), Decimal("sNaN"), pd.NA, pd.NaT]
    unusable = [
        Odd(),
        object(),
        "ä\ud800",
        "\ufffd",
        (1, 2),
        1j,
        Decimal("1e50"),
        Decimal("0.5"),
        np.float64("inf"),
        [1],
    ]
    usable = {np.int64(5): "5", np.uint64(2**63): str(2**63), 10**37: str(10**37)}
    assert {key_part(x) for x in missing} == {MISSING_KEY}
    assert {key_part(x) for x in unusable} == {UNUSABLE}
    assert {x: key_part(x) for x in usable} == usable
    frame = pd.DataFrame({"who": pd.Series(unusable, dtype=object), "a": ["x"] * len(unusable)})
    assert whose_rows(open_source(frame), policy_of(("who",)).universe).unusable == len(unusable)


def test_rows_with_an_unusable_key_are_reported_to_the_curator():
    frame = pd.DataFrame({"who": [1.0, 2.0, 2.0, 0.5, float("inf"), None], "a": ["x"] * 6})
    for no_key in ("one", "own"):
        found = whose_rows(open_source(frame), policy_of(("who",), no_key).universe)
        assert (found.people, found.without_key, found.unusable) == (2, 1, 2)


def test_json_entries_that_are_no_text_or_number_are_present(tmp_path):
    lines = ["[1]", "{}", "Infinity", "1e999", "9" * 500, "0.5", "null", "NaN", '""']
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"who": {entry}, "a": "x"}}\n' for entry in lines) + "not json\n")
    found = whose_rows(open_source(path), policy_of(("who",)).universe)
    assert (found.people, found.without_key, found.unusable) == (0, 3, 7)


UNREADABLE_LINES = {
    "t.jsonl": [
        '{"who": "p", "a": "x", "note": "' + "z" * LONGEST_LINE + '"}',
        '{"who": "p", "a": "x"',
        '{"who": 01, "a": "x"}',
        '["p", "x"]',
    ],
    "t.csv": ["z" * LONGEST_LINE + ",p,x", '"never closed,p,x'],
}


@pytest.mark.parametrize("no_key", ["one", "own"])
@pytest.mark.parametrize("name", UNREADABLE_LINES)
def test_lines_that_were_cut_or_cannot_be_read_belong_to_one_person(name, no_key, tmp_path):
    """One person may have written them all, so that the key which was lost must not make each a person."""
    policy = policy_of(("who",), no_key)
    for line in UNREADABLE_LINES[name]:
        path = tmp_path / name
        head = "note,who,a\n" if name == "t.csv" else ""
        path.write_text(head + f"{line}\n" * 7)
        kept, people = counted(open_source(path), policy)
        assert (sum(kept.values()), people) == (AT_MOST, 1)


def test_lines_without_an_entry_have_no_key(tmp_path):
    (tmp_path / "t.jsonl").write_text('\nnull\n{"a": "x"}\n')
    (tmp_path / "t.csv").write_text("note,who,a\n\nz\nz,,x\n")
    for name in ("t.jsonl", "t.csv"):
        found = whose_rows(open_source(tmp_path / name), policy_of(("who",)).universe)
        assert (found.people, found.without_key, found.unusable) == (0, 3, 0)


def test_error_values_of_a_sheet_are_unusable_keys(tmp_path):
    path = workbook(tmp_path / "t.xlsx", people=[("who", "a"), (1, "x"), ("1e999", "x"), (None, "x"), ("b", "x")])
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b'<c t="inlineStr"><is><t xml:space="preserve">b<', b'<c t="e"><is><t>b<')
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            book.writestr(name, part)
    found = whose_rows(open_source(path), policy_of(("who",)).universe)
    assert (found.people, found.without_key, found.unusable) == (2, 1, 1)


def test_equal_numbers_of_json_are_read_by_their_own_type(tmp_path):
    """2^53 is a key and 2.0^53 is not, whichever stands first."""
    for order in (["9007199254740992", "9007199254740992.0"], ["9007199254740992.0", "9007199254740992"]):
        path = tmp_path / "t.jsonl"
        path.write_text("".join(f'{{"who": {entry}, "a": "x"}}\n' for entry in order))
        assert whose_rows(open_source(path), policy_of(("who",)).universe).unusable == 1


def test_check_says_what_a_key_column_of_numbers_means(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head = 'title = "T"\ndataset = "t"\n[people]\nkey = "who"\nmax_rows = 1\n'
    people = '[people.table]\ndata = "p.parquet"\nkey = "id"\n'
    people += '[attributes.s]\nfrom = "person"\nvalues = ["F"]\nepsilon = 1.0\n'
    (tmp_path / "policy.toml").write_text(head + people + '[attributes.a]\nvalues = ["x", "y"]\nepsilon = 1.0\n')
    pd.DataFrame({"id": [1.0, None], "s": ["F", "F"]}).to_parquet("p.parquet")
    for who, noted in ([1, 2], False), ([1.5, 2.0], True), ([Decimal("1.5"), Decimal(2)], True), (["a", "b"], False):
        pd.DataFrame({"who": who, "a": ["x", "y"]}).to_parquet("d.parquet")
        monkeypatch.setattr("sys.argv", ["dxp", "check", "policy.toml", "--data", "d.parquet"])
        with pytest.raises(SystemExit):
            main()
        told = " ".join(capsys.readouterr().out.split())
        assert ("key column who holds" in told) is noted
        assert "key column id holds floating-point numbers: whole numbers below 2^53 are keys" in told


def test_keys_that_are_not_utf_8_are_one_person(tmp_path):
    """Each was its bytes in Arrow, and U+FFFD in files, where different people became one and nobody was told."""
    keys = [b"M\xfcller", b"M\xf6ller", b"z", b"M\xfcller"]
    ends = np.cumsum([0, *map(len, keys)]).astype(np.int32)
    who = pa.Array.from_buffers(pa.string(), len(keys), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(keys))])
    table = pa.table({"who": who, "a": ["x"] * len(keys)})
    (tmp_path / "t.csv").write_bytes(b"who,a\n" + b"".join(key + b",x\n" for key in keys))
    (tmp_path / "t.jsonl").write_bytes(b"".join(b'{"who": "' + key + b'", "a": "x"}\n' for key in keys))
    entries = [key.decode(errors="surrogateescape") for key in keys]
    frame = pd.DataFrame({"who": pd.Series(entries, dtype=object), "a": ["x"] * len(keys)})
    for data in (table, frame, *(tmp_path / f"t.{kind}" for kind in ("csv", "jsonl"))):
        for no_key in ("one", "own"):
            found = whose_rows(open_source(data), policy_of(("who",), no_key).universe)
            assert (found.people, found.without_key, found.unusable) == (1, 0, 3), data
            assert open_source(data).people(policy_of(("who",), no_key).universe) == 2


def test_a_session_says_what_keys_mean_that_pandas_inferred(tmp_path, caplog):
    frame = pd.DataFrame({"who": [2**60 + k for k in range(9)], "a": ["x"] * 9})
    for given, said in ((frame, True), (frame.astype({"who": "string"}), False)):
        dx.Session(policy_of(("who",)), given, ledger=tmp_path / "l.db", new_ledger=True)
        told = caplog.text
        caplog.clear()
        assert ("key column who" in told) is said
        assert ('dtype={"who": "Int64"}: converting it afterwards keeps what was rounded' in told) is said


def test_short_floats_are_read_as_keys_and_as_numbers():
    frame = pd.DataFrame({"who": np.array([1, 2, 2, 0.5], dtype=np.float16), "a": ["x"] * 4})
    found = whose_rows(open_source(frame), policy_of(("who",)).universe)
    assert (found.people, found.without_key, found.unusable) == (2, 0, 1)
