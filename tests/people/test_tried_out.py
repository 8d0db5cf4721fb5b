"""What a stranger found who had people with several rows, and a second table of people."""

import json
import sys

import pytest
from people_cases import SEX, visits

import dxprivacy as dx
from dxprivacy.cli import main
from dxprivacy.errors import PolicyError
from dxprivacy.metrics import scaled

COST = "[attributes.cost]\nnumbers = [0, 100]\nstep = 10\nepsilon = 0.1\nper = 10\n"
POLICY = visits(COST, SEX, max_rows=2, table=True)
PATIENTS = "id,sex\np1,F\np2,M\np3,F\np3,F\n"
VISITS = "patient,ward,cost\np1,A,5\np1,A,6\np1,B,7\np2,B,55\np3,A,80\np5,B,1\nP5 ,B,2\n,A,3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def dxp(monkeypatch, capsys):
    def call(*words, code=0):
        monkeypatch.setattr(sys, "argv", ["dxp", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        told = "".join(capsys.readouterr())
        assert (left.value.code or 0) == code, told
        return told

    return call


def test_every_command_works_with_a_table_of_people(folder, dxp):
    dxp("plan", "policy.toml", "count by ward", "count people by sex", "--people", "6", "--out", "p.json", "--html")
    dxp("release", "p.json", "--data", "visits.csv", "--policy", "policy.toml", "--new-ledger", "--html", "--anyway")
    assert "sex" in dxp("ledger", "ledger.db")
    dxp("ledger", "ledger.db", "--html")
    (folder / "new.toml").write_text(POLICY.replace("epsilon = 0.5", "epsilon = 0.4"))
    told = dxp("check", "policy.toml", "--diff", "new.toml")
    assert "! looser" not in told
    adopted = dxp("ledger", "ledger.db", "--policy", "new.toml", "--adopt")
    assert "! looser" not in adopted
    assert "unit" not in adopted
    policy = dx.Policy.load("new.toml")
    assert "image" in str(policy._repr_mimebundle_()) or "svg" in str(policy._repr_mimebundle_())
    assert str(dx.Ledger.open("ledger.db", policy, new_ledger=True)._repr_mimebundle_())


def test_the_pages_of_a_ledger_speak_about_people_and_their_epsilon(folder, dxp):
    dxp("plan", "policy.toml", "count by ward", "--people", "6", "--out", "p.json", "--budget", "50%")
    dxp("release", "p.json", "--data", "visits.csv", "--policy", "policy.toml", "--new-ledger", "--anyway")
    dxp("ledger", "ledger.db", "--html")
    page = " ".join(next(folder.glob("ledger-*.html")).read_text().split())
    assert "any two people i and j (at most 2 rows of each person count)" in page
    assert "someone with several records" not in page
    assert "0.5 of ε 1 used" in page  # of two people: a row has half of it
    assert "% of ε 1" in page or "% of ε 1.0" in page


def test_a_release_says_that_rows_were_left_out(folder, dxp):
    dxp("plan", "policy.toml", "count by ward", "--people", "6", "--out", "p.json")
    told = dxp("release", "p.json", "--data", "visits.csv", "--policy", "policy.toml", "--new-ledger", "--anyway")
    assert "nor rows beyond those that count of each person" in " ".join(told.split())


def test_inspect_tells_whose_rows_they_are(folder, dxp):
    told = dxp("inspect", "policy.toml", "--data", "visits.csv")
    assert "people key patient  5, 1 row without a key" in told
    assert "one of them has more rows than count (max_rows = 2): 1 row left out" in told
    assert "2 keys differ from another one by blanks or capitals alone" in told
    assert "2 not in the table of people and 1 there more than once: in 3 rows what it tells is “other”" in told
    facts = json.loads(dxp("inspect", "policy.toml", "--data", "visits.csv", "--json"))["people"]
    assert facts == {
        "people": 5,
        "without_key": 1,
        "unusable": 0,
        "beyond": 1,
        "left_out": 1,
        "alike": 2,
        "unknown": 2,
        "twice": 1,
        "rows_of_other": 3,
    }


def test_a_scaled_policy_of_people_stays_one_attribute_at_a_time(folder, dxp):
    metric = dx.Policy.load("policy.toml").metric
    twice = scaled(metric, 2)
    pairs = [(0, 1), (0, metric.universe.absent), (5, 40)]
    assert [twice.exact(*pair) for pair in pairs] == [2 * metric.exact(*pair) for pair in pairs]
    plan = dx.plan("count by ward", twice, n_records=10)
    assert plan.certificate.rule == dx.plan("count by ward", metric, n_records=10).certificate.rule
    asked = ["count by ward within 1", "count people by sex within 1"]
    told = dxp("plan", "policy.toml", *asked, "--people", "6", "--solve", "epsilon")
    assert "every ε" in told


def test_next_steps_that_help(folder, dxp):
    assert "--people" in dxp("plan", "policy.toml", "mean cost", code=4)
    (folder / "patients.csv").write_text(PATIENTS.replace(",", ";"))
    told = dxp("check", "policy.toml", "--data", "visits.csv", code=6)
    assert "save it with commas" in told
    assert "delimiter" not in told
    wrong = POLICY.replace("max_rows = 2", "max_rows = 2\nmax_people = 100").replace("[people]", "", 0)
    with pytest.raises(PolicyError, match="stands at the top of the policy"):
        dx.Policy.parse('neighbors = "add-remove"\nepsilon_presence = 1.0\n' + wrong.lstrip())
    steep = POLICY.replace("per = 10", "per = 10\nmax_epsilon = 0.01")
    with pytest.raises(PolicyError) as refused:
        dx.Policy.parse(steep)
    assert "max_epsilon = 0.3" in str(refused.value)


def test_errors_for_as_many_as_there_can_be_are_said_to_be_so(folder, dxp):
    private = POLICY.replace(
        "[people]", 'neighbors = "add-remove"\nepsilon_presence = 1.0\nmax_people = 500\n[people]', 1
    )
    (folder / "policy.toml").write_text(private)
    told = " ".join(dxp("plan", "policy.toml", "mean cost").split())
    assert "errors are for the largest possible number, 1,000, all rows of max_people" in told
    assert "--people N" in told
    assert "the most that there can be" not in dxp("plan", "policy.toml", "mean cost", "--people", "20")
    assert "the most that there can be" not in dxp("plan", "policy.toml", "count by ward")
