"""Pace: answers, and refusals after the reservation, leave at whole multiples of a public period."""

import time

import pytest

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.session.count_records import period, quantized

UNIVERSE = dx.Universe.listed(["M", "F"])
POLICY = """
title = "Pace"
dataset = "quantize_time"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "people.csv").write_text("sex\n" + "M\nF\n" * 50)
    return tmp_path


def slept(monkeypatch, took):
    """How long `paced` waits after work that took so long, by a clock that we turn."""
    clock, waits = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", waits.append)
    with quantized(1.0):
        clock[0] += took
    return waits[0]


@pytest.mark.parametrize(("took", "waited"), [(0.25, 0.75), (0.999, 0.001), (1.25, 0.75), (7.5, 0.5), (2.0, 0.0)])
def test_work_leaves_at_the_next_whole_multiple(took, waited, monkeypatch):
    assert slept(monkeypatch, took) == pytest.approx(waited)


def test_a_failure_waits_as_an_answer_does_and_a_request_to_stop_does_not():
    start = time.monotonic()
    with pytest.raises(ValueError), quantized(0.2):
        raise ValueError
    assert time.monotonic() - start >= 0.2
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), quantized(60.0):
        raise KeyboardInterrupt
    assert time.monotonic() - start < 30


def test_every_kind_of_answer_leaves_at_the_pace_and_stored_ones_at_once(files, monkeypatch):
    held = []

    def noted(seconds):
        held.append(seconds)
        return quantized(0.0)

    monkeypatch.setattr("dxprivacy.session.session.quantized", noted)
    with dx.Session(
        files / "policy.toml", files / "people.csv", ledger=files / "l.db", quantize_time="1.5 s", new_ledger=True
    ) as session:
        plan = session.plan("count by sex", budget="10%")
        session.release(plan)
        assert held == [1.5]
        session.release(plan)
        assert held == [1.5]
        session.select(session.plan_selection("most common sex", budget="10%"))
        session.synthesize(session.plan_synthesis("count by sex", method="mwem", rounds=1, budget="10%"))
        assert len(held) > 3
        assert set(held) == {1.5}


def test_the_period_of_auto_depends_on_public_numbers_alone_and_leaves_ample_room(files):
    assert period("auto", UNIVERSE, 10) == period("auto", UNIVERSE, 10)
    assert period("auto", UNIVERSE, 10_000_000) > period("auto", UNIVERSE, 10)
    start = time.monotonic()
    with dx.Session(files / "policy.toml", files / "people.csv", ledger=files / "l.db", new_ledger=True) as session:
        session.source.count(session.policy.universe)
    assert time.monotonic() - start < 5 * period("auto", UNIVERSE, 100)


@pytest.mark.parametrize(
    "quantize_time", ["", "0s", "1", "-1s", "1 year", "nan", "2h", "1e9s", 0, -1.0, float("nan"), True, "61min"]
)
def test_what_is_no_period_is_refused_before_anything_is_opened(quantize_time, files):
    with pytest.raises(UsageError, match="a period up to an hour"):
        dx.Session(
            files / "policy.toml",
            files / "missing.csv",
            ledger=files / "l.db",
            quantize_time=quantize_time,
            new_ledger=True,
        )
    assert not (files / "l.db").exists()
