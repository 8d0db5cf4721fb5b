"""Disks, locks and paths that do not cooperate: each is told in plain words, and nothing is lost or spent twice."""

import errno
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dxprivacy.errors import LedgerError
from dxprivacy.ledger import witness as witness_module
from dxprivacy.ledger.journal import Journal, Replay
from ledger.journal_worker import BINDING, BODY, COST, accept, fill

WORKER = Path(__file__).with_name("journal_worker.py")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


class PowerCut(BaseException):
    pass


def cut(*_):
    raise PowerCut


def test_random_bytes_are_not_a_ledger(path):
    path.write_bytes(random.Random(1).randbytes(20_000))
    for attempt in (lambda: Journal.open(path, BINDING), lambda: Journal.read(path)):
        with pytest.raises(LedgerError, match="not a ledger, or damaged"):
            attempt()
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


@pytest.mark.parametrize("kept", [1, 99, 100, 4096, 4096 * 2, 4096 * 3 + 17])
def test_a_truncated_ledger_is_refused(path, kept):
    with Journal.open(path, BINDING) as journal:
        for i in range(20):
            journal.reserve(f"{i}", BODY, '"' + "x" * 1000 + '"', accept)
    os.truncate(path, kept)
    with pytest.raises(LedgerError):
        Journal.open(path, BINDING)


@pytest.mark.parametrize("seed", range(20))
def test_a_ledger_with_flipped_bytes_is_refused_or_unchanged_in_meaning(path, seed):
    with Journal.open(path, BINDING) as journal:
        fill(journal, map(str, range(10)))
        rows = journal.rows()
    content, chance = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(3):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    try:
        with Journal.open(path, BINDING) as journal:
            assert journal.rows() == rows  # the flips fell into unused space
    except LedgerError:
        pass


def test_the_database_of_another_program_is_refused_and_left_alone(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE customers (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="another program"):
        Journal.open(path, BINDING)
    assert path.read_bytes() == before


def test_a_table_of_the_same_name_with_other_columns_is_refused_without_showing_sql(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE journal (diary TEXT)")
    with pytest.raises(LedgerError, match="not a ledger") as refusal:
        Journal.open(path, BINDING)
    assert "SELECT" not in str(refusal.value)
    assert "column" not in str(refusal.value)


def test_an_empty_file_that_never_was_a_ledger_becomes_one(path):
    path.touch()
    with pytest.raises(LedgerError, match="holds no ledger"):
        Journal.read(path)
    with Journal.open(path, BINDING) as journal:
        assert journal.verify() == 1


def test_a_lock_on_the_database_is_waited_for_and_then_reported(path):
    with Journal.open(path, BINDING, timeout=0.1) as journal, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked by another process"):
            journal.reserve("a", BODY, COST, accept)
        other.rollback()
        fill(journal, ["a"])  # nothing had been written, and it works again
        assert journal.verify() == 3


def test_a_lock_of_another_writer_is_waited_for_and_then_reported(path):
    with Journal.open(path, BINDING, timeout=0.1) as journal, Journal.open(path, BINDING) as other:
        with other._writing():
            with pytest.raises(LedgerError, match="locked by another process"):
                journal.reserve("a", BODY, COST, accept)
            assert journal.verify() == 1  # readers do not wait
            Journal.open(path, BINDING, timeout=0.1).close()
        fill(journal, ["a"])


def test_a_full_database_spends_nothing_and_works_again_when_there_is_space(path):
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a"])
        (pages,) = journal._db.execute("PRAGMA page_count").fetchone()
        journal._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="the disk is full"):
            journal.reserve("b", BODY, '"' + "x" * 100_000 + '"', accept)
        assert journal.verify() == 3
        journal._db.execute("PRAGMA max_page_count = 1000000")
        fill(journal, ["b"])
        assert journal.verify() == 5


def test_a_database_full_at_the_answer_keeps_the_reservation(path):
    with Journal.open(path, BINDING) as journal:
        journal.reserve("a", BODY, COST, accept)
        (pages,) = journal._db.execute("PRAGMA page_count").fetchone()
        journal._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="the disk is full"):
            journal.finish("a", '"' + "x" * 100_000 + '"')
        assert [row.kind for row in journal.rows()] == ["open", "reserve"]
        journal.finish("a", "{}")


