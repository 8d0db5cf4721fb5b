"""What an attacker found in people with several rows, before anybody had it in a release."""

import gzip
from hashlib import md5

import polars as pl
import pyarrow as pa
import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from contracts.unused_ledger import unused_ledger
from dxprivacy.engines import open_source
from dxprivacy.errors import BudgetExceeded, DataError, NotCertified, PolicyError
from dxprivacy.ledger import Ledger
from dxprivacy.verify import verify
from engines.engine_kinds import build

POLICY = """
title = "T"
dataset = "t"
[people]
key = "who"
max_rows = 2
[attributes.a]
values = ["x", "y", "z"]
epsilon = 1.0
"""
COLLIDING = [
    "TEXTCOLLBYfGiJUETHQ4hAcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak",
    "TEXTCOLLBYfGiJUETHQ4hEcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak",
]


def written(rows, path):
    path.write_text("who,a\n" + "".join(f"{who},{a}\n" for who, a in rows))
    return path


@pytest.mark.parametrize("unit", ["", 'neighbors = "add-remove"\nepsilon_presence = 1\nmax_people = 100\n'])
@pytest.mark.parametrize("ending", mostly_slow(["csv", "jsonl", "parquet"], 1))
def test_files_without_rows_are_counted(unit, ending, tmp_path):
    policy = dx.Policy.parse(POLICY.replace("[people]", f"{unit}[people]", 1))
    some, none = tmp_path / f"some.{ending}", tmp_path / f"none.{ending}"
    for rows, path in (([("p1", "x"), ("p2", "y")], some), ([], none)):
        frame = pl.DataFrame(rows, schema={"who": pl.String, "a": pl.String}, orient="row")
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[ending](path)
    for k, data in enumerate(([none], [some, none], [none, some], none, [some])):
        with dx.Session(policy, data, ledger=tmp_path / f"{k}.db", new_ledger=True) as session:
            session.release(session.plan("count by a", "count people by a", budget="50%"), anyway=True)


def test_whoever_empties_a_file_is_not_told_by_an_error(tmp_path):
    policy = dx.Policy.parse(POLICY)
    worlds = [[("q", "x")], [("p", "y")]], [[("q", "x"), ("p", "y")], []]
    for k, (first, second) in enumerate(worlds):
        data = [written(first, tmp_path / f"a{k}.csv"), written(second, tmp_path / f"b{k}.csv")]
        with dx.Session(policy, data, ledger=tmp_path / f"{k}.db", new_ledger=True) as session:
            assert session.release(session.plan("count by a", budget="50%"), anyway=True).facts["people"] == 3


def test_nothing_is_recoded_under_people(tmp_path):
    text = POLICY.replace('dataset = "t"', 'dataset = "t"\nversion = "1"')
    unused_ledger(tmp_path / "l.db", dx.Policy.parse(text)).close()
    swapped = text.replace('version = "1"', 'version = "2"\nwas_version = "1"').replace(
        "epsilon = 1.0", 'was = { x = "y", y = "x" }\nepsilon = 1.0'
    )
    with (
        Ledger.open(tmp_path / "l.db", dx.Policy.parse(text)) as ledger,
        pytest.raises(PolicyError, match="entries cannot be recoded under"),
    ):
        ledger.adopt(dx.Policy.parse(swapped), looser=True)


def test_crumbs_of_a_budget_buy_nothing(tmp_path):
    data = written([("p", "x"), ("q", "y")], tmp_path / "d.csv")
    policy = dx.Policy.parse(POLICY)
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(session.plan("count people by a", budget="100%"), anyway=True)
        release.save(tmp_path / "r.json")
        for make in (
            lambda: session.plan_selection("most common a", budget="100%", inside_ledger=True),
            lambda: session.plan("count people", budget="100%", inside_ledger=True),
            lambda: session.plan("count by a", budget="100%", inside_ledger=True),
        ):
            with pytest.raises((BudgetExceeded, NotCertified)) as refused:
                make()
            assert "bug" not in str(refused.value)
    assert list(verify(tmp_path / "r.json", ledger=tmp_path / "l.db"))
    with dx.Session(policy, data, ledger=tmp_path / "rows.db", new_ledger=True) as session:
        session.release(session.plan("count by a", budget="100%"), anyway=True)
        with pytest.raises(BudgetExceeded, match="nothing left"):
            session.plan("count people", budget="100%", inside_ledger=True)


@pytest.mark.parametrize("unit", ["", 'neighbors = "add-remove"\nepsilon_presence = 1\nmax_people = 100\n'])
def test_reports_of_synthetic_rows_are_verified(unit, tmp_path):
    policy = dx.Policy.parse(POLICY.replace("[people]", f"{unit}[people]", 1))
    data = written([(f"p{k // 2}", "xyz"[k % 3]) for k in range(90)], tmp_path / "d.csv")
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        made = session.synthesize(session.plan_synthesis("count by a", budget="50%"))
        records = made.records.save(tmp_path / "s.csv")
        made.report.save(tmp_path / "report.json", records=records)
    assert list(verify(tmp_path / "report.json", ledger=tmp_path / "l.db"))


