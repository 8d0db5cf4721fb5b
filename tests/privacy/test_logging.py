"""What is logged: public facts of every step, in one line each, and nothing of the data, its numbers or its times."""

import logging
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, DataError
from dxprivacy.log import Log
from dxprivacy.session.recorded_steps import Recorded

SENTINEL = "Xyzzy-Sentinel"
BAD, WOMEN, MEN = 137, 4219, 3083  # true counts, which nothing may tell
POLICY = 'title = "T"\ndataset = "t"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
DXP = Path(sys.executable).with_name("dxp")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    rows = ["F"] * WOMEN + ["M"] * MEN + [SENTINEL] * BAD
    (tmp_path / "people.csv").write_text("sex\n" + "\n".join(rows) + "\n")
    return tmp_path


class Heard(logging.Handler):
    def __init__(self):
        super().__init__(logging.DEBUG)
        self.records = []

    def emit(self, record):
        self.records.append(record)

    @property
    def lines(self):
        return [f"{r.name} {r.levelname} {r.getMessage()}" for r in self.records]

    @property
    def text(self):
        return "\n".join([*self.lines, *(str(vars(r)["facts"]) for r in self.records)])


@pytest.fixture
def heard():
    handler, logger = Heard(), logging.getLogger("dxprivacy")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def whole_flow(folder, **options):
    """Everything that spends and repeats, a refusal, and data that is damaged before the last count."""
    with dx.Session(
        folder / "policy.toml", folder / "people.csv", ledger=folder / "l.db", **options, new_ledger=True
    ) as session:
        plan = session.plan("count by sex", budget="20%")
        release = session.release(plan)
        session.release(plan)
        session.select(session.plan_selection("most common sex", budget="10%"))
        made = session.synthesize(session.plan_synthesis("count by sex", budget="10%", method="mwem", rounds=2))
        made.records.save(folder / "made.csv")
        for name in ("release.json", "release.csv", "release.md", "release.tex"):
            release.save(folder / name)
        with pytest.raises(BudgetExceeded):
            session.release(session.plan("count where sex=F", budget="100%"))
        (folder / "people.csv").write_bytes(b"")  # damaged while the session is open
        with pytest.raises(DataError):
            session.release(session.plan("count where sex=M", budget="10%"))
    return release


def test_a_whole_flow_tells_its_steps_and_nothing_of_the_data(folder, heard):
    release = whole_flow(folder)
    told = heard.text
    for event in (
        "policy read", "ledger started", "executing", "cost reserved: entry=1 budget=0.2", "release stored",
        "answered:",
        "answered before, nothing spent", "file written", "budget exceeded, nothing spent",
    ):  # fmt: skip
        assert event in told, event
    assert SENTINEL not in told
    numbers = {BAD, WOMEN, MEN, BAD + WOMEN, BAD + MEN, WOMEN + MEN, BAD + WOMEN + MEN}
    forbidden = {str(n) for n in numbers} | {f"{n:,}" for n in numbers} | {str(round(r.value)) for r in release.answers}
    named = re.compile(r"'?(plan|request|policy)'?[=:] ?'?[0-9a-f]{4,}")  # digests, of what was asked
    digits = set(re.findall(r"[\d,]+", named.sub("", told.replace(str(folder), ""))))
    assert not digits & forbidden
    assert all(record.exc_info is None and record.stack_info is None for record in heard.records)


def test_a_count_that_fails_after_its_cost_was_reserved_is_told_without_why(folder, heard, monkeypatch):
    with dx.Session(folder / "policy.toml", folder / "people.csv", ledger=folder / "l.db", new_ledger=True) as session:
        monkeypatch.setattr(session.source, "count", _failing)
        with pytest.raises(ZeroDivisionError):
            session.release(session.plan("count by sex"))
    (last,) = [r for r in heard.records if r.levelno == logging.WARNING]
    assert last.name == "dxprivacy.session"
    assert "stays spent: entry=1" in last.getMessage()
    assert SENTINEL not in heard.text


def _failing(_universe):
    raise ZeroDivisionError(SENTINEL)


def test_nothing_is_told_while_data_is_counted_nor_before_the_pace_has_passed(folder, heard, monkeypatch):
    during = []

    @contextmanager
    def pacing():
        before = len(heard.records)
        yield
        during.append(len(heard.records) - before)

    init = Recorded.__init__

    def quantized(self, ledger, request, _pacing=None):
        init(self, ledger, request, pacing)

    monkeypatch.setattr(Recorded, "__init__", quantized)
    with dx.Session(folder / "policy.toml", folder / "people.csv", ledger=folder / "l.db", new_ledger=True) as session:
        session.release(session.plan("count by sex"))
        session.synthesize(session.plan_synthesis("count by sex", method="mwem", rounds=2))
    assert during
    assert not any(during)


def test_events_are_the_same_whatever_is_in_the_data(folder, heard, tmp_path):
    def told(rows):
        heard.records.clear()
        place = tmp_path / f"of-{len(list(tmp_path.iterdir()))}"
        place.mkdir()
        (place / "policy.toml").write_text(POLICY)
        (place / "people.csv").write_text("sex\n" + "\n".join(rows) + "\n")
        with dx.Session(place / "policy.toml", place / "people.csv", ledger=place / "l.db", new_ledger=True) as session:
            session.release(session.plan("count by sex"), anyway=True)
            session.select(session.plan_selection("most common sex"), anyway=True)
        return [line.replace(str(place), "") for line in heard.lines]

    assert told(["F"] * 50) == told(["M"] * 30 + [SENTINEL] * 20)


def test_nothing_is_printed_unless_somebody_listens(folder, capfd):
    whole_flow(folder)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("dxprivacy").handlers)


def test_names_forge_no_line_of_a_log(heard):
    Log("ledger").event(
        "cost reserved", request="x\nCRITICAL all is lost", ledger='a "b"', budget=None, dataset="\u202e"
    )
    (line,) = heard.lines
    assert line == 'dxprivacy.ledger INFO cost reserved: request="x�CRITICAL all is lost" ledger="a \\"b\\"" dataset=�'
    assert "\n" not in str(heard.records[0].facts)


@pytest.mark.slow  # three processes; the other tests of this file are the short forms
def test_the_command_line_tells_its_steps_where_it_is_asked_to(folder):
    def run(*words):
        return subprocess.run([DXP, *words], cwd=folder, capture_output=True, text=True, check=True)

    run("plan", "policy.toml", "count by sex", "--n-records", "7439", "--out", "plan.json")
    words = ("release", "plan.json", "--data", "people.csv", "--policy", "policy.toml", "--new-ledger")
    told = run("--verbose", *words)
    assert "dxprivacy.ledger  cost reserved: entry=1 budget=0.1" in told.stderr
    assert SENTINEL not in told.stderr
    assert "dxprivacy." not in told.stdout
    again = run(*words)
    assert "dxprivacy." not in again.stderr
