"""Plans that count other rows than those asked for: their files verify, and what was changed is refused."""

import copy
import json

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import NotVerified
from dxprivacy.formats.canonical import sealed
from dxprivacy.verify import verify, verify_data

POLICY = """
title = "Kiosk"
dataset = "kiosk"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.age]
integers = [0, 15]
epsilon = 1
per = 4
[attributes.job]
values = ["a", "b", "c"]
epsilon = 0.5
"""
KINDS = {
    "ranges": (["ranges age", "count by sex"], "auto"),
    "tables": (["marginals 2"], "auto"),
    "mixed": (["ranges age/2", "count by sex, job", "count"], "auto"),
    "biased": (["count where sex=M and job=a"], "biased"),
}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Per kind: the plan's and the release's file, and the ledger."""
    out = {}
    for kind, (queries, method) in KINDS.items():
        place = tmp_path_factory.mktemp(kind)
        (place / "policy.toml").write_text(POLICY)
        rows = 6 if kind == "biased" else 300
        people = "".join(f"{'MF'[k % 2]},{k % 16},{'abc'[k % 3]}\n" for k in range(rows))
        (place / "people.csv").write_text("sex,age,job\n" + people)
        with dx.Session(
            place / "policy.toml", place / "people.csv", ledger=place / "ledger.db", new_ledger=True
        ) as session:
            plan = session.plan(*queries, method=method, budget="60%")
            assert not plan.measured.as_asked
            plan.save(place / "plan.json")
            session.release(plan, anyway=True).save(place / "release.json")
        out[kind] = place
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_plan_release_and_ledger_are_verified(released, kind):
    place = released[kind]
    assert [c.name for c in verify(place / "plan.json")][-1] == "worst case"
    assert [c.name for c in verify(place / "release.json", place / "ledger.db")][-1] == "budget"


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_loaded_again_and_its_release_comes_back_at_no_cost(released, kind):
    place = released[kind]
    with dx.Session(
        place / "policy.toml", place / "people.csv", ledger=place / "ledger.db", new_ledger=True
    ) as session:
        plan = session.load_plan(place / "plan.json")
        outcome = session.answer(plan)
        assert outcome.replayed
        assert [a.value for a in outcome.release.answers] == [
            a["value"] for a in json.loads((place / "release.json").read_text())["answers"]
        ]
        told = session.ledger.entries()[0].title
    assert told == " + ".join(KINDS[kind][0])


def resealed(data, path, value):
    """A copy with one member changed and the seal made anew, as somebody who wants to deceive would do it."""
    data = copy.deepcopy(data)
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value(at[path[-1]])
    return sealed({k: v for k, v in data.items() if k != "seal"})


def smaller(scale):
    return (float.fromhex(scale) / 2).hex()


EDITS = {
    "a smaller scale": (["scales", 0], smaller),
    "a value": (["answers", 1, "value"], lambda x: x + 1.5),
    "a wider interval": (["answers", 1, "high"], lambda x: x + 2.0),
    "a narrower interval": (["answers", 1, "low"], lambda x: x + 0.5),
    "a noisy number": (["noisy", 0], lambda x: x + 50_000_000),
    "another way": (["measured", "how"], lambda x: "row for row" if x == "least squares" else "least squares"),
    "no such way": (["measured", "how"], lambda _: "by hand"),
    "another digest": (["measured", "workload"], lambda x: x[::-1]),
    "other rows": (["measured", "queries"], lambda x: x[1:] or x + x),
    "no note": (["notes"], lambda x: x[:-1]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", EDITS)
def test_what_was_changed_on_purpose_is_refused(released, kind, edit):
    data = json.loads((released[kind] / "release.json").read_text())
    path, change = EDITS[edit]
    if path[0] == "answers" and len(data["answers"]) == 1:
        path = ["answers", 0, path[2]]
    with pytest.raises(NotVerified):
        list(verify_data(resealed(data, path, change)))


@pytest.mark.parametrize("kind", KINDS)
def test_errors_that_were_made_smaller_are_refused(released, kind):
    data = json.loads((released[kind] / "plan.json").read_text())
    for name in ("rmse", "typical_error", "half_width_95"):
        with pytest.raises(NotVerified):
            list(verify_data(resealed(data, ["answers", 0, name], lambda x: x * 0.9 + 0.001)))


def test_a_release_of_ranges_agrees_with_itself(released):
    data = json.loads((released["ranges"] / "release.json").read_text())
    value = {a["label"]: a["value"] for a in data["answers"]}
    assert value["0–7"] + value["8–15"] == pytest.approx(value["0–15"])
    assert np.isclose(value["3–5"], value["3"] + value["4"] + value["5"])
