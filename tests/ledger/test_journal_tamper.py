"""Files that were edited, shortened, swapped or restored: refused, with the row and the reason."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import astuple, replace

import pytest

from dxprivacy.errors import LedgerError
from dxprivacy.ledger.journal import Journal
from ledger.journal_worker import BINDING, BODY, COST, accept, fill


@pytest.fixture
def path(tmp_path):
    """A closed ledger of five rows: open, a, a, b, b."""
    path = tmp_path / "ledger.db"
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["a", "b"])
    return path


@pytest.fixture
def witness(path):
    return path.with_name("ledger.db.witness")


def tamper(path, *statements):
    """What someone with the file and a database tool can do."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints=ON")
        for trigger in ("no_update", "no_delete"):
            database.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        for statement, *values in statements:
            assert database.execute(statement, values).rowcount > 0


def refused(path, words):
    """By `open`, and by `verify` on a ledger opened to read."""
    files = {file: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith(("-shm", "-wal"))}
    with pytest.raises(LedgerError, match=words) as refusal:
        Journal.open(path, BINDING)
    with pytest.raises(LedgerError, match=words), Journal.read(path) as journal:
        journal.verify()
    assert refusal.value.hints
    for file, content in files.items():
        assert file.read_bytes() == content, "a refused ledger is left as it is"


COLUMNS = ["seq", "kind", "request", "body", "content", "at", "previous", "hash"]


@pytest.mark.parametrize("row", [1, 2, 3, 5])
@pytest.mark.parametrize("column", COLUMNS)
def test_an_edited_column_is_refused_and_its_row_is_named(path, column, row):
    edit = "seq + 90" if column == "seq" else f"{column} || ' '"
    tamper(path, [f"UPDATE journal SET {column} = {edit} WHERE seq = ?", row])
    refused(path, f"row {row}")


def test_bytes_that_are_not_text_are_refused_without_being_shown(path):
    tamper(path, ["UPDATE journal SET content = CAST(x'ff736563726574' AS TEXT) WHERE seq = 4"])
    with pytest.raises(LedgerError, match="damaged") as refusal:
        Journal.open(path, BINDING)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("row", [1, 2, 4])
def test_a_row_taken_out_of_the_middle_is_missed(path, row):
    tamper(path, ["DELETE FROM journal WHERE seq = ?", row])
    refused(path, f"row {row} is missing")


@pytest.mark.parametrize("row", [2, 4])
def test_a_row_taken_out_with_the_rest_renumbered_is_noticed(path, row):
    tamper(
        path,
        ["DELETE FROM journal WHERE seq = ?", row],
        ["UPDATE journal SET seq = seq - 1 WHERE seq > ?", row],
    )
    refused(path, f"row {row} does not continue row {row - 1}")


@pytest.mark.parametrize("left", [4, 3, 1])
def test_rows_cut_off_the_end_are_missed_by_the_witness(path, left):
    tamper(path, ["DELETE FROM journal WHERE seq > ?", left])
    refused(path, f"ends at row {left}, but its witness knows row 5")


def test_all_rows_deleted_is_not_a_new_ledger(path):
    tamper(path, ["DELETE FROM journal"])
    with pytest.raises(LedgerError, match="witness knows row 5"):
        Journal.open(path, BINDING)


@pytest.mark.parametrize("emptied", [False, True])
def test_a_lost_or_emptied_ledger_beside_its_witness_is_not_a_new_ledger(path, emptied):
    path.unlink()
    if emptied:
        path.touch()
    with pytest.raises(LedgerError, match="is gone, but its witness knows row 5"):
        Journal.open(path, BINDING)
    assert path.exists() == emptied


@pytest.mark.parametrize("row", [2, 5])
def test_a_row_changed_with_a_correctly_recomputed_chain_differs_from_the_witness(path, row):
    with Journal.read(path) as journal:
        rows = journal.rows()
    rows[row - 1] = replace(rows[row - 1], content='{"budget": 0}')
    for i in range(row - 1, len(rows)):
        rows[i] = replace(rows[i], previous=rows[i - 1].hash)
        rows[i] = replace(rows[i], hash=rows[i].digest())
    insert = "INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    tamper(path, ["DELETE FROM journal"], *([insert, *astuple(r)] for r in rows))
    refused(path, f"row {row} is not the row that ledger.db.witness recorded")


def test_an_older_backup_put_back_is_refused(path, tmp_path):
    shutil.copy(path, tmp_path / "backup")
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["c"])
    shutil.copy(tmp_path / "backup", path)
    refused(path, "ends at row 5, but its witness knows row 7")


def test_an_older_backup_put_back_under_an_open_journal_is_refused(path, tmp_path):
    shutil.copy(path, tmp_path / "backup")
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["c"])
        (tmp_path / "backup").replace(path)  # the journal still holds the old file, which nobody else sees
        with pytest.raises(LedgerError, match="replaced while in use"):
            journal.reserve("d", BODY, COST, accept)
        with pytest.raises(LedgerError, match="replaced while in use"):
            journal.verify()


def test_a_copy_without_its_wal_file_is_refused(path, tmp_path):
    (tmp_path / "copy").mkdir()
    with Journal.open(path, BINDING) as journal:
        fill(journal, ["c"])
        for name in ("ledger.db", "ledger.db.witness"):
            shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    refused(tmp_path / "copy" / "ledger.db", "ends at row 5, but its witness knows row 7")


