"""A disk that forgets: a damaged ledger is refused before anything more is spent, or the damage was harmless."""

import random
import sqlite3
from contextlib import closing

import pytest

from dxprivacy.errors import LedgerError
from dxprivacy.ledger.journal import Journal, Replay
from ledger.journal_worker import BINDING, BODY, COST, accept

NAMES = [f"release {k}" for k in range(12)]


def stored(name):
    return f'{{"answers": "{name}", "text": "{name * 150}"}}'


@pytest.fixture
def path(tmp_path):
    """A closed ledger of twelve releases, on many pages, all of them in the main file."""
    path = tmp_path / "ledger.db"
    with Journal.open(path, BINDING) as journal:
        for name in NAMES:
            journal.reserve(name, BODY, COST, accept)
            journal.finish(name, stored(name))
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def notices(path) -> bool:
    """Whether opening refuses; if not, every release must still be there, word for word, and a new one be possible."""
    try:
        journal = Journal.open(path, BINDING)
    except LedgerError:
        return True
    with journal:
        for name in NAMES:
            again = journal.reserve(name, BODY, COST, accept)
            assert isinstance(again, Replay)
            assert again.content == stored(name)
        journal.reserve("one more", BODY, COST, accept)
    return False


def damage_and_look(path, seed) -> bool:
    rng = random.Random(seed)
    content = bytearray(path.read_bytes())
    at = rng.randrange(100, len(content))
    kind = rng.randrange(4)
    if kind == 0:
        content[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        content[at : at + 16] = rng.randbytes(16)
    elif kind == 2:
        start = at // 4096 * 4096  # a page lost
        content[start : start + 4096] = bytes(4096)
    else:
        start, other = at // 4096 * 4096, rng.randrange(1, len(content) // 4096) * 4096  # a page in another's place
        content[start : start + 4096] = content[other : other + 4096]
    for name in ("ledger.db-wal", "ledger.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    path.write_bytes(bytes(content))
    return notices(path)


@pytest.mark.parametrize("seed", range(60))
def test_damage_is_noticed_or_harmless(path, seed):
    damage_and_look(path, seed)


def test_most_damage_is_noticed(path):
    whole, witness = path.read_bytes(), path.with_name("ledger.db.witness").read_bytes()
    noticed = 0
    for seed in range(100, 140):
        path.write_bytes(whole)
        path.with_name("ledger.db.witness").write_bytes(witness)
        noticed += damage_and_look(path, seed)
    assert noticed >= 20


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_damage_is_noticed_or_harmless_everywhere(path, part):
    whole, witness = path.read_bytes(), path.with_name("ledger.db.witness").read_bytes()
    for seed in range(1000 + 400 * part, 1400 + 400 * part):
        path.write_bytes(whole)
        path.with_name("ledger.db.witness").write_bytes(witness)
        damage_and_look(path, seed)


def test_a_damaged_index_loses_no_replay_while_releases_go_on(path):
    """The rows are as they were, only the index by which a request is found is not."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema=ON")
        database.execute("CREATE TABLE other (kind TEXT, request TEXT)")
        database.execute("CREATE UNIQUE INDEX empty ON other (kind, request)")
        page = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'empty'").fetchone()[0]
        database.execute("UPDATE sqlite_master SET rootpage = ? WHERE name LIKE 'sqlite_autoindex_journal%'", (page,))
    assert notices(path)


def test_a_release_damaged_while_the_ledger_is_open_is_noticed_before_the_next_one(path):
    with Journal.open(path, BINDING) as journal:
        journal.verify_on_disk()
        content = bytearray(path.read_bytes())
        at = content.index(b"release 3" * 5)
        content[at : at + 9] = b"release X"
        path.write_bytes(bytes(content))
        with pytest.raises(LedgerError, match="was changed"):
            journal.verify_on_disk()
