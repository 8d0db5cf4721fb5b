"""Ledgers whose rows were written by somebody else, in good order: the ledger itself says what is wrong with them."""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from contracts.unused_ledger import unused_ledger
from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.history import body_of, cost_content
from dxprivacy.ledger.journal import Journal
from dxprivacy.ledger.ledger_budget import certified_budget
from dxprivacy.ledger.receipt import receipt
from ledger.journal_worker import BINDING, BODY, COST, accept, fill


@pytest.mark.parametrize(("parts", "sound"), [(10, True), (11, False), (15, False), (20, False)])
def test_a_ledger_in_which_more_was_reserved_than_the_policy_allows_is_not_verified(tmp_path, parts, sound):
    """Chain and witness are in order: they were written by a program that did not count."""
    d = dx.metrics.constant(3, "0.3")
    plan = standard_plan([[1, 0, 0]], d, budget="10%")
    with (
        Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("dxprivacy.ledger.ledger.require_budget", lambda *_: None)
        for k in range(parts):
            ledger.reserve(plan.cost, plan.queries, request=f"r{k}")
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        if sound:
            assert ledger.verify() == parts + 2
        else:
            with pytest.raises(LedgerError, match="more was spent than the policy allows"):
                ledger.verify()
        with pytest.raises(BudgetExceeded):
            ledger.reserve(plan.cost, plan.queries, request="one more")


@pytest.mark.parametrize("field", ["scales", "queries", "universe", "kind"])
def test_a_row_whose_content_is_not_what_was_reserved_is_never_skipped(tmp_path, field):
    """Written in good order by a program of somebody's own: less noise or other queries than its body stands for."""
    d = dx.metrics.constant(3, "0.3")
    plan = standard_plan([[1, 0, 0]], d, budget="10%")
    other = standard_plan([[1, 1, 0]], d, budget="10%")
    content = cost_content(plan.cost, plan.queries)
    changed = {
        "scales": [float(2 * s).hex() for s in plan.scales],
        "queries": other.queries.to_dict(),
        "universe": dx.metrics.constant(4, 1).universe.digest,
        "kind": "selection",
    }
    with unused_ledger(tmp_path / "l.db", d, dataset="p") as ledger:
        text = json.dumps({**content, field: changed[field], "budget": "1/10"}, sort_keys=True)
        ledger._journal.reserve("r", body_of(plan.cost, content), text, lambda rows: None)
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for call in (ledger.entries, ledger.verify, lambda: reserve(ledger, other)):
            with pytest.raises(LedgerError, match="never skipped" if field == "universe" else "it was edited"):
                call()


def reserve(ledger, plan):
    return ledger.reserve(plan.cost, plan.queries, request="next")


def edited(path, column, row):
    """Change one entry under whoever has the file open."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TRIGGER no_update")
        done = database.execute(f'UPDATE journal SET {column} = \'{{"answer": "other"}}\' WHERE seq = ?', (row,))
        assert done.rowcount == 1


@pytest.mark.parametrize("column", ["content", "hash"])
def test_an_answer_that_was_edited_under_an_open_journal_is_not_replayed(tmp_path, column):
    with Journal.open(tmp_path / "ledger.db", BINDING) as journal:
        fill(journal, ["a", "b"])
        assert journal.answered("a", BODY).content == '{"answer": "a"}'
        edited(tmp_path / "ledger.db", column, 3)
        with pytest.raises(LedgerError, match="row 3 was changed"):
            journal.answered("a", BODY)
        with pytest.raises(LedgerError, match="row 3 was changed"):
            journal.reserve("a", BODY, COST, accept)
        assert journal.answered("b", BODY).content == '{"answer": "b"}'


def test_every_line_of_the_witness_is_on_the_disk_before_anything_else_happens(tmp_path, monkeypatch):
    """Recorded system calls: what is written to the witness is followed by a sync of that very file."""
    calls, write, sync = [], os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda file, data: (calls.append(("write", _name(file))), write(file, data))[1])
    monkeypatch.setattr(os, "fsync", lambda file: (calls.append(("sync", _name(file))), sync(file))[1])
    with Journal.open(tmp_path / "ledger.db", BINDING) as journal:
        fill(journal, ["a", "b"])
    witness = [what for what, name in calls if name.endswith("ledger.db.witness")]
    assert witness == ["write", "sync"] * 5


def _name(file):
    return str(Path(f"/proc/self/fd/{file}").readlink())


def with_stored_budgets(path, d, plan, budget, count=3):
    """A ledger whose reserve rows state this budget, with chain and witness in order."""
    content = cost_content(plan.cost, plan.queries)
    with unused_ledger(path, d, dataset="p") as ledger:
        for k in range(count):
            text = json.dumps({**content, "budget": budget}, sort_keys=True)
            ledger._journal.reserve(f"r{k}", body_of(plan.cost, content), text, lambda rows: None)


@pytest.mark.parametrize("budget", ["1/1000", "0", "299999/1000000"])
def test_a_stored_budget_that_does_not_follow_from_its_entry_is_refused(tmp_path, budget):
    d = dx.metrics.constant(3, "0.3")
    plan = standard_plan([[1, 0, 0]], d, budget="30%")
    with_stored_budgets(tmp_path / "l.db", d, plan, budget)
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for call in (ledger.entries, ledger.verify, lambda: reserve(ledger, plan)):
            with pytest.raises(
                LedgerError, match=r"entry 1 \(row 3\): the stored budget does not follow from the entry"
            ):
                call()
        assert len(ledger._journal.reserved()) == 3
    with pytest.raises(LedgerError, match="does not follow"):
        receipt(tmp_path / "l.db", 1)
    for dry_run in (True, False):
        with pytest.raises(LedgerError, match="does not follow"):
            Ledger.adopting(tmp_path / "l.db", dx.metrics.constant(3, "0.6"), dataset="p", dry_run=dry_run, looser=True)


def test_a_share_carried_to_a_new_version_that_does_not_follow_is_refused(tmp_path):
    old, new = dx.metrics.constant(3, "0.3"), dx.metrics.constant(3, "0.6")
    plan = standard_plan([[1, 0, 0]], old, budget="30%")
    with (
        Ledger.open(tmp_path / "l.db", old, dataset="p", new_ledger=True) as ledger,
        pytest.MonkeyPatch.context() as patch,
    ):
        ledger.reserve(plan.cost, plan.queries, request="r")
        patch.setattr("dxprivacy.ledger.adoption.round_budget", lambda budget: budget / 1000)
        ledger.adopt(new, looser=True)
    with (
        Ledger.open(tmp_path / "l.db", new, dataset="p", new_ledger=True) as ledger,
        pytest.raises(LedgerError, match="not follow"),
    ):
        ledger.verify()


def test_an_entry_without_noise_that_no_policy_allows_is_refused_as_damage(tmp_path):
    d = dx.metrics.constant(3, "0.3")
    plan = standard_plan([[1, 0, 0]], d, budget="30%")
    exact = replace(plan, scales=(0.0,))
    with_stored_budgets(tmp_path / "l.db", d, exact, "3/10", count=1)
    with (
        Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger,
        pytest.raises(LedgerError, match="not follow"),
    ):
        ledger.verify()


def test_budgets_are_computed_once_for_equal_costs(tmp_path, monkeypatch):
    d = dx.metrics.constant(3, "0.3")
    plan = standard_plan([[1, 0, 0]], d, budget="1%")
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for k in range(20):
            ledger.reserve(plan.cost, plan.queries, request=f"r{k}")
    calls = []
    monkeypatch.setattr(
        "dxprivacy.ledger.ledger.certified_budget",
        lambda cost, metric: calls.append(1) or certified_budget(cost, metric),
    )
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        ledger.verify()
        ledger.verify()
    assert len(calls) == 1
