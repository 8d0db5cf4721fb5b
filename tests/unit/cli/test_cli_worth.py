"""Budget is not spent on uninformative answers, unless somebody says so; and a tenth is the usual budget."""

import json
import os
import pty
import select
import shlex
import subprocess
import sys
import time

import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow

STRICT = """
title = "Strict"
dataset = "strict-1"
[attributes.sex]
values = ["M", "F"]
epsilon = 0.001
"""
CURATOR = ("--policy", "policy.toml", "--data", "people.csv", "--new-ledger")


def strict(town):
    (town / "policy.toml").write_text(STRICT, encoding="utf-8")


def spent(town):
    if not (town / "ledger.db").exists():
        return 0
    with dx.Session("policy.toml", "people.csv", ledger="ledger.db", new_ledger=True) as session:
        return len(session.ledger.entries())


def test_a_useless_release_needs_a_word_and_spends_nothing_without_it(town, dxp):
    strict(town)
    dxp("plan", "policy.toml", "count by sex", "--out", "p.json").fine()
    refused = dxp("release", "p.json", *CURATOR)
    assert refused.code == 2
    assert "uninformative: count by sex" in refused.err
    assert "Nothing spent, no data read." in refused.err
    assert "--anyway" in refused.err
    assert spent(town) == 0
    assert "dxp plan … --budget 50%" in refused.err
    dxp("release", "p.json", *CURATOR, "--anyway").fine()
    assert spent(town) == 1
    again = dxp("release", "p.json", *CURATOR).fine()  # repeated: it costs nothing
    assert "answered before, nothing spent" in again.out


def test_a_session_refuses_a_useless_plan_and_names_the_argument(town):
    strict(town)
    with dx.Session("policy.toml", "people.csv", ledger="ledger.db", new_ledger=True) as session:
        plan, selection = session.plan("count by sex"), session.plan_selection("most common sex")
        records = [session.plan_synthesis("count by sex", method=method) for method in ("direct", "mwem")]
        calls = [
            (lambda **more: session.release(plan, **more), True),
            (lambda **more: session.answer(plan, **more), False),
            (lambda **more: session.execute(plan, request="again", **more), True),
            (lambda **more: session.select(selection, **more), True),
            (lambda **more: session.chosen(selection, **more), False),
            (lambda **more: session.synthesize(records[0], request="fit", **more), True),
            (lambda **more: session.synthesize(records[1], **more), records[1].made.entries),
        ]
        for call, _ in calls:
            with pytest.raises(dx.errors.UsageError, match="uninformative") as refused:
                call()
            assert "→ anyway=True " in str(refused.value)
            assert "Nothing spent, no data read." in str(refused.value)
            assert "--" not in str(refused.value)  # that is for the command line
        assert not list(town.glob("ledger.db*"))
        for k, (call, spends) in enumerate(calls):
            before = len(session.ledger.entries())
            call(anyway=True)
            assert len(session.ledger.entries()) == before + spends, k
            call()  # repeated: it costs nothing, and needs no argument
            assert len(session.ledger.entries()) == before + spends, k


def test_a_plan_made_without_the_number_of_records_is_compared_with_a_guess_in_the_session(town):
    strict(town)
    policy = dx.Policy.load("policy.toml")
    plan, selection = dx.plan("count by sex", policy), dx.plan_selection("most common sex", policy)
    with dx.Session(policy, "people.csv", ledger="ledger.db", new_ledger=True) as session:
        for call in (lambda: session.release(plan), lambda: session.select(selection)):
            with pytest.raises(dx.errors.UsageError, match="uninformative"):
                call()


def test_a_useless_choice_needs_the_word_too(town, dxp):
    strict(town)
    seen = dxp("select", "policy.toml", "most common sex", "--n-records", "400").fine()
    assert seen.lines[0].startswith("! uninformative: ")
    asked = ("select", "policy.toml", "most common sex", "--data", "people.csv", "--new-ledger")
    refused = dxp(*asked)
    assert refused.code == 2
    assert "--anyway" in refused.err
    assert spent(town) == 0
    dxp(*asked, "--anyway").fine()
    assert "chosen before, nothing spent" in dxp(*asked).fine().out


def test_useless_synthetic_records_need_it_as_well(town, dxp):
    strict(town)
    asked = ("synth", "policy.toml", "count by sex", "--data", "people.csv", "--new-ledger", "--method", "direct")
    refused = dxp(*asked)
    assert refused.code == 2
    assert "uninformative" in refused.err
    assert spent(town) == 0
    dxp(*asked, "--anyway", "--out", "s.csv").fine()
    repeated = dxp(*asked, "--out", "again.csv").fine()
    assert "answered before, nothing spent" in repeated.out


