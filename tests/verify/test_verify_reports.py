"""Reports on synthetic records: verified alone as far as that goes, with the ledger step by step, and not if edited."""

import copy
import json
import random
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from dxprivacy.cli import main
from dxprivacy.errors import LedgerError, NotVerified
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan
from dxprivacy.mechanisms.synthesis.tried_out import Expectation
from dxprivacy.verify import not_checked, verify, verify_data
from trust.forge import run
from verify.edits import at, changed, edit, places, put, same
from verify.test_verify_ledger import rechain, tamper
from verify.test_verify_refuses import refusal

SMALL = Path(__file__).parents[1] / "data" / "screens"
MADE = {
    "direct": ("count by job", "--budget", "10%"),
    "mwem": ("count by job", "count by old", "--rounds", "2", "--budget", "40%"),
    "smalldb": ("count by job", "count by old", "--budget", "30%"),
}
POLICY = """
title = "Jobs"
dataset = "jobs"
[attributes.sex]
values = ["M", "F"]
epsilon = 4.0
[attributes.age]
integers = [0, 5]
unit = "years"
epsilon = 2.0
per = 1
[attributes.region]
values = ["north", "south"]
epsilon = inf
"""
PEOPLE = "sex,age,region\n" + "".join(f"{'MF'[k % 2]},{k % 6},{('north', 'south')[k % 3 == 0]}\n" for k in range(2000))
MEANS = ["mean age by sex", "sum age"]
ASKED = ["count by sex", "count by age/2 weight 2", "count by region"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report of each method, MWEM with rows that are free, a small database by flatter rows."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "policy.toml").write_text(POLICY)
    (folder / "people.csv").write_text(PEOPLE)
    out = {}
    with dx.Session(
        folder / "policy.toml", folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True
    ) as session:
        for name, asked, options in (
            ("direct", ["count by sex", "mean age"], {"method": "direct"}),
            ("means", MEANS, {"method": "mwem", "rounds": 4}),
            ("mwem", ASKED, {"method": "mwem", "rounds": 3}),
            ("smalldb", ["count by sex", "sum age"], {"method": "smalldb"}),
        ):
            plan = session.plan_synthesis(*asked, budget="15%", **options)
            out[name] = json.loads(json.dumps(session.synthesize(plan).report.to_dict()))
        for name, asked in (("flat", "count by sex"), ("free", "prefixes age")):
            made = make_smalldb(
                asked, session.policy.metric, n_records=2000, budget="15%", flatten=True, dataset="jobs"
            )
            assert made.free == (name == "free")
            plan = SynthesisPlan("smalldb", made, Expectation({}))
            out[name] = json.loads(json.dumps(session.synthesize(plan, anyway=True).report.to_dict()))
        session.release(session.plan("count by sex", budget="5%"))
        again = session.plan_synthesis(*MEANS, budget="15%", method="mwem", rounds=4)
        out["again"] = json.loads(json.dumps(session.synthesize(again).to_dict()))
    return out, folder / "ledger.db"


@pytest.fixture(scope="module")
def by_command(tmp_path_factory):
    """A report of each method, made by `dxp synth`, and their ledger."""
    folder = tmp_path_factory.mktemp("by_command")
    policy, data = (str(SMALL / f"small.{kind}") for kind in ("toml", "csv"))
    for name, asked in MADE.items():
        given = (
            "--data",
            data,
            "--ledger",
            str(folder / "small.db"),
            "--new-ledger",
            "--out",
            str(folder / f"{name}.csv"),
        )
        done = run(["synth", policy, *asked, "--method", name, *given])
        assert done["returncode"] == 0, done["stderr"]
    return folder


@pytest.mark.parametrize("method", MADE)
def test_reports_of_the_command_are_verified(by_command, method):
    alone = [check.name for check in verify(by_command / f"{method}-report.json")]
    assert alone[:2] == ["format", "answers"]
    names = [check.name for check in verify(by_command / f"{method}-report.json", by_command / "small.db")]
    assert names[: len(alone)] == alone
    assert {"chain", "policy", "guarantee", "budget"} <= set(names)


def test_new_reports_are_verified_with_what_is_special_about_them(made):
    reports, ledger = made
    for data in reports.values():
        assert list(verify_data(data))
        assert list(verify_data(data, ledger))
    assert any(one["scale"] == "0x0.0p+0" for one in reports["mwem"]["measurements"])  # free rows come first
    assert reports["again"]["repeated"] is True
    assert reports["flat"]["plan"]["put"] != reports["flat"]["plan"]["queries"]
    assert reports["free"]["ledger"]["entries"] == []  # nothing was spent
    assert reports["again"]["guarantee"] != reports["means"]["guarantee"]  # all releases so far are more by then


@pytest.mark.parametrize("method", MADE)
def test_the_command_exits_with_0_and_lists_what_could_not_be_checked(by_command, method, monkeypatch, capsys):
    monkeypatch.chdir(by_command)
    for more in ((), ("--ledger", "small.db")):
        monkeypatch.setattr(sys, "argv", ["dxp", "verify", f"{method}-report.json", *more])
        with pytest.raises(SystemExit) as left:
            main()
        out = capsys.readouterr().out
        assert not left.value.code, out
        assert "! not checked  policy.title, software, records, answers.synthetic" in out
        assert f"✓ verified {method}-report.json: everything else in it" in out
        assert out.splitlines()[-1].endswith("dxp ledger small.db" if more else "--ledger LEDGER")
        assert ("answers.released" in out) == (not more)


# -- edits -------------------------------------------------------------------------------------------------------------


def is_named(path, data, *, ledger):
    dotted = ".".join(key for key in path if isinstance(key, str))
    told = {unchecked.member for unchecked in not_checked(data, ledger=ledger)}
    return any(f"{dotted}.".startswith(f"{member}.") for member in told)


FREE = {("plan", "certificate", "witness")}  # another pair that attains the ratio is as good


@pytest.mark.parametrize("method", mostly_slow(["direct", "smalldb", "mwem", "means", "flat", "free"]))
@pytest.mark.parametrize("with_ledger", [False, True])
def test_every_edit_is_refused_or_named(made, method, with_ledger):
    reports, ledger = made
    data, rng = reports[method], random.Random(f"{method} {with_ledger}")
    refused = 0
    for path in list(places(data))[1:]:
        if isinstance(at(data, path), (dict, list)):
            continue
        edited = put(data, path, changed(rng, at(data, path)))
        if same(edited, data):
            continue
        error = refusal(edited, ledger if with_ledger else None)
        free = path[:3] in FREE or is_named(path, data, ledger=with_ledger)
        assert isinstance(error, NotVerified) or (error is None and free), (path, error)
        refused += error is not None
    assert refused > (20 if with_ledger else 5)


@pytest.mark.parametrize("method", MADE)
def test_random_edits_are_refused_or_named(made, method):
    reports, ledger = made
    data = reports[method]
    for seed in range(60):
        path, edited = edit(random.Random(f"{method} {seed}"), data)
        if same(edited, data):
            continue
        error = refusal(edited, ledger)
        free = path[:3] in FREE or is_named(path, data, ledger=True)
        assert isinstance(error, NotVerified) or (error is None and free), (path, error)


ASKED_IN = (("plan", "queries"), ("plan", "put"))  # read with the universe at hand, which only the ledger has


@pytest.mark.parametrize("method", MADE)
def test_no_member_may_be_missing_or_added_anywhere(made, method):
    data = made[0][method]
    for path in list(places(data))[1:]:
        if isinstance(path[-1], str):
            edited = copy.deepcopy(data)
            del at(edited, path[:-1])[path[-1]]
            # Reports of earlier versions have no fit, and nothing vouches for it.
            assert isinstance(refusal(edited), NotVerified) or path[:2] in ASKED_IN or path == ("fit",), path
        if isinstance(at(data, path), dict):
            error = refusal(put(data, (*path, "more"), 1))
            assert isinstance(error, NotVerified) or path[:2] in ASKED_IN, path


# -- consistent lies ---------------------------------------------------------------------------------------------------


def other_number(data):
    """Another noisy number, with the interval that belongs to it."""
    one = data["measurements"][-1]
    one["noisy"] += 1
    answer = next(a for a in data["answers"] if a["label"] == one["label"])
    for name in ("released", "low", "high", "synthetic"):
        answer[name] += 1


def fewer_rounds(data):
    data["plan"]["rounds"] -= 1
    last = data["measurements"].pop()
    del data["ledger"]["entries"][-2:]
    for answer in data["answers"]:
        if answer["label"] == last["label"]:
            data["compared"] -= 1
            data["inside"] -= bool(answer["inside"])
            answer.update(released=None, low=None, high=None, inside=None)
    compared, inside = data["compared"], data["inside"]
    which = f"all {compared}" if compared == inside else f"{inside} of {compared}"
    data["summary"] = f"{which} synthetic answers lie within the released 95 % intervals"


def all_lower(data):
    for answer in data["answers"]:
        for name in ("released", "low", "high", "synthetic"):
            answer[name] = answer[name] - 2 if answer[name] is not None else None


def larger_bounds(data):
    data["plan"]["bounds"] = [2 * b for b in data["plan"]["bounds"]]
    for answer, bound in zip(data["answers"], data["plan"]["bounds"], strict=True):
        answer.update(low=answer["released"] - bound, high=answer["released"] + bound, inside=True)
    data["inside"] = data["compared"]
    data["summary"] = f"all {data['compared']} synthetic answers lie within the released 95 % intervals"


@pytest.mark.parametrize(
    ("method", "lie", "where"),
    [
        ("mwem", other_number, "measurement 5"),
        ("mwem", fewer_rounds, "ledger entries"),
        ("mwem", lambda d: d["plan"]["queries"].reverse(), "plan workload"),
        ("mwem", lambda d: d["plan"].update(budget="1/100"), "ledger ledger.db, row 23"),
        ("mwem", lambda d: d["policy"].update(dataset="other"), "ledger ledger.db"),
        ("mwem", lambda d: d["policy"].update(digest="0" * 64), "ledger ledger.db"),
        ("mwem", lambda d: d["ledger"].update(entries=[e + 1 for e in d["ledger"]["entries"]]), "ledger entries"),
        ("mwem", lambda d: d["ledger"].update(entries=[e + 90 for e in d["ledger"]["entries"]]), "ledger ledger.db"),
        ("direct", all_lower, "answer 1"),
        ("direct", lambda d: d.update(name="0000"), "name"),
        ("direct", lambda d: d["ledger"].update(entries=[2]), "ledger ledger.db"),
        ("smalldb", larger_bounds, "plan bounds, answer 1"),
        ("smalldb", lambda d: d["plan"].update(budget="1/2"), "request"),
        ("smalldb", lambda d: d["plan"].update(put=[{"ask": "count"}]), "plan weights"),
        ("smalldb", lambda d: d["plan"].update(beta=0.06), "plan bounds, answer 1"),
        ("smalldb", lambda d: d["ledger"].update(entries=[1]), "ledger entries"),
    ],
)
def test_a_lie_that_fits_the_report_does_not_fit_the_ledger(made, method, lie, where):
    reports, ledger = made
    edited = copy.deepcopy(reports[method])
    lie(edited)
    for fit in ("all_lower", "other_number"):
        assert lie.__name__ != fit or refusal(edited) is None
    error = refusal(edited, ledger)
    assert isinstance(error, NotVerified), error
    assert error.where == where


def forge(ledger, folder, change, where):
    """What was kept of steps, changed by somebody who knows how the chain is made."""
    for file in ledger.parent.glob("ledger.db*"):
        shutil.copy(file, folder / file.name)
    with sqlite3.connect(folder / "ledger.db") as database:
        found = database.execute(f"SELECT seq FROM journal WHERE kind = 'finish' AND {where}").fetchall()
    database.close()
    assert found
    tamper(folder / "ledger.db", f"UPDATE journal SET content = {change} WHERE seq = {found[-1][0]}")
    rechain(folder / "ledger.db")
    return folder / "ledger.db"


@pytest.mark.parametrize(
    ("method", "change", "where"),
    [
        ("mwem", "'{\"row\": 99}'", "request LIKE 'synth-% round 2 selection'"),
        ("mwem", '\'{"row": 0, "score": 1}\'', "request LIKE 'synth-% round 2 selection'"),
        ("mwem", "'{\"noisy\": 7}'", "request LIKE 'synth-% round 2 measurement'"),
        ("mwem", "'{\"exact\": [60, 60]}'", "request LIKE 'synth-% public answers'"),
        ("smalldb", '\'{"cells": [0], "counts": [1]}\'', "request LIKE '% small database'"),
        ("smalldb", "'[]'", "request LIKE '% small database'"),
        ("direct", "'{}'", "request NOT LIKE 'synth-%' AND seq < 6"),
        ("direct", "'5'", "request NOT LIKE 'synth-%' AND seq < 6"),
    ],
)
def test_an_outcome_that_was_forged_in_the_ledger_is_noticed(made, tmp_path, method, change, where):
    reports, ledger = made
    if "plan" in reports[method]:
        where += f" AND request LIKE 'synth-{reports[method]['plan']['request'][:16]}%'"
    forged = forge(ledger, tmp_path, change, where)
    assert isinstance(refusal(reports[method], forged), NotVerified)


def test_another_ledger_and_none_are_told_apart(made, by_command, tmp_path):
    report = made[0]["mwem"]
    assert isinstance(refusal(report, by_command / "small.db"), NotVerified)
    with pytest.raises(LedgerError):
        list(verify_data(report, tmp_path / "nothing.db"))


def test_a_report_by_a_method_that_nobody_knows_is_refused(made):
    for method in ("magic", None, ["mwem"]):
        assert isinstance(refusal({**made[0]["mwem"], "method": method}), NotVerified)
