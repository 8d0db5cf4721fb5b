"""What the journal guarantees when nothing goes wrong, and when the caller does."""

import json
import re
import sqlite3
import threading

import pytest

from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.ledger.journal import Journal, JournalRow, Replay
from ledger.journal_worker import BINDING, BODY, COST, accept, at_most, fill

OTHER_BODY = "cd" * 32


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def forbidden(reserved):
    pytest.fail("nothing is to be decided here")


def test_a_request_is_reserved_then_finished_and_both_are_on_record(path):
    with Journal.open(path, BINDING) as journal:
        reserved = journal.reserve("first", BODY, COST, accept)
        finished = journal.finish("first", '{"answer": 7}')
        assert isinstance(reserved, JournalRow)
        assert [row.kind for row in journal.rows()] == ["open", "reserve", "finish"]
        assert journal.rows()[1:] == [reserved, finished]
        assert (reserved.content, finished.content) == (COST, '{"answer": 7}')
        assert finished.body == BODY
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", reserved.at)
        assert journal.verify() == 3


def test_the_record_is_there_when_the_file_is_opened_again(path):
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a", "b"])
        rows = journal.rows()
    with Journal.open(path, BINDING) as journal:
        assert journal.rows() == rows
        assert journal.verify() == 5


def test_the_first_row_holds_the_whole_binding_and_later_bindings_do_not_replace_it(path):
    with Journal.open(path, {"dataset": "survey", "policy": "digest 1"}) as journal:
        assert json.loads(journal.rows()[0].content) == {"dataset": "survey", "policy": "digest 1"}
    with Journal.open(path, {"dataset": "survey", "policy": "digest 2"}) as journal:
        assert journal.binding == {"dataset": "survey", "policy": "digest 1"}
    with Journal.read(path) as journal:
        assert journal.binding == {"dataset": "survey", "policy": "digest 1"}


def test_the_ledger_of_another_dataset_is_refused(path):
    Journal.open(path, BINDING).close()
    with pytest.raises(LedgerError, match="belongs to dataset “survey”, not “census”"):
        Journal.open(path, {"dataset": "census"})


def test_a_finished_request_is_replayed_and_nothing_is_decided_or_spent(path):
    with Journal.open(path, BINDING) as journal:
        reserved = journal.reserve("first", BODY, COST, accept)
        journal.finish("first", '{"answer": 7}')
        assert journal.reserve("first", BODY, COST, forbidden) == Replay(reserved, '{"answer": 7}')
        assert journal.verify() == 3
    with Journal.open(path, BINDING) as journal:
        assert journal.reserve("first", BODY, COST, forbidden) == Replay(reserved, '{"answer": 7}')


def test_the_same_request_for_another_plan_is_refused_whether_or_not_it_was_answered(path):
    with Journal.open(path, BINDING) as journal:
        journal.reserve("first", BODY, COST, accept)
        for answered in (False, True):
            if answered:
                journal.finish("first", "{}")
            with pytest.raises(LedgerError, match="request id already used for another plan"):
                journal.reserve("first", OTHER_BODY, COST, forbidden)


def test_a_reserved_request_that_was_never_answered_is_refused_with_a_way_out(path):
    with Journal.open(path, BINDING) as journal:
        journal.reserve("first", BODY, COST, accept)
    with Journal.open(path, BINDING) as journal:
        with pytest.raises(LedgerError, match="reserved but never answered") as refusal:
            journal.reserve("first", BODY, COST, forbidden)
        assert "budget is spent" in str(refusal.value)
        assert refusal.value.hints[0][0] == "--request NAME"
        journal.reserve("second", BODY, COST, at_most(2))
        with pytest.raises(BudgetExceeded):  # the first entry counts
            journal.reserve("third", BODY, COST, at_most(2))