@pytest.mark.parametrize("written", [0, 30])
def test_a_disk_full_at_the_witness_line_of_a_reservation_costs_budget_only(path, monkeypatch, written):
    write = os.write
    with Journal.open(path, BINDING) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(witness_module.os, "write", full_disk(write, written))
            with pytest.raises(LedgerError, match="the disk is full"):
                journal.reserve("a", BODY, COST, accept)
        assert journal.verify() == 2
        with pytest.raises(LedgerError, match="never answered"):
            journal.reserve("a", BODY, COST, accept)
        fill(journal, ["b"])
        assert journal.verify() == 4


@pytest.mark.parametrize("written", [0, 30])
def test_a_disk_full_at_the_witness_line_of_an_answer_loses_no_answer(path, monkeypatch, written):
    write = os.write
    with Journal.open(path, BINDING) as journal:
        journal.reserve("a", BODY, COST, accept)
        with monkeypatch.context() as patch:
            patch.setattr(witness_module.os, "write", full_disk(write, written))
            with pytest.raises(LedgerError, match="the disk is full"):
                journal.finish("a", '{"answer": 7}')
    with Journal.open(path, BINDING) as journal:
        replay = journal.reserve("a", BODY, COST, accept)
        assert isinstance(replay, Replay)
        assert replay.content == '{"answer": 7}'


def full_disk(write, written):
    """Takes the first bytes only; if none fit, the system says so."""

    def short(file, line):
        if not written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, line[:written])

    return short


def test_a_disk_that_fails_at_any_moment_loses_nothing_acknowledged(path):
    run = [sys.executable, str(WORKER), "cramped", str(path), "w"]
    lines = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    assert lines[0] == "ready"
    assert lines[-1].startswith("stopped the disk")
    with Journal.open(path, BINDING) as journal:
        kinds = {"reserved": "reserve", "answered": "finish"}
        acknowledged = [(kinds[step], name) for step, name in (line.split() for line in lines[1:-1])]
        assert len(acknowledged) > 20
        assert [(row.kind, row.request) for row in journal.rows()[1:]][: len(acknowledged)] == acknowledged
        fill(journal, ["afterwards"])


STEPS = ["BEGIN IMMEDIATE", "INSERT", "COMMIT"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("error", [PowerCut, KeyboardInterrupt])
def test_a_stop_around_any_statement_leaves_a_sound_ledger(path, monkeypatch, step, when, error):
    run = Journal._sql

    def stop(journal, statement, values=()):
        if not statement.startswith(step):
            return run(journal, statement, values)
        if when == "after":
            run(journal, statement, values)
        raise error

    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a"])
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "_sql", stop)
            with pytest.raises(error):
                journal.reserve("b", BODY, COST, accept)
        committed = (step, when) == ("COMMIT", "after")
        assert journal.verify() == (4 if committed else 3)
        fill(journal, ["c"])  # the same object goes on: no lock, no open transaction, no stale memory
        assert journal.verify() == (6 if committed else 5)
    with Journal.open(path, BINDING) as journal:
        assert len([row for row in journal.rows() if row.request == "b"]) == committed


@pytest.mark.parametrize("step", ["append", "settle"])
def test_a_stop_at_the_witness_of_a_new_ledger_can_be_resumed(path, monkeypatch, step):
    with monkeypatch.context() as patch:
        patch.setattr(witness_module.Witness, step, cut)
        with pytest.raises(PowerCut):
            Journal.open(path, BINDING)
    with Journal.open(path, BINDING) as journal:
        assert journal.verify() == 1
        assert len(path.with_name("ledger.db.witness").read_text().splitlines()) == 1


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(LedgerError, match="no such file or directory") as refusal:
        Journal.open(tmp_path / "nowhere" / "ledger.db", BINDING)
    assert "nowhere" in refusal.value.where