def test_two_keys_with_one_md5_are_two_people_in_every_source(tmp_path):
    assert len(set(COLLIDING)) == 2
    assert len({md5(key.encode()).digest() for key in COLLIDING}) == 1
    policy = dx.Policy.parse(POLICY.replace("max_rows = 2", "max_rows = 1"))
    columns = {"who": (pa.string(), COLLIDING), "a": (pa.string(), ["x", "y"])}
    for kinds in (("csv",), ("parquet",), ("csv", "parquet"), ("jsonl",)):
        n = len(kinds)
        halves = [{name: (kind, entries[k::n]) for name, (kind, entries) in columns.items()} for k in range(n)]
        source = open_source([build(kind, half, tmp_path) for kind, half in zip(kinds, halves, strict=True)])
        assert source.people(policy.universe) == 3
        assert source.kept(policy.universe, (0,)).counts.sum() == 2


def test_people_by_places_are_verified_in_seconds(tmp_path):
    rows = [f"p{k},{k % 40},{k // 40 * 1.3 + k % 7 / 9:.4f},{'ABC'[k % 3]}" for k in range(600)]
    (tmp_path / "places.csv").write_text("id,x,y,st\n" + "\n".join(rows) + "\n")
    text = POLICY.replace('values = ["x", "y", "z"]', 'points = "places.csv"\nper = 5')
    (tmp_path / "policy.toml").write_text(text)
    policy = dx.Policy.load(tmp_path / "policy.toml")
    dx.plan(["count people by a.st"], policy.metric, n_records=10, dataset="t", title="T").save(tmp_path / "plan.json")
    assert list(verify(tmp_path / "plan.json"))


@pytest.mark.parametrize("asked", ["count people by a, b where a=x", "count people by a where a=other"])
def test_groups_that_nobody_can_be_in_cost_nothing_and_are_verified(asked, tmp_path):
    more = '[attributes.b]\nvalues = ["u", "v"]\nepsilon = 1.0\n'
    plan = dx.plan([asked], dx.Policy.parse(POLICY + more).metric, n_records=10, budget="100%", dataset="t", title="T")
    assert {k for k, peak in enumerate(plan.workload.blocks[0].peak_of_row) if not peak} == {
        k for k, scale in enumerate(plan.scales) if scale == 0
    }
    plan.save(tmp_path / "plan.json")
    assert [check.name for check in verify(tmp_path / "plan.json")][-1] == "worst case"


def test_people_under_a_largest_of_attributes_are_refused_at_once_where_pairs_are_too_many():
    more = "".join(f"[attributes.n{k}]\nintegers = [0, 99]\nepsilon = 0.1\nper = 1\n" for k in range(2))
    policy = dx.Policy.parse(POLICY + more + '[combine]\nhow = "max"\n')
    with pytest.raises(NotCertified, match="too many pairs to check one by one"):
        dx.plan("count people by a", policy.metric, n_records=10)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_mark_before_a_record_is_dropped_wherever_it_stands(encoding, tmp_path):
    policy = POLICY.replace("max_rows = 2", "max_rows = 1").replace(
        "[people]", f'[file]\nheader = false\ncolumns = ["who", "a"]\nencoding = "{encoding}"\n[people]', 1
    )
    found = set()
    for k, rows in enumerate(
        (["\ufeffp1,x", "p1,y", "p2,z"], ["p1,y", "\ufeffp1,x", "p2,z"], ["p2,z", "p1,y", "p1,x"])
    ):
        path = tmp_path / f"{k}.csv"
        path.write_bytes("".join(f"{row}\n" for row in rows).encode(encoding))
        loaded = dx.Policy.parse(policy)
        source = open_source(path, file=loaded.universe.file)
        kept = source.kept(loaded.universe, [0])
        cells = sorted(zip(kept.numbers[0].tolist(), kept.counts.tolist(), strict=True))
        found.add((source.people(loaded.universe), tuple(cells)))
    assert len(found) == 1
    assert next(iter(found))[0] == 3  # two, and whoever has no key


def test_a_table_of_people_that_cannot_be_read_is_refused_before_anything_is_spent(tmp_path):
    (tmp_path / "policy.toml").write_text(
        POLICY + '[people.table]\ndata = "who.csv.gz"\n[attributes.b]\nfrom = "person"\nvalues = ["u"]\nepsilon = 1.0\n'
    )
    (tmp_path / "who.csv.gz").write_bytes(gzip.compress(b"who,b\n" + b"p1,u\n" * 5_000)[:-20])
    policy = dx.Policy.load(tmp_path / "policy.toml")
    rows = written([("p1", "x")], tmp_path / "rows.csv")
    with pytest.raises(DataError):
        dx.Session(policy, rows, ledger=tmp_path / "ledger.db", new_ledger=True).plan("count by a")
    assert (
        not (tmp_path / "ledger.db").exists()
        or not Ledger.open(tmp_path / "ledger.db", policy, new_ledger=True).entries()
    )
