"""Many processes at once, and processes that are killed: never above the budget, never less than acknowledged."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contracts.long_forms import slow
from dxprivacy.ledger.journal import Journal
from ledger.journal_worker import BINDING

WORKER = Path(__file__).with_name("journal_worker.py")


def start(mode, path, me, *numbers):
    command = [sys.executable, str(WORKER), mode, str(path), str(me), *map(str, numbers)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_together(mode, path, count, *numbers):
    """Start all, let them go at the same moment, and return what each said."""
    workers = [start(mode, path, me, *numbers) for me in range(count)]
    try:
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            worker.stdin.write("\n")
            worker.stdin.flush()
        said = [worker.communicate(timeout=120)[0].splitlines() for worker in workers]
        assert [worker.returncode for worker in workers] == [0] * count
        return said
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def test_eight_processes_make_the_ledger_and_spend_exactly_its_budget(tmp_path):
    said = run_together("race", tmp_path / "ledger.db", 8, 40)
    acknowledged = sorted(line.split()[1] for lines in said for line in lines)
    with Journal.open(tmp_path / "ledger.db", BINDING) as journal:
        rows = journal.rows()
        assert [row.kind for row in rows].count("open") == 1
        assert [row.kind for row in rows].count("reserve") == 40
        assert sorted(row.request for row in rows if row.kind == "reserve") == acknowledged
        assert sorted(row.request for row in rows if row.kind == "finish") == acknowledged
        lines = (tmp_path / "ledger.db.witness").read_text().splitlines()
        assert lines == [f"{row.seq} {row.hash}" for row in rows]


def test_eight_processes_with_the_same_request_spend_once_and_get_one_answer(tmp_path):
    said = [line.split() for (line,) in run_together("same", tmp_path / "ledger.db", 8)]
    (winner,) = [words[1] for words in said if words[0] == "answered"]
    for words in said:
        assert words in (["answered", winner], ["replayed", f'"{winner}"'], ["refused", "True"])
    with Journal.open(tmp_path / "ledger.db", BINDING) as journal:
        assert [row.kind for row in journal.rows()] == ["open", "reserve", "finish"]


def test_verifying_while_another_process_writes_raises_no_false_alarm(tmp_path):
    path = tmp_path / "ledger.db"
    worker = start("go", path, 0)
    try:
        worker.stdout.readline()  # ready
        worker.stdout.readline()  # the first row is written
        with Journal.read(path) as journal:
            counts = [journal.verify()]
            while len(counts) < 100 or counts[-1] < counts[0] + 10:  # however slow the disk
                counts.append(journal.verify())
        Journal.open(path, BINDING).close()
    finally:
        worker.kill()
        worker.communicate()
    assert counts == sorted(counts)


def kill_many_times(path, kills, seed):
    """One ledger, killed again and again; what was acknowledged must be there, and in order."""
    chance = random.Random(seed)
    acknowledged, busy = [], 0
    for kill in range(kills):
        with start("go", path, kill) as worker:
            try:
                assert worker.stdout.readline() == "ready\n"
                if chance.random() < 0.2:  # while it makes, verifies or mends the ledger
                    time.sleep(chance.uniform(0, 0.03))
                    said = ""
                else:
                    said = worker.stdout.readline()
                    time.sleep(chance.uniform(0, 0.08))
            finally:
                worker.kill()  # SIGKILL
            said += worker.stdout.read()  # not communicate(): it would drop the lines that readline had buffered
        steps = [tuple(line.split()) for line in said[: said.rfind("\n") + 1].splitlines()]
        acknowledged += steps
        busy += bool(steps)
        if not path.exists():  # killed before it made the file
            continue
        # Sometimes the next look only reads, so that the next worker meets what the kill left behind.
        opened = Journal.open(path, BINDING) if not acknowledged or chance.random() < 0.5 else Journal.read(path)
        with opened as journal:
            rows = journal.rows()
            assert journal.verify() == len(rows)
        check(rows, acknowledged)
        assert len(rows) - 1 <= len(acknowledged) + kill + 1, "a kill can fall between a row and its word, once"
    assert busy > kills / 2, "most kills should hit a worker at work"


def check(rows, acknowledged):
    reserved = {row.request: row.seq for row in rows if row.kind == "reserve"}
    answered = {row.request: row.seq for row in rows if row.kind == "finish"}
    assert {name for step, name in acknowledged if step == "reserved"} <= reserved.keys()
    assert {name for step, name in acknowledged if step == "answered"} <= answered.keys()
    assert all(reserved[name] < seq for name, seq in answered.items())


@pytest.mark.parametrize("kills", [4, slow(25)])
def test_nothing_acknowledged_is_lost_in_25_kills(kills, tmp_path):
    kill_many_times(tmp_path / "ledger.db", kills, seed=25)


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_in_100_kills(tmp_path):
    kill_many_times(tmp_path / "ledger.db", 100, seed=100)
