"""A release against its ledger: every tampering is noticed, and reading changes nothing."""

import hashlib
import json
import os
import shutil
import sqlite3

import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError, LedgerError, NotVerified, UsageError
from dxprivacy.verify import reading, verify, verify_data
from verify.edits import resealed


@pytest.fixture
def copied(files, tmp_path):
    """A copy of the ledger to tamper with."""
    for name in ("ledger.db", "ledger.db.witness", "ledger.db-wal", "ledger.db-shm"):
        if (files.folder / name).exists():
            shutil.copy(files.folder / name, tmp_path / name)
    return tmp_path / "ledger.db"


def tamper(ledger, *statements):
    with sqlite3.connect(ledger) as database:
        database.execute("DROP TRIGGER no_update")
        database.execute("DROP TRIGGER no_delete")
        for statement in statements:
            database.execute(statement)
    database.close()


def rechain(ledger):
    """As somebody who knows how the chain is made would leave it, the witness included."""
    with sqlite3.connect(ledger) as database:
        rows = database.execute("SELECT seq, kind, request, body, content, at FROM journal ORDER BY seq").fetchall()
        previous, lines = "0" * 64, []
        for row in rows:
            fields = json.dumps([*row, previous], separators=(",", ":"))
            digest = hashlib.sha256(fields.encode()).hexdigest()
            database.execute("UPDATE journal SET previous = ?, hash = ? WHERE seq = ?", (previous, digest, row[0]))
            lines.append(f"{row[0]} {digest}\n")
            previous = digest
    database.close()
    ledger.with_name("ledger.db.witness").write_text("".join(lines))


def test_reading_a_ledger_changes_nothing(files, copied):
    before = copied.read_bytes()
    assert list(verify(files.release, copied))
    assert copied.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET content = replace(content, '200', '201') WHERE kind = 'finish' AND seq = 6",
        "UPDATE journal SET content = replace(content, 'berblick', 'bersicht') WHERE kind = 'policy'",
        "UPDATE journal SET at = '2020-01-01T00:00:00.000+00:00' WHERE seq = 5",
        "UPDATE journal SET hash = previous WHERE seq = 5",
        "UPDATE journal SET kind = 'open' WHERE seq = 7",
        "DELETE FROM journal WHERE seq = 2",
        "DELETE FROM journal WHERE seq = 3",
        "DELETE FROM journal WHERE seq = 8",
        "DELETE FROM journal WHERE seq >= 6",
        "DELETE FROM journal",
    ],
)
def test_an_edited_ledger_is_noticed(files, copied, statement):
    tamper(copied, statement)
    if "seq = 8" in statement:  # one row less than witnessed
        assert len(copied.with_name("ledger.db.witness").read_text().splitlines()) == 8
    with pytest.raises(NotVerified):
        list(verify(files.release, copied))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET at = '2020-01-01T00:00:00.000+00:00' WHERE seq = 5",
        "UPDATE journal SET request = request || ' x' WHERE seq IN (5, 6)",
        "UPDATE journal SET body = previous WHERE seq IN (5, 6)",
        'UPDATE journal SET content = replace(content, \'"budget": "\', \'"budget": "0\') WHERE seq = 5',
        "UPDATE journal SET content = replace(content, 'count', 'sum') WHERE seq = 3",
        "UPDATE journal SET content = replace(content, '\"seal\"', '\"Seal\"') WHERE seq = 6",
        "UPDATE journal SET content = replace(content, 'verify-1', 'verify-2') WHERE seq = 1",
        "UPDATE journal SET kind = 'reserve', request = 'more' WHERE seq = 8",
        'UPDATE journal SET content = replace(content, \'"neighbors": "replace"\', \'"neighbors": "x"\') WHERE seq = 2',
        'UPDATE journal SET content = replace(content, \'"epsilon": "1"\', \'"epsilon": "2"\') WHERE seq = 2',
        "UPDATE journal SET content = replace(content, '\"F\"', '\"W\"') WHERE seq = 2",
        'UPDATE journal SET content = replace(content, \'"budgets": {\', \'"budgets": {"3": "1"\') WHERE seq = 2',
        'UPDATE journal SET content = replace(content, \'"recoded": {\', \'"recoded": {"x": 1\') WHERE seq = 2',
        "UPDATE journal SET content = '[]' WHERE seq = 2",
        "UPDATE journal SET body = previous WHERE seq = 2",
        "UPDATE journal SET request = 'policy 2' WHERE seq = 2",
        "UPDATE journal SET kind = 'policy' WHERE seq = 7",
        "DELETE FROM journal WHERE seq >= 6",
        "DELETE FROM journal WHERE seq >= 5",
    ],
)
def test_an_edited_ledger_with_a_new_chain_is_noticed(files, copied, statement):
    tamper(copied, statement)
    rechain(copied)
    with pytest.raises(NotVerified) as caught:
        list(verify(files.release, copied))
    assert "was changed" not in str(caught.value)