def test_a_request_is_finished_once_and_only_if_it_was_reserved(path):
    with Journal.open(path, BINDING) as journal:
        with pytest.raises(LedgerError, match="never reserved"):
            journal.finish("first", "{}")
        fill(journal, ["first"])
        with pytest.raises(LedgerError, match="finished already"):
            journal.finish("first", "{}")
        assert journal.verify() == 3


def test_decide_sees_the_reserve_rows_only_and_in_order(path):
    seen = []
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a", "b", "c"])
        journal.reserve("d", BODY, COST, seen.extend)
    assert [(row.kind, row.request) for row in seen] == [("reserve", "a"), ("reserve", "b"), ("reserve", "c")]


@pytest.mark.parametrize("error", [BudgetExceeded("nothing left"), ValueError("a bug"), KeyboardInterrupt()])
def test_whatever_decide_raises_comes_through_and_nothing_is_written(path, error):
    def refuse(reserved):
        raise error

    with Journal.open(path, BINDING) as journal:
        with pytest.raises(type(error)):
            journal.reserve("first", BODY, COST, refuse)
        assert journal.verify() == 1
        journal.reserve("first", BODY, COST, accept)  # the name is free still, and no lock was left behind


def test_a_decision_is_made_again_if_someone_else_reserved_in_the_meantime(path):
    counts = []
    with Journal.open(path, BINDING) as journal, Journal.open(path, BINDING) as other:

        def decide(reserved):
            counts.append(len(reserved))
            if len(counts) == 1:
                other.reserve("other", BODY, COST, accept)

        journal.reserve("first", BODY, COST, decide)
        assert counts == [0, 1]
        assert [row.request for row in journal.rows()] == ["", "other", "first"]


def test_an_answer_stored_in_the_meantime_does_not_make_a_decision_stale(path):
    counts = []
    with Journal.open(path, BINDING) as journal, Journal.open(path, BINDING) as other:
        other.reserve("other", BODY, COST, accept)

        def decide(reserved):
            counts.append(len(reserved))
            other.finish("other", "{}")

        journal.reserve("first", BODY, COST, decide)
        assert counts == [1]


def test_a_request_that_another_process_reserved_while_we_decided_is_not_spent_twice(path):
    with Journal.open(path, BINDING) as journal, Journal.open(path, BINDING) as other:
        with pytest.raises(LedgerError, match="never answered"):
            journal.reserve("same", BODY, COST, lambda reserved: other.reserve("same", BODY, COST, accept))
        other.finish("same", "{}")
        assert isinstance(journal.reserve("same", BODY, COST, forbidden), Replay)


def test_after_being_overtaken_many_times_the_decision_is_made_under_the_lock(path):
    others = []
    with Journal.open(path, BINDING) as journal, Journal.open(path, BINDING, timeout=0.05) as other:

        def decide(reserved):
            assert len(reserved) == len(others)
            name = f"other {len(others)}"
            try:
                other.reserve(name, BODY, COST, accept)
            except LedgerError as error:
                assert error.what == "locked by another process"  # noqa: PT017
            else:
                others.append(name)

        journal.reserve("patient", BODY, COST, decide)
        assert journal.rows()[-1].request == "patient"
        assert 1 < len(others) < 20


def test_nobody_can_write_between_a_row_and_its_witness_line(path, monkeypatch):
    # Else the witness could fall behind by more than one row, and a crash would look like tampering.
    with Journal.open(path, BINDING) as journal, Journal.open(path, BINDING, timeout=0.05) as other:
        append = journal._witness.append

        def overtaken(*line):
            with pytest.raises(LedgerError, match="locked by another process"):
                other.reserve("other", BODY, COST, accept)
            append(*line)

        monkeypatch.setattr(journal._witness, "append", overtaken)
        journal.reserve("first", BODY, COST, accept)
        other.reserve("other", BODY, COST, accept)
        assert journal.verify() == 3


