"""Tables that share margins: plans and releases are accepted as they are, and refused where they were changed."""

import itertools
import json

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError, NotVerified
from dxprivacy.formats.canonical import sealed
from dxprivacy.optimize.k_norm.star_fit import StarMoments
from dxprivacy.session.session import read_plan
from dxprivacy.verify import verify_data
from dxprivacy.verify.stars import spreads

POLICY = """
title = "Things"
dataset = "things"
[attributes.color]
values = ["red", "green", "blue"]
epsilon = 0.8
[attributes.size]
values = ["s", "m", "l", "xl"]
epsilon = 0.5
[attributes.kind]
values = ["a", "b"]
epsilon = 1.0
"""
ASKED = [f"count by {a}, {b}" for a, b in itertools.combinations(("color", "size", "kind"), 2)]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stars")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    rng = np.random.default_rng(1)
    columns = (rng.choice(list(x), 400) for x in (["red", "green", "blue"], ["s", "m", "l", "xl"], ["a", "b"]))
    lines = ["color,size,kind", *(",".join(row) for row in zip(*columns, strict=True))]
    (folder / "things.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    policy = dx.Policy.load(folder / "policy.toml")
    session = dx.Session(policy, folder / "things.csv", ledger=folder / "ledger.db", new_ledger=True)
    plan = session.plan(*ASKED, budget="50%")
    release = session.release(plan)
    return plan, release, folder


def checked(data):
    return list(verify_data(json.loads(json.dumps(data))))


def resealed(data):
    return sealed({key: value for key, value in data.items() if key != "seal"})


def test_a_plan_and_its_release_are_accepted(released):
    plan, release, folder = released
    assert plan.method == "k-norm"
    assert any("noise agrees" in c.found for c in checked(plan.to_dict()))
    assert checked(json.loads(release.to_json()))
    again = read_plan(plan.save(folder / "kept.json"), dx.Policy.load(folder / "policy.toml"))
    assert again.request == plan.request
    assert again.errors == plan.errors
    assert again.to_dict() == plan.to_dict()


def test_counts_that_do_not_add_up_are_refused(released):
    _, release, _ = released
    data = json.loads(release.to_json())
    for k in range(len(data["noisy"])):
        noisy = list(data["noisy"])
        noisy[k] += 1
        with pytest.raises(NotVerified, match="add up"):
            checked(resealed({**data, "noisy": noisy}))


def test_smaller_scales_and_errors_are_refused(released):
    plan, _, _ = released
    data = plan.to_dict()
    with pytest.raises(NotVerified):
        checked(resealed({**data, "scales": [(float.fromhex(s) * 0.9).hex() for s in data["scales"]]}))
    data["answers"][5]["rmse"] *= 0.99
    with pytest.raises(NotVerified, match="rmse"):
        checked(resealed(data))


def test_a_margin_in_another_place_is_another_law(released):
    """The order of tables says which share a margin: moving one is refused, or told by its errors."""
    plan, _, folder = released
    policy = dx.Policy.load(folder / "policy.toml")
    data = plan.to_dict()
    queries = data["measured"]["queries"]
    for k in range(1, len(queries)):
        turned = [*queries[k:], *queries[:k]]
        forged = resealed({**data, "measured": {**data["measured"], "queries": turned}})
        with pytest.raises(DxError):
            checked(forged)
        path = folder / f"turned{k}.json"
        path.write_text(json.dumps(forged), encoding="utf-8")
        with pytest.raises(DxError):
            read_plan(path, policy)


@pytest.mark.parametrize("seed", range(6))
def test_both_programs_find_the_same_variances(seed):
    rng = np.random.default_rng(seed)
    values, groups = int(rng.integers(2, 9)), tuple(rng.integers(2, 30, int(rng.integers(0, 4))).tolist())
    margin, *weights = rng.uniform(0.01, 0.9, 1 + len(groups)).tolist()
    ours = StarMoments(values, groups).spread(margin, weights)
    theirs = spreads(values, margin, list(zip(groups, weights, strict=True)))
    assert theirs[0] == pytest.approx(ours.margin, rel=1e-9)
    assert theirs[1] == pytest.approx(list(ours.cells), rel=1e-9)