def test_a_missing_or_shortened_witness_is_noticed(files, copied):
    witness = copied.with_name("ledger.db.witness")
    lines = witness.read_text().splitlines(keepends=True)
    witness.write_text("".join(lines[:-1]))  # a crash may leave this
    assert list(verify(files.release, copied))
    witness.write_text("".join(lines[:-2]))
    with pytest.raises(NotVerified, match="witness"):
        list(verify(files.release, copied))
    witness.unlink()
    with pytest.raises(NotVerified, match="missing"):
        list(verify(files.release, copied))


@pytest.mark.parametrize(
    ("name", "value"),
    [("entry", 1), ("entry", 3), ("entry", 99), ("at", "2026-01-31T10:00:00.000+00:00"), ("worst_case_epsilon", 99.0)],
)
def test_what_a_release_says_about_the_ledger_is_checked_there(files, name, value):
    data = files.read("release")
    stated = data["ledger"]["worst_case_epsilon"]
    data["ledger"][name] = value
    if name == "worst_case_epsilon":
        assert f"so far ε = {stated:.3g}" in data["guarantee"][2]
        data["guarantee"][2] = data["guarantee"][2].replace(f"so far ε = {stated:.3g}", "so far ε = 99")
    assert list(verify_data(resealed(data)))  # without the ledger nobody can know
    with pytest.raises(NotVerified):
        list(verify_data(resealed(data), files.ledger))


def test_another_release_under_the_same_entry_is_noticed(files):
    """A consistent forgery: another noisy number with its answer; only the ledger knows the true one."""
    data = files.read("release")
    data["noisy"][0] += 1
    for name in ("value", "low", "high"):
        data["answers"][0][name] += 1
    assert list(verify_data(resealed(data)))
    with pytest.raises(NotVerified, match="another release"):
        list(verify_data(resealed(data), files.ledger))


def test_more_spent_than_the_policy_allows_is_noticed(files, copied):
    """An entry that the ledger would have refused, with right digests, body and chain."""
    with sqlite3.connect(copied) as database:
        content, body = database.execute("SELECT content, body FROM journal WHERE seq = 5").fetchone()
        at = database.execute("SELECT at FROM journal WHERE seq = 8").fetchone()[0]
    database.close()
    extra = f"(9, 'reserve', 'again', '{body}', '{content.replace(chr(39), chr(39) * 2)}', '{at}', '', '')"
    tamper(copied, f"INSERT INTO journal VALUES {extra}")
    rechain(copied)
    with pytest.raises(NotVerified, match="more was spent"):
        list(verify(files.release, copied))


def test_a_ledger_of_another_dataset_does_not_fit(files, tmp_path):
    with dx.Session(
        files.folder / "policy.toml", files.folder / "people.csv", ledger=tmp_path / "l.db", new_ledger=True
    ) as session:
        session.release(session.plan("count by sex", budget="10%"))
    with pytest.raises(NotVerified):
        list(verify(files.release, tmp_path / "l.db"))


@pytest.mark.parametrize("content", [b"", b"nonsense" * 200, None])
def test_what_is_no_ledger_is_a_ledger_error(files, tmp_path, content):
    if content is not None:
        (tmp_path / "x.db").write_bytes(content)
    with pytest.raises(LedgerError):
        list(verify(files.release, tmp_path / "x.db"))


def test_a_plan_has_no_ledger(files):
    with pytest.raises(UsageError, match="spends nothing"):
        list(verify(files.plan, files.ledger))


def test_refusals_quote_no_content(files):
    data = files.read("release")
    data["noisy"][0] += 12345
    with pytest.raises(DxError) as caught:
        list(verify_data(resealed(data), files.ledger))
    assert str(data["noisy"][0]) not in str(caught.value)
    assert reading.canonical(data["noisy"]) not in str(caught.value)


@pytest.mark.parametrize("kind", ["fifo", "device", "directory"])
@pytest.mark.parametrize("suffix", ["", ".witness", "-wal", "-shm", "-journal"])
def test_a_file_of_the_ledger_that_is_not_regular_is_refused_at_once(files, copied, suffix, kind):
    place = copied.with_name(f"ledger.db{suffix}")
    place.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "directory":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")
    with pytest.raises((LedgerError, NotVerified), match=f"{place.name} is not a regular file"):
        list(verify(files.release, copied))