def test_a_refusal_under_the_lock_writes_nothing_and_gives_the_lock_back(path):
    with Journal.open(path, BINDING) as journal, Journal.open(path, BINDING) as other:
        names = iter("abcde")

        def decide(reserved):
            if (name := next(names, None)) is None:
                raise BudgetExceeded("nothing left")
            other.reserve(name, BODY, COST, accept)

        with pytest.raises(BudgetExceeded):
            journal.reserve("late", BODY, COST, decide)
        other.reserve("next", BODY, COST, accept)
        assert [row.request for row in journal.rows()] == ["", *"abcde", "next"]


@pytest.mark.parametrize(
    "name", ["Zählung 2026", "人口 · 北京", "🗳️", "a\x00b", "'; DROP TABLE journal; --", "", "x" * 9999]
)
def test_any_text_is_a_request_name(path, name):
    with Journal.open(path, {"dataset": name}) as journal:
        fill(journal, [name])
    with Journal.open(path, {"dataset": name}) as journal:
        assert journal.rows()[1].request == name
        assert isinstance(journal.reserve(name, BODY, COST, forbidden), Replay)


def test_text_that_is_not_unicode_is_refused_and_not_written(path):
    with Journal.open(path, BINDING) as journal:
        with pytest.raises(LedgerError):
            journal.reserve("\ud800", BODY, COST, accept)
        assert journal.verify() == 1
        fill(journal, ["fine"])


@pytest.mark.parametrize("folder", ["with space", "per%20cent", "qu?ery#part", "ümlaut"])
def test_any_path_will_do(tmp_path, folder):
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / "led ger?.db"
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a"])
    assert {file.name for file in path.parent.iterdir()} == {"led ger?.db", "led ger?.db.witness"}


def test_a_link_to_a_ledger_is_the_same_ledger_with_the_same_witness(tmp_path, path):
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with Journal.open(path, BINDING) as journal, Journal.open(link, BINDING) as linked:
        fill(journal, ["a"])
        fill(linked, ["b"])
        assert journal.verify() == linked.verify() == 5
    assert [file.name for file in link.parent.iterdir()] == ["link.db"]


def test_only_the_owner_may_read_the_files(path):
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a"])
        files = sorted(path.parent.iterdir())
        assert [file.name for file in files] == ["ledger.db", "ledger.db-shm", "ledger.db-wal", "ledger.db.witness"]
        assert {oct(file.stat().st_mode & 0o777) for file in files} == {"0o600"}


def test_every_commit_waits_for_the_disk(path):
    with Journal.open(path, BINDING) as journal:
        assert journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)


@pytest.mark.parametrize("statement", ["UPDATE journal SET content = '{}'", "DELETE FROM journal"])
def test_the_database_itself_refuses_to_change_rows(path, statement):
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a"])
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            journal._db.execute(statement)
        assert journal.verify() == 3


def test_one_witness_line_is_written_for_each_row(path):
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a", "b"])
        lines = path.with_name("ledger.db.witness").read_text().splitlines()
        assert lines == [f"{row.seq} {row.hash}" for row in journal.rows()]


def test_a_closed_journal_says_so(path):
    journal = Journal.open(path, BINDING)
    journal.close()
    journal.close()
    with pytest.raises(LedgerError, match="closed"):
        journal.reserve("first", BODY, COST, accept)


def test_a_journal_of_another_thread_says_so(path):
    errors = []

    def use():
        try:
            journal.rows()
        except LedgerError as error:
            errors.append(error)

    with Journal.open(path, BINDING) as journal:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert "another thread" in errors[0].what


def test_reading_a_ledger_that_is_not_there_makes_nothing(path):
    with pytest.raises(LedgerError, match="no ledger here"):
        Journal.read(path)
    assert list(path.parent.iterdir()) == []


def test_a_ledger_opened_to_read_can_spend_too(path):
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a"])
    with Journal.read(path) as journal:
        assert isinstance(journal.reserve("a", BODY, COST, forbidden), Replay)
        fill(journal, ["b"])
        assert journal.verify() == 5