def test_a_new_ledger_copied_without_its_wal_file_is_refused(tmp_path):
    (tmp_path / "copy").mkdir()
    with Journal.open(tmp_path / "ledger.db", BINDING) as journal:
        fill(journal, ["a"])
        for name in ("ledger.db", "ledger.db.witness"):  # the database file holds no table yet
            shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    with pytest.raises(LedgerError, match="is gone, but its witness knows row 3"):
        Journal.open(tmp_path / "copy" / "ledger.db", BINDING)


def test_a_missing_witness_is_refused_and_not_made_anew(path, witness):
    witness.unlink()
    refused(path, "ledger.db.witness is missing")
    assert not witness.exists()


def test_a_witness_that_goes_missing_under_an_open_journal_stops_it(path, witness):
    with Journal.open(path, BINDING) as journal:
        witness.unlink()
        with pytest.raises(LedgerError, match="witness is missing"):
            journal.reserve("c", BODY, COST, accept)
        with pytest.raises(LedgerError, match="witness is missing"):
            journal.verify()
    assert not witness.exists()


def test_a_missing_witness_of_an_unused_ledger_is_made_anew(tmp_path):
    path = tmp_path / "fresh.db"
    Journal.open(path, BINDING).close()
    witness = tmp_path / "fresh.db.witness"
    line = witness.read_text()
    witness.unlink()
    Journal.open(path, BINDING).close()  # nothing was ever spent, so nothing can be lost
    assert witness.read_text() == line


@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_witness_shorter_than_a_crash_can_explain_is_refused(path, witness, left):
    lines = witness.read_text().splitlines(keepends=True)
    witness.write_text("".join(lines[:left]))
    refused(path, f"ledger.db.witness lacks row {left + 1} and later")


@pytest.mark.parametrize("left", [0, 3])
def test_a_witness_shortened_under_an_open_journal_stops_it(path, witness, left):
    lines = witness.read_text().splitlines(keepends=True)
    with Journal.open(path, BINDING) as journal:
        witness.write_text("".join(lines[:left]))
        with pytest.raises(LedgerError, match=f"lacks row {left + 1} and later"):
            journal.reserve("c", BODY, COST, accept)


@pytest.mark.parametrize("row", [1, 3, 5])
def test_an_edited_witness_line_is_refused(path, witness, row):
    lines = witness.read_text().splitlines(keepends=True)
    lines[row - 1] = lines[row - 1][:-2] + ("0" if lines[row - 1][-2] != "0" else "1") + "\n"
    witness.write_text("".join(lines))
    refused(path, f"row {row} is not the row that ledger.db.witness recorded")


@pytest.mark.parametrize(
    "junk", [b"\xff\xfe\x00\n", b"\n", b"5\n", b"5 \n", b"99999999999999999999 ab\n", b"x" * 999 + b"\n"]
)
def test_a_witness_line_that_is_no_line_is_refused(path, witness, junk):
    with Journal.open(path, BINDING) as journal:
        witness.write_bytes(witness.read_bytes() + junk)
        with pytest.raises(LedgerError):
            journal.reserve("c", BODY, COST, accept)
        with pytest.raises(LedgerError, match="witness knows row 6"):
            journal.verify()


def test_the_witness_of_another_ledger_is_refused(path, witness, tmp_path):
    with Journal.open(tmp_path / "other.db", BINDING) as other:
        fill(other, ["a", "b"])
    shutil.copy(tmp_path / "other.db.witness", witness)
    refused(path, "row 1 is not the row")


def test_the_begun_line_of_a_row_that_is_gone_is_evidence_too(path, witness):
    witness.write_bytes(witness.read_bytes() + b"6 ab")
    with Journal.open(path, BINDING) as journal, pytest.raises(LedgerError, match="witness knows row 6"):
        journal.reserve("c", BODY, COST, accept)


@pytest.mark.parametrize("kept_of_the_last_line", [0, 1, 2, 20, 66])
def test_the_one_line_that_a_crash_can_leave_unwritten_is_mended_on_opening(path, witness, kept_of_the_last_line):
    lines = witness.read_text().splitlines(keepends=True)
    witness.write_text("".join(lines[:-1]) + lines[-1][:kept_of_the_last_line])
    with Journal.read(path) as journal:
        assert journal.verify() == 5  # reading mends nothing
    assert len(witness.read_text().splitlines(keepends=True)[-1]) != 67 or not kept_of_the_last_line
    with Journal.open(path, BINDING) as journal:
        assert journal.verify() == 5
        assert witness.read_text() == "".join(lines)
        fill(journal, ["c"])


def test_the_line_that_another_process_left_unwritten_is_mended_by_the_next_row(path, witness):
    lines = witness.read_text().splitlines(keepends=True)
    with Journal.open(path, BINDING) as journal:
        witness.write_text("".join(lines[:-1]))
        fill(journal, ["c"])
        assert witness.read_text().splitlines() == [f"{row.seq} {row.hash}" for row in journal.rows()]


def test_an_edited_ledger_is_not_mended(path, witness):
    lines = witness.read_text().splitlines(keepends=True)
    witness.write_text("".join(lines[:-1]))
    tamper(path, ["UPDATE journal SET content = '{}' WHERE seq = 5"])
    refused(path, "row 5 was changed")
