"""Plans, releases, choices and ledgers that version 0.1.0 wrote are read, verified and repeated as they were meant."""

import json
import shutil
from pathlib import Path

import pytest

import dxprivacy as dx
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.verify import verify

OLD = Path(__file__).parents[1] / "data" / "v0_1_0"
PLANS = sorted(OLD.glob("plan-*.json"))
RELEASES = sorted((OLD / "releases").glob("*.json"))


@pytest.fixture
def here(tmp_path):
    shutil.copytree(OLD, tmp_path / "old")
    return tmp_path / "old"


@pytest.mark.parametrize("plan", PLANS, ids=lambda p: p.stem)
def test_old_plans_are_verified(plan):
    assert [check.name for check in verify(plan)][-1] == "worst case"


@pytest.mark.parametrize("release", RELEASES, ids=lambda p: p.stem)
def test_old_releases_are_verified_against_their_ledger(here, release):
    names = [check.name for check in verify(release, here / "ledger.db")]
    assert {"certificate", "answers", "promise", "budget"} <= set(names)


@pytest.mark.parametrize("plan", PLANS, ids=lambda p: p.stem)
def test_old_plans_are_repeated_from_the_ledger_at_no_cost(here, plan):
    policy = dx.Policy.load(here / "policy.toml")
    with dx.Session(policy, here / "people.csv", ledger=here / "ledger.db", new_ledger=True) as session:
        before = len(session.ledger.entries())
        loaded = load_plan(json.loads(plan.read_text()), policy.metric, dataset=policy.dataset, title=policy.title)
        stored = json.loads((here / "releases" / f"release-{loaded.name}.json").read_text())
        again = session.release(loaded)
        assert len(session.ledger.entries()) == before
        assert [row["value"] for row in again.rows()] == [row["value"] for row in stored["answers"]]
        assert again.facts["noisy"] == stored["noisy"]