@pytest.mark.parametrize(("command", "asked"), [("select", "most common sex"), ("synth", "count by sex")])
def test_a_larger_share_is_offered_for_the_command_that_was_typed(town, dxp, command, asked):
    strict(town)
    refused = dxp(command, "policy.toml", asked, "--data", "people.csv", "--new-ledger")
    assert f"dxp {command} … --budget 50%" in refused.err
    assert "dxp plan" not in refused.err


@pytest.mark.parametrize(("command", "asked"), [("select", "most common sex"), ("synth", "count by sex")])
def test_the_next_command_of_an_uninformative_plan_works_when_pasted(town, dxp, command, asked):
    strict(town)
    shown = dxp(command, "policy.toml", asked, "--n-records", "400").fine()
    words = shlex.split(shown.lines[-1].removeprefix("Next: dxp "))
    assert "--anyway" in words
    dxp(*["people.csv" if word == "FILE" else word for word in words]).fine()


@pytest.mark.parametrize(("answer", "code", "entries"), mostly_slow([(b"n\n", 2, 0), (b"y\n", 0, 1)], 1))
def test_on_a_terminal_it_asks(town, dxp, answer, code, entries):
    strict(town)
    dxp("plan", "policy.toml", "count by sex", "--out", "p.json").fine()
    seen, ended = on_a_terminal([*sys_dxp(), "release", "p.json", *CURATOR], answer)
    assert "uninformative" in seen
    assert "Spend the budget anyway?" in seen
    assert ended == code, seen
    assert spent(town) == entries


def sys_dxp():
    return [sys.executable, "-c", "from dxprivacy.cli import main; main()"]


def on_a_terminal(command, answer):
    """Run a command on a real (pseudo) terminal, answer its query, and give what it showed and how it ended."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    shown, answered, until = b"", False, time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end was closed
                break
            if not part:
                break
            shown += part
        if not answered and b"budget anyway?" in shown:
            os.write(ours, answer)
            answered = True
    ended = process.wait(timeout=30)
    os.close(ours)
    return shown.decode(errors="replace"), ended


def test_the_usual_share_is_a_tenth_and_every_command_says_so_and_what_is_left(town, dxp):
    plan = dxp("plan", "policy.toml", "count by sex", "--out", "p.json").fine()
    assert "10 % of the policy" in plan.lines[0]
    assert "in a new ledger, 90 % and more is left" in plan.out
    assert json.loads((town / "p.json").read_text())["budget"] == "1/10"
    selection = dxp("select", "policy.toml", "most common sex").fine()
    assert "10 % of the policy" in selection.lines[0]
    assert "in a new ledger, 90 % and more is left" in selection.out
    synth = dxp("synth", "policy.toml", "count by sex", "--n-records", "400").fine()
    left = "at most 10 % of every pair's ε (--budget); in a new ledger, 90 % and more is left"
    assert left in " ".join(synth.out.split())
    released = dxp("release", "p.json", *CURATOR).fine()
    assert "left      90 % of every pair's ε, at least" in released.out
    inside = dxp("plan", "policy.toml", "count by age", "--ledger", "ledger.db", "--out", "q.json").fine()
    assert "of every pair's ε is left, at least" in " ".join(inside.out.split())
    chosen = dxp("select", "policy.toml", "most common sex", "--data", "people.csv").fine()
    assert "left      80 % of every pair's ε, at least" in chosen.out


def test_what_is_left_is_the_ledgers_to_say_where_there_is_one(town, dxp):
    dxp("plan", "policy.toml", "count by sex", "--budget", "50%", "--out", "p.json").fine()
    dxp("release", "p.json", *CURATOR).fine()
    asked = ("count by sex", "mean age by sex")
    inside = dxp("plan", "policy.toml", *asked, "--n-records", "400", "--ledger", "ledger.db", "--budget", "50%").fine()
    assert "is left, at least" in " ".join(inside.out.split())
    assert "and more is left" not in " ".join(inside.out.split())
    made = ("synth", "policy.toml", "count by age", "--budget", "50%", "--data", "people.csv", "--out", "s.csv")
    made = dxp(*made, "--method", "direct").fine()
    assert "✓ left" in made.out
    assert "and more is left" not in " ".join(made.out.split())


def test_sessions_share_a_tenth_and_arrays_everything(town):
    with dx.Session("policy.toml", "people.csv", ledger="ledger.db", new_ledger=True) as session:
        assert session.plan("count by sex").budget * 10 == 1
        assert session.plan_selection("median age").budget * 10 == 1
        assert session.plan_synthesis("count by sex").made.budget * 10 == 1
        assert session.left == 1.0
    assert dx.plan([[1, 0]], dx.metrics.constant(2, 1)).budget == 1


def test_the_next_command_of_a_useless_plan_works_when_pasted(town, dxp):
    strict(town)
    told = dxp("plan", "policy.toml", "count by sex", "--n-records", 400, "--out", "p.json").fine().lines[-1]
    assert told.endswith("--policy policy.toml --new-ledger --anyway")
