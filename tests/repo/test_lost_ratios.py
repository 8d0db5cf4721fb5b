"""`make bench-quick` fails on a planted loss of a ratio, and on nothing else."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks import figures, losses, page, quick

ROOT = Path(__file__).parents[2]


def measured(*ratios):
    """A measurement that gives these in turn, and then no more."""
    left = iter(ratios)
    return lambda: next(left)


def test_a_planted_loss_is_found_when_it_is_seen_twice_in_a_row():
    verdict = losses.judge("ours", measured(*[1.6] * 6), 1.0)
    assert verdict.lost
    assert verdict.rounds == (1.6, 1.6)


def test_a_ratio_within_one_and_a_half_times_its_baseline_is_none():
    assert not losses.judge("ours", measured(1.5, 1.5, 1.5), 1.0).lost


def test_the_best_of_three_counts():
    assert not losses.judge("ours", measured(9.0, 9.0, 1.2), 1.0).lost


def test_a_slow_round_alone_is_no_loss():
    verdict = losses.judge("ours", measured(9.0, 9.0, 9.0, 1.2, 1.1, 1.3), 1.0)
    assert not verdict.lost
    assert verdict.rounds == (9.0, 1.1)


def test_nothing_more_is_measured_once_it_is_as_good_as_the_baseline():
    assert losses.judge("ours", measured(0.9), 1.0).ratio == 0.9


def test_what_cannot_be_measured_here_or_has_no_baseline_is_not_lost():
    assert not losses.judge("absent", lambda: None, 1.0).lost
    assert not losses.judge("new", lambda: 7.0, None).lost


@pytest.mark.parametrize(("ratio", "code"), [(1.0, 0), (1.4, 0), (1.6, 1)])
def test_the_command_ends_with_1_on_a_loss_only(ratio, code, capsys, tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps({"ratios": {"walk": 1.0}}))
    assert quick.main([], measures={"walk": lambda: ratio}, baseline=path) == code
    said = capsys.readouterr().out
    assert ("lost" in said) == bool(code)


def test_baselines_are_renewed_only_when_that_is_said(tmp_path, capsys):
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps({"ratios": {"walk": 1.0}}))
    assert quick.main(["--renew"], measures={"walk": lambda: 3.0}, baseline=path) == 0
    assert 3.0 <= losses.read_baseline(path)["walk"] <= 4.0


def test_every_quick_measurement_has_a_baseline():
    assert set(losses.read_baseline()) == set(quick.MEASURES)


def test_what_must_hold_before_a_change_lands_ends_with_the_quick_ratios():
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("make bench-quick")
    assert re.search(r"^bench-quick:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_noise_below_forty_times_opendp_would_be_lost():
    assert losses.FACTOR * losses.read_baseline()["noise"] <= 1 / 40


def test_processor_time_counts_the_processes_beside_ours():
    """Files are read in a process that stays: what it computes is ours too."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            took = figures.seconds(lambda: time.sleep(0.5))
        finally:
            busy.kill()
    assert took > 0.02


def test_the_page_of_figures_says_what_was_met(tmp_path):
    results = {
        "noise": [figures.Figure("fast", 1.0, 50.0, 50.0, "≥ 40"), figures.Figure("slow", 1.0, 3.0, 3.0, "≥ 40")],
        "answers": [figures.Figure("endless", None, 5.0, float("inf"), "≤ 1", note="more than 60 s")],
    }
    page.write(results, tmp_path)
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "1 of 3 targets were met" in text
    assert "| slow | 1 s | 3 s | 3.00 | ≥ 40 | **no** |" in text
    assert page.read(tmp_path) == results
