"""Plans and releases with k-norm noise: accepted as they are, refused where counts do not nest or do not add up."""

import json

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import NotVerified
from dxprivacy.formats.canonical import sealed
from dxprivacy.session.session import read_plan
from dxprivacy.verify import verify_data
from dxprivacy.verify.k_norm import check_sums, nested

POLICY = """
title = "Colors"
dataset = "colors"
[attributes.color]
values = ["red", "green", "blue", "white", "black"]
epsilon = 0.8
[attributes.age]
integers = [0, 15]
epsilon = 1.0
per = 1
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("k-norm")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    rng = np.random.default_rng(1)
    colors = rng.choice(["red", "green", "blue", "white", "black", "?"], 500)
    lines = ["color,age", *(f"{c},{a}" for c, a in zip(colors, rng.integers(0, 16, 500), strict=True))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    policy = dx.Policy.load(folder / "policy.toml")
    session = dx.Session(policy, folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True)
    plan = session.plan("count by color", method="k-norm", budget="50%")
    release = session.release(plan)
    return plan, release, folder


def checked(data):
    return list(verify_data(json.loads(json.dumps(data))))


def test_a_plan_and_its_release_are_accepted(released):
    plan, release, _ = released
    assert plan.method == "k-norm"
    assert any("nested counts" in c.found for c in checked(plan.to_dict()))
    assert checked(json.loads(release.to_json()))
    assert all(row.value == round(row.value) for row in release.answers)


def resealed(data):
    return sealed({key: value for key, value in data.items() if key != "seal"})


def test_counts_that_do_not_add_up_are_refused(released):
    _, release, _ = released
    data = json.loads(release.to_json())
    for k in range(len(data["noisy"])):
        noisy = list(data["noisy"])
        noisy[k] += 1
        with pytest.raises(NotVerified, match="add up"):
            checked(resealed({**data, "noisy": noisy}))


def test_an_error_that_is_not_that_of_the_noise_is_refused(released):
    plan, _, _ = released
    data = plan.to_dict()
    data["answers"][0]["rmse"] *= 0.99
    with pytest.raises(NotVerified, match="rmse"):
        checked(resealed(data))


def test_smaller_scales_are_refused(released):
    plan, _, _ = released
    data = plan.to_dict()
    data["scales"] = [(float.fromhex(s) * 0.9).hex() for s in data["scales"]]
    with pytest.raises(NotVerified):
        checked(resealed(data))


def test_a_plan_comes_back_from_its_file(released):
    plan, _, folder = released
    path = plan.save(folder / "kept.json")
    again = read_plan(path, dx.Policy.load(folder / "policy.toml"))
    assert again.request == plan.request
    assert again.errors == plan.errors
    assert again.to_dict() == plan.to_dict()


@pytest.mark.parametrize(
    "rows",
    [
        {0: {0, 1}, 1: {1, 2}, 2: {0}, 3: {1}, 4: {2}},
        {0: {0}, 1: {1}},
        {0: {0}, 1: {1}, 2: {2}, 3: {0}},
        {0: {0}, 1: {1}, 2: {2}, 3: {0, 1, 2}},
    ],
)
def test_the_verifier_sees_what_is_no_nest(rows):
    with pytest.raises(NotVerified):
        nested({k: frozenset(v) for k, v in rows.items()}, 3)


def test_sums_are_checked_down_to_the_cells():
    top = nested({k: frozenset(v) for k, v in {0: {0}, 1: {1}, 2: {2}, 3: {0, 1}}.items()}, 3)
    assert check_sums(top, {0: 1, 1: -2, 2: 5, 3: -1}, 4) == [1, -2, 5]
    with pytest.raises(NotVerified, match="add up"):
        check_sums(top, {0: 1, 1: -2, 2: 5, 3: 0}, 4)
    with pytest.raises(NotVerified, match="add up"):
        check_sums(top, {0: 1, 1: -2, 2: 5, 3: -1}, 5)
