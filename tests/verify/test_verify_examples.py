"""Plans, releases and ledgers of the examples are verified: every policy of the paper, the household, the demo."""

import importlib.util
from pathlib import Path

import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow, slow
from dxprivacy.demo.demo_story import tell
from dxprivacy.verify import verify

EXAMPLES = Path(__file__).parents[2] / "examples"
PAPER = sorted(path.parent.name for path in EXAMPLES.glob("paper/*/policy.toml"))


@pytest.fixture(scope="module")
def simulate():
    spec = importlib.util.spec_from_file_location("simulate", EXAMPLES / "paper" / "simulate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.simulate


def check(session, plan, folder):
    session.release(plan, anyway=True).save(folder / "r.json")
    plan.save(folder / "p.json")
    assert list(verify(folder / "p.json"))
    return list(verify(folder / "r.json", session.ledger.path))


def test_there_are_examples():
    assert {"unbounded", "time-series", "generalization", "social-network"} <= set(PAPER)


@pytest.mark.parametrize("name", mostly_slow(PAPER, ["location", "secrets", "social-network"]))
def test_the_examples_of_the_paper_are_verified(name, simulate, tmp_path):
    policy = dx.Policy.load(EXAMPLES / "paper" / name / "policy.toml")
    simulate(policy, tmp_path / "people.csv", 50)
    queries = dx.load_queries(EXAMPLES / "paper" / name / "queries.toml")
    with dx.Session(policy, tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        checks = check(session, session.plan(queries, budget="50%"), tmp_path)
    assert [c.name for c in checks][-2:] == ["entry", "budget"]


@pytest.mark.parametrize(
    "queries",
    [
        ["count by sex, native"],
        slow(["count by sex, native", "mean age by sex within 5", "sum children", "marginals 2"]),
    ],
    ids=["one", "all"],
)
def test_the_household_example_is_verified(queries, tmp_path):
    home = EXAMPLES / "household"
    with dx.Session(
        home / "policy.toml", home / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as session:
        assert check(session, session.plan(*queries, budget="25%"), tmp_path)


@pytest.mark.soak
def test_the_demo_is_verified(tmp_path):
    tell(tmp_path / "demo")
    (release,) = (tmp_path / "demo").glob("release-*.json")
    assert list(verify(release, tmp_path / "demo" / "ledger.db"))
