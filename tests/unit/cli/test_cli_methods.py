"""`dxp plan` with a ledger, with all methods side by side, and with a guard on the time."""

import io
import json
import sys
import time

import pytest

from contracts.curator import CURATOR
from dxprivacy.cli.terminal import working
from dxprivacy.mechanisms.linear.planning.planner import METHODS


def test_compare_shows_all_methods_and_marks_the_best(dxp, town):
    asked = ["count by sex", "count by age/5", "count by state"]
    called = dxp("plan", "policy.toml", *asked, "--compare").fine()
    assert "nothing spent, no data read" in called.lines[0]
    for name in (
        "same-scale",
        "optimal",
        "fill",
        "psa",
        "equal-split",
        "median ± 95 %",
        "worst case",
        "gap",
        "seconds",
    ):
        assert name in called.out
    marked = [line for line in called.lines if line.strip().startswith("✓")]
    assert len(marked) == 1
    best = marked[0].split()[1]
    assert "1.000×" in marked[0]
    assert called.lines[-1].startswith("Next: dxp plan policy.toml ")
    assert called.lines[-1].endswith(f" --method {best}")
    assert not list(town.glob("plan-*.json"))
    plan = json.loads(dxp("plan", "policy.toml", *asked, "--json").fine().out)
    assert plan["method"] == best


def test_compare_has_the_same_figures_for_machines(dxp, town):
    asked = ["count by sex within 5", "count by age/5 within 1"]
    lines = json.loads(dxp("plan", "policy.toml", *asked, "--compare", "--json").fine().out)["methods"]
    assert {line["method"] for line in lines} == set(METHODS) - {"auto"}
    lines = [line for line in lines if line["refused"] is None]  # a biased plan needs the number of records
    (best,) = [line for line in lines if line["best"]]
    assert best["missed_targets"] == min(line["missed_targets"] for line in lines)
    assert min(line["relative_error"] for line in lines) == 1
    assert all(line["seconds"] >= 0 and line["worst_95"] >= line["median_95"] >= 0 for line in lines)
    called = dxp("plan", "policy.toml", *asked, "--compare").fine()
    assert "missed" in called.out


@pytest.mark.parametrize("more", [["--out", "x.json"], ["--why", "M"], ["--method", "psa"]])
def test_compare_with_what_it_does_not_do_is_refused(dxp, town, more):
    called = dxp("plan", "policy.toml", "count by sex", "--compare", *more)
    assert called.code == 2
    assert "--compare shows all methods" in called.err


def test_a_plan_inside_a_ledger_fits_where_another_did_not(dxp, town, planned):
    first = planned("count by age/5", "--budget", "80%")
    dxp("release", first, "--data", "people.csv", *CURATOR, "--ledger", "ledger.db").fine()
    second = planned("count where age=0..4", "--budget", "60%")
    refused = dxp("release", second, "--data", "people.csv", *CURATOR, "--ledger", "ledger.db")
    assert refused.code == 5
    assert "--ledger LEDGER" in refused.err
    asked = ("count where age=0..4", "count by sex", "--budget", "100%")
    called = dxp("plan", "policy.toml", *asked, "--ledger", "ledger.db").fine()
    assert "fits what ledger.db has left on every pair, after 1 release" in called.out
    assert called.lines[-1].endswith("--data FILE --policy policy.toml --ledger ledger.db")
    plan = called.lines[-1].split()[3]
    dxp("release", plan, "--data", "people.csv", *CURATOR, "--ledger", "ledger.db").fine()
    both = json.loads(dxp("plan", "policy.toml", "count by sex", "--ledger", "ledger.db", "--compare", "--json").out)
    assert both["exit_code"] == 5  # nothing is left for sex


def test_a_ledger_that_is_not_there_is_not_started_by_planning(dxp, town):
    called = dxp("plan", "policy.toml", "count by sex", "--ledger", "none.db")
    assert called.code == 7
    assert "no ledger here" in called.err
    assert not (town / "none.db").exists()
    (town / "odd.db").write_text("no ledger")
    assert dxp("plan", "policy.toml", "count by sex", "--ledger", "odd.db").code == 7


def test_the_page_ends_with_how_close_to_the_best_the_plan_is(dxp, town):
    called = dxp("plan", "policy.toml", "count by age/5", "count by state", "--method", "optimal").fine()
    text = " ".join(called.out.split())
    assert "error within 0.01 % of the best Laplace plan for these rows" in text


@pytest.mark.parametrize("seconds", ["0", "-3", "nan", "soon"])
def test_odd_times_are_refused(dxp, town, seconds):
    assert dxp("plan", "policy.toml", "count by sex", "--seconds", seconds).code == 2


def test_work_over_a_second_shows_how_far_the_plan_is_from_the_best(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    with working("planning", after=0.0) as tell:
        tell(float("inf"))  # nothing is known yet
        tell(0.008)
        time.sleep(0.6)
    assert "error at most 0.8 % above the best plan" in screen.getvalue()
    assert "∞" not in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", piped := io.StringIO())
    with working("planning", after=0.0) as tell:
        tell(0.5)
    assert piped.getvalue() == ""
