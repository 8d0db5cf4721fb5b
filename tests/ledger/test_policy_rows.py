"""Policy rows: what a journal remembers of a policy comes back exactly, and what was edited is refused."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import astuple, replace

import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy.errors import LedgerError, UsageError
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.journal import Journal
from dxprivacy.ledger.receipt import export, from_lines, receipt, receipt_lines

TEXT = """
title = "People"
dataset = "people"
version = "{}"
[attributes.region]
values = [{}]
epsilon = {}
[attributes.age]
integers = [0, 4]
unit = "years"
epsilon = 0.5
per = 1
"""
OLD = dx.Policy.parse(TEXT.format(1, '"A", "B"', 1))
NEW = dx.Policy.parse(TEXT.format(2, '"B", "A", "C"', 2))


@pytest.fixture
def path(tmp_path):
    """A ledger with two versions: open, policy, reserve, finish, policy, reserve."""
    path = tmp_path / "ledger.db"
    with Ledger.open(path, OLD, new_ledger=True) as ledger:
        plan = standard_plan("count by region", OLD.metric, budget="50%")
        ledger.reserve(plan.cost, plan.queries, request="a")
        ledger.finish("a", '{"release": 1}')
        ledger.adopt(NEW, looser=True)
        plan = standard_plan("mean age by region within 2 years", NEW.metric, n_records=40, budget="50%")
        ledger.reserve(plan.cost, plan.queries, request="b")
    return path


def rewrite(path, change):
    """What someone can do who knows our format and owns both files: edit rows, then forge the chain and the witness."""
    with Journal.read(path) as journal:
        rows = change(journal.rows())
    for k, row in enumerate(rows):
        rows[k] = replace(row, previous=rows[k - 1].hash if k else "0" * 64)
        rows[k] = replace(rows[k], hash=rows[k].digest())
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TRIGGER no_delete")
        database.execute("DELETE FROM journal")
        database.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [astuple(r) for r in rows])
    path.with_name("ledger.db.witness").write_text("".join(f"{r.seq} {r.hash}\n" for r in rows))


def edited(seq, edit):
    def change(rows):
        content = json.loads(rows[seq - 1].content)
        edit(content)
        rows[seq - 1] = replace(rows[seq - 1], content=json.dumps(content))
        return rows

    return change


def test_a_forged_chain_that_changes_nothing_is_not_noticed(path):
    rewrite(path, edited(5, lambda content: None))  # so the refusals below are for what was edited
    with Ledger.open(path, NEW, new_ledger=True) as ledger:
        assert ledger.verify() == 6


@pytest.mark.parametrize("seq", [2, 5])
@pytest.mark.parametrize("column", ["kind", "request", "body", "content", "at", "previous", "hash"])
def test_an_edited_policy_row_is_refused_by_the_chain(path, seq, column):
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints=ON")
        database.execute("DROP TRIGGER no_update")
        database.execute(f"UPDATE journal SET {column} = {column} || ' ' WHERE seq = ?", [seq])
    for call in (
        lambda: Ledger.open(path, NEW, new_ledger=True),
        lambda: Ledger.adopting(path, OLD, looser=True),
        lambda: receipt(path, 1),
    ):
        with pytest.raises(LedgerError, match=f"row {seq}"):
            call()


def test_an_edited_policy_row_with_a_recomputed_chain_differs_from_the_witness(path):
    witness = path.with_name("ledger.db.witness")
    before = witness.read_text()
    rewrite(path, edited(5, lambda content: content["budgets"].update({"3": "0"})))
    witness.write_text(before)
    with pytest.raises(LedgerError, match="row 5 is not the row"):
        Ledger.open(path, NEW, new_ledger=True)


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c.pop("universe_spec"),
        lambda c: c.update(universe_spec=[]),
        lambda c: c.update(universe_spec="x"),
        lambda c: c["universe_spec"].reverse(),
        lambda c: c["universe_spec"][0]["values"].append("D"),
        lambda c: c["universe_spec"][0].update(kind="colors"),
        lambda c: c["universe_spec"][0].update(other="yes"),
        lambda c: c["universe_spec"][1].update(range=[0, 5]),
        lambda c: c["universe_spec"][1].update(range=[0]),
        lambda c: c["universe_spec"][1].update(unexpected=1),
        lambda c: c["universe_spec"][1].update(other_value="1/0"),
        lambda c: c.update(universe="0" * 64),
        lambda c: c.update(metric="0" * 64),
        lambda c: c.update(budgets={"x": "1"}),
        lambda c: c.update(budgets={"3": "much"}),
        lambda c: c.update(budgets={}),
        lambda c: c.update(recoded={"region": {}}),
        lambda c: c.update(recoded={"region": {"texts": {"A": ["Z"]}, "column": ""}}),
        lambda c: c.update(recoded=[]),
        lambda c: c.pop("title"),
    ],
)
def test_a_policy_row_that_makes_no_sense_is_refused_even_with_both_files_forged(path, edit):
    rewrite(path, edited(5, edit))
    with pytest.raises(LedgerError, match=r"row 5|another version"), Ledger.open(path, NEW, new_ledger=True) as ledger:
        ledger.entries()


def test_costs_without_a_policy_are_refused(path):
    rewrite(path, lambda rows: [replace(row, seq=k) for k, row in enumerate((rows[0], rows[2]), 1)])
    with pytest.raises(LedgerError, match="under which policy"):
        Ledger.open(path, NEW, new_ledger=True)
    with pytest.raises(LedgerError, match="under which policy"):
        receipt(path, 1)


def test_a_cost_moved_to_another_version_is_refused(path):
    def change(rows):
        one, two, three, four, five, six = rows
        return [replace(row, seq=k) for k, row in enumerate((one, two, five, three, four, six), 1)]

    rewrite(path, change)
    with Ledger.open(path, NEW, new_ledger=True) as ledger, pytest.raises(LedgerError, match="entry 1"):
        ledger.entries()


def test_a_cost_whose_queries_were_edited_is_refused_even_with_both_files_forged(path):
    rewrite(path, edited(6, lambda c: c["queries"][0].update(by=["age"])))
    with Ledger.open(path, NEW, new_ledger=True) as ledger, pytest.raises(LedgerError, match="entry 2"):
        ledger.entries()


# -- export and receipts -----------------------------------------------------------------------------------------------


def test_an_export_can_be_checked_by_anybody(path, tmp_path):
    done = export(path, tmp_path / "journal.jsonl")
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    head, *rows = [json.loads(line) for line in lines]
    assert head == {"format": "dxprivacy journal", "version": 1, "rows": 6, "head": done.head}
    previous = "0" * 64
    for row in rows:  # as the documentation says it, without our code
        fields = [row[k] for k in ("seq", "kind", "request", "body", "content", "at", "previous")]
        digest = hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()
        assert (row["hash"], row["previous"]) == (digest, previous)
        previous = digest
    assert previous == done.head
    assert [row["kind"] for row in rows] == ["open", "policy", "reserve", "finish", "policy", "reserve"]
    with Journal.read(path) as journal:
        assert from_lines(lines) == journal.rows()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[1:],
        lambda lines: lines[:-1],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [*lines[:3], lines[3].replace("region", "age"), *lines[4:]],
        lambda lines: [*lines[:-1], "{}"],
        lambda lines: [*lines, "no JSON"],
        lambda lines: [lines[0].replace('"version": 1', '"version": 2'), *lines[1:]],
        lambda lines: [],
    ],
)
def test_a_spoilt_export_is_noticed(path, tmp_path, spoil):
    export(path, tmp_path / "journal.jsonl")
    with pytest.raises(LedgerError):
        from_lines(spoil((tmp_path / "journal.jsonl").read_text().splitlines()))


def test_an_export_replaces_no_file_and_an_edited_ledger_is_not_exported(path, tmp_path):
    (tmp_path / "there").write_text("kept")
    with pytest.raises(UsageError, match="is there already"):
        export(path, tmp_path / "there")
    assert (tmp_path / "there").read_text() == "kept"
    with pytest.raises(UsageError, match="cannot write"):
        export(path, tmp_path / "no" / "folder")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TRIGGER no_update")
        database.execute("UPDATE journal SET content = '{}' WHERE seq = 3")
    with pytest.raises(LedgerError, match="row 3"):
        export(path, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(LedgerError):
        export(tmp_path / "none.db", tmp_path / "new")


def test_a_receipt_speaks_of_the_version_under_which_it_was_released(path):
    with Journal.read(path) as journal:
        rows = journal.rows()
    first, second = receipt(path, 1), receipt(path, 2)
    assert (first.policy, second.policy) == ("“People”, version 1", "“People”, version 2")
    assert (first.policy_digest, second.policy_digest) == (OLD.digest, NEW.digest)
    assert (first.row_hash, first.answer_hash, first.head_hash) == (rows[2].hash, rows[3].hash, rows[5].hash)
    assert (first.budget, first.released) == (pytest.approx(0.5), ("count by region",))
    assert first.worst_case_epsilon == pytest.approx(0.5)
    assert second.released == ("mean age by region within 2 years",)
    assert second.answer_hash is None
    text = "\n".join(receipt_lines(second, "ledger.db"))
    assert "never: the cost was reserved, nothing was released" in text
    assert rows[5].hash in text
    json.dumps(first.to_dict())


@pytest.mark.parametrize("entry", [0, -1, 3, 10**9])
def test_there_is_no_receipt_for_an_entry_that_is_not_there(path, entry):
    with pytest.raises(UsageError, match="the ledger has 2 releases"):
        receipt(path, entry)


def test_a_copied_ledger_is_adopted_without_its_old_policy_file(path, tmp_path):
    (tmp_path / "copy").mkdir()
    for name in ("ledger.db", "ledger.db.witness"):
        shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    third = dx.Policy.parse(TEXT.format(3, '"A", "B", "C", "D"', 3))
    assert len(Ledger.adopting(tmp_path / "copy" / "ledger.db", third, looser=True).entries) == 2
