"""Tables that are noised together: files accepted as they are, forged ones refused, and what a ledger makes of them."""

import json

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, DxError, NotVerified
from dxprivacy.formats.canonical import digest_of, sealed
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.queries.asking import gather
from dxprivacy.session.session import read_plan
from dxprivacy.verify import verify, verify_data

POLICY = """
title = "Answers"
dataset = "answers"
[attributes.color]
values = ["red", "green", "blue"]
epsilon = 1.0
[attributes.owns]
values = ["Y", "N"]
epsilon = 1.0
[attributes.town]
values = ["A", "B", "C", "D"]
epsilon = 0.5
[combine]
how = "max"
"""
ASKED = ("count by color", "count where owns=Y", "count by town")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("block-max")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    rng = np.random.default_rng(1)
    columns = [rng.choice(v, 400) for v in (["red", "green", "blue", "?"], ["Y", "N"], ["A", "B", "C", "D"])]
    lines = ["color,owns,town", *(",".join(row) for row in zip(*columns, strict=True))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    policy = dx.Policy.load(folder / "policy.toml")
    session = dx.Session(policy, folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True)
    plan = session.plan(*ASKED, method="k-norm", budget="50%")
    return plan, session.release(plan), session, folder


def checked(data):
    return list(verify_data(json.loads(json.dumps(data))))


def written(plan):
    return json.loads(json.dumps(plan.to_dict()))


def resealed(data):
    return sealed({key: value for key, value in data.items() if key != "seal"})


def renamed(data):
    """Sealed anew, with the request that belongs to what the file says now."""
    covered = {
        "measured": [data["measured"]["how"], data["measured"]["workload"]],
        "metric": data["policy"]["metric"]["digest"],
        "dataset": data["policy"]["dataset"],
        "queries": [{k: v for k, v in q.items() if k != "title"} for q in data["queries"]],
        **{name: data[name] for name in ("workload", "scales", "budget", "rows")},
    }
    request = digest_of(covered)
    return resealed({**data, "request": request, "name": request[:4]})


def test_a_plan_and_its_release_are_accepted(released):
    plan, release, _, folder = released
    assert plan.measured.how == "block-max"
    assert any("one distribution" in c.found for c in checked(plan.to_dict()))
    data = json.loads(release.to_json())
    assert checked(data)
    assert checked(renamed(plan.to_dict())), "or what is forged below is refused for another reason"
    assert data["certificate"]["norm"] == "linf"
    assert all(row.value == round(row.value) for row in release.answers)
    path = release.save(folder / "release.json")
    names = [check.name for check in verify(path, folder / "ledger.db")]
    assert "entry" in names
    assert "budget" in names


def test_a_plan_comes_back_from_its_file(released):
    plan, _, _, folder = released
    again = read_plan(plan.save(folder / "kept.json"), dx.Policy.load(folder / "policy.toml"))
    assert again.request == plan.request
    assert again.errors == plan.errors
    assert again.to_dict() == plan.to_dict()


def test_counts_that_do_not_add_up_are_refused(released):
    _, release, _, _ = released
    data = json.loads(release.to_json())
    for k in range(len(data["noisy"])):
        noisy = list(data["noisy"])
        noisy[k] += 1
        with pytest.raises(NotVerified, match="add up"):
            checked(resealed({**data, "noisy": noisy}))


def test_smaller_scales_are_refused(released):
    plan, _, _, _ = released
    data = written(plan)
    data["scales"] = [(float.fromhex(s) * 0.9).hex() for s in data["scales"]]
    with pytest.raises(NotVerified):
        checked(renamed(data))
    with pytest.raises(DxError):
        load_plan(renamed(data), plan.metric, dataset="answers")


def test_a_cell_with_a_scale_of_its_own_is_refused(released):
    plan, _, _, _ = released
    data = written(plan)
    data["scales"][0] = (float.fromhex(data["scales"][0]) * 2).hex()
    with pytest.raises(NotVerified, match="one scale for each table"):
        checked(renamed(data))
    with pytest.raises(DxError, match="one positive scale"):
        load_plan(renamed(data), plan.metric, dataset="answers")


@pytest.mark.parametrize("how", ["k-norm", "least squares", "nothing"])
def test_another_way_is_refused_with_the_same_certificate(released, how):
    """Independent noise of these scales would lose the sum of all tables: the largest is not enough for it."""
    plan, _, _, _ = released
    data = written(plan)
    data["measured"] = {**data["measured"], "how": how}
    with pytest.raises(NotVerified):
        checked(renamed(data))
    with pytest.raises(DxError):
        load_plan(renamed(data), plan.metric, dataset="answers")


def test_consistent_noise_does_not_pass_for_tables_together(released):
    """The other way round: rows of one attribute have a sum of losses, which nobody may call a largest one."""
    _, _, session, _ = released
    plan = session.plan("count by color", method="k-norm", budget="10%")
    assert plan.measured.how == "k-norm"
    data = written(plan)
    data["measured"] = {**data["measured"], "how": "block-max"}
    with pytest.raises(NotVerified, match="several"):
        checked(renamed(data))
    with pytest.raises(DxError):
        load_plan(renamed(data), plan.metric, dataset="answers")


def test_independent_noise_does_not_pass_for_tables_together(released):
    _, _, session, _ = released
    plan = session.plan(*ASKED, method="optimal", budget="10%")
    data = written(plan)
    asked = {"how": "block-max", "queries": data["queries"], "workload": data["workload"]}
    with pytest.raises(NotVerified, match="tables together"):
        checked(renamed({**data, "measured": asked}))


def test_a_cell_that_is_not_counted_is_refused(released):
    plan, _, _, _ = released
    data = written(plan)
    put = data["measured"]["queries"]
    assert len(put) == 3
    for k in range(3):
        fewer = [q for j, q in enumerate(put) if j != k]
        with pytest.raises(NotVerified):
            checked(renamed({**data, "measured": {**data["measured"], "queries": fewer}}))


@pytest.mark.parametrize(
    ("counted", "told"),
    [
        (("count by color", "count where owns=Y", "count where owns=N", "count by town"), "every cell once"),
        (("count by color", "count where owns=Y", "count where owns!=Y", "count by town"), "every cell once"),
        (("count by color", "count by color", "count by owns", "count by town"), "every cell once"),
        (("count by color, owns", "count by town"), "tables together"),
        (("count by color, owns", "count where color=other", "count by town"), "tables together"),
    ],
)
def test_rows_that_are_no_tables_are_refused_with_right_digests(released, counted, told):
    """Each would lose more than the largest of its rows: a record in two rows of a table, or a table of fewer cells."""
    plan, _, _, _ = released
    put = gather(list(counted))
    rows = put.on(plan.metric.universe)
    data = written(plan)
    data["measured"] = {"how": "block-max", "queries": put.to_dict(), "workload": rows.digest}
    data["scales"] = [(64.0).hex()] * rows.rows
    with pytest.raises(NotVerified, match=told):
        checked(renamed(data))
    with pytest.raises(DxError):
        load_plan(renamed(data), plan.metric, dataset="answers")


def test_an_error_that_is_not_that_of_the_noise_is_refused(released):
    plan, _, _, _ = released
    for name, times in (("rmse", 0.99), ("typical_error", 0.99), ("half_width_95", 0.8)):
        data = written(plan)
        data["answers"][0][name] *= times
        with pytest.raises(NotVerified, match=name):
            checked(resealed(data))


def test_a_certificate_of_another_norm_is_refused(released):
    plan, _, _, _ = released
    data = written(plan)
    data["certificate"] = {**data["certificate"], "norm": "l1"}
    with pytest.raises(NotVerified, match="another norm"):
        checked(resealed(data))


def test_releases_add_up_in_the_ledger_and_no_more_fits_than_there_is(released):
    plan, release, session, folder = released
    (entry,) = session.ledger.entries()
    assert type(entry.cost).__name__ == "BlockMaxCost"
    assert not entry.title.startswith("selection")
    assert session.release(plan).answers == release.answers
    assert len(session.ledger.entries()) == 1, "the same plan again costs nothing"
    second = session.plan(*ASKED[:2], method="k-norm", budget="50%")
    path = session.release(second).save(folder / "second.json")
    assert "budget" in [check.name for check in verify(path, folder / "ledger.db")]
    universe = session.ledger.universe
    i, j = universe.index([{"color": c, "owns": o, "town": "A"} for c, o in (("red", "Y"), ("blue", "N"))]).tolist()
    assert session.ledger.spent.exact(i, j) == plan.cost.exact(i, j) + second.cost.exact(i, j)
    with pytest.raises(DxError, match=r"left|exceeded"):
        session.release(session.plan("count by town", "count where owns=N", method="k-norm", budget="60%"))
    third = session.plan("count by town", "count where owns=N", method="k-norm", budget="10%")
    with pytest.raises(BudgetExceeded):
        session.ledger.reserve(third.cost, third.counted_queries, request="more")
    assert len(session.ledger.entries()) == 2