def test_a_directory_is_not_a_ledger(tmp_path):
    for attempt in (lambda: Journal.open(tmp_path, BINDING), lambda: Journal.read(tmp_path)):
        with pytest.raises(LedgerError, match="is a directory"):
            attempt()


def test_a_path_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="no such file or directory"):
        Journal.open(tmp_path / "file" / "ledger.db", BINDING)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_to_write_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(LedgerError, match="may not be read or written"):
            Journal.open(tmp_path / "ledger.db", BINDING)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_what_the_system_does_not_permit_is_said(path, monkeypatch, code):
    def denied(*_):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:  # root is denied nothing, so the denial is played
        patch.setattr(witness_module.os, "open", denied)
        with pytest.raises(LedgerError, match="may not be read or written"):
            Journal.open(path, BINDING)


def test_a_database_that_may_only_be_read_can_be_read(path):
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a"])
        journal._db.execute("PRAGMA query_only=ON")
        with pytest.raises(LedgerError, match="may not be read or written"):
            journal.reserve("b", BODY, COST, accept)
        assert journal.verify() == 3


SPECIAL = ["ledger.db", "ledger.db.witness", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal"]


def special(place, kind):
    """Put a file at `place` that is not a regular one; the words for it."""
    place.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(place)
        return r"a FIFO \(named pipe\)"
    if kind == "directory":
        place.mkdir()
        return "a directory"
    place.symlink_to("/dev/zero")
    return "a character device"


@pytest.mark.parametrize("kind", ["fifo", "device", "directory"])
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("existing", [True, False])
def test_a_ledger_file_that_is_not_regular_is_refused_at_once(path, name, kind, existing):
    if existing:
        with Journal.open(path, BINDING) as journal:
            fill(journal, ["a"])
    words = special(path.with_name(name), kind)
    for attempt in (lambda: Journal.open(path, BINDING), lambda: Journal.read(path)):
        with pytest.raises(LedgerError, match=f"is {words}, not a regular file") as refusal:
            attempt()
        assert "disk" not in str(refusal.value)
        assert name == "ledger.db" or name in str(refusal.value)
    assert existing or not path.exists() or name == "ledger.db"


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_a_witness_that_is_replaced_by_a_special_file_is_refused_by_the_next_reservation(path, kind):
    with Journal.open(path, BINDING) as journal:
        words = special(journal._witness.path, kind)
        with pytest.raises(LedgerError, match=f"is {words}, not a regular file"):
            journal.reserve("a", BODY, COST, accept)


@pytest.mark.parametrize(
    ("code", "words", "hint"),
    [
        (errno.EIO, "the disk reports an error", "check the disk"),
        (errno.EMFILE, os.strerror(errno.EMFILE), "close some"),
        (errno.ENOLCK, "does not lock or map files", "local disk"),
        (errno.EOPNOTSUPP, "does not lock or map files", "local disk"),
        (errno.ELOOP, os.strerror(errno.ELOOP), "then repeat"),
        (errno.EINVAL, os.strerror(errno.EINVAL), "then repeat"),
    ],
)
def test_only_errors_of_the_disk_are_blamed_on_the_disk(path, code, words, hint):
    with pytest.raises(LedgerError, match=words) as refusal, witness_module.in_plain_words(path):
        raise OSError(code, os.strerror(code))
    assert hint in str(refusal.value)
    assert ("check the disk" in str(refusal.value)) == (code == errno.EIO)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_IOERR_READ, "the disk reports an error"),
        (sqlite3.SQLITE_IOERR_NOMEM, "not enough memory"),
        (sqlite3.SQLITE_NOMEM, "not enough memory"),
        (sqlite3.SQLITE_IOERR_LOCK, "does not lock or map files"),
        (sqlite3.SQLITE_IOERR_SHMMAP, "does not lock or map files"),
        (sqlite3.SQLITE_CORRUPT, "not a ledger, or damaged"),
    ],
)
def test_errors_of_the_database_are_told_by_their_cause(path, code, words):
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    with pytest.raises(LedgerError, match=words), witness_module.in_plain_words(path):
        raise error
