"""Plans that carry the way back: its products are checked exactly, and both sides work with the very same numbers."""

import copy
import json
from fractions import Fraction

import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError, NotVerified
from dxprivacy.session import read_plan
from dxprivacy.verify import verify_data
from verify.edits import resealed
from verify.test_verify_refuses import refusal

POLICY = """
title = "R"
dataset = "r"
[attributes.age]
integers = [0, 15]
epsilon = 0.5
per = 1
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
"""
PEOPLE = "age,sex\n" + "".join(f"{k % 16},{'MF'[k % 2]}\n" for k in range(300))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("back")
    (folder / "policy.toml").write_text(POLICY)
    (folder / "people.csv").write_text(PEOPLE)
    with dx.Session(
        folder / "policy.toml", folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True
    ) as session:
        plan = session.plan("ranges age/2", "count by sex", "count", budget="50%", method="matrix")
        plan.save(folder / "plan.json")
        release = session.release(session.load_plan(folder / "plan.json"))
        return plan, json.loads(json.dumps(plan.to_dict())), json.loads(release.to_json()), folder / "ledger.db"


def test_the_reconstruction_is_in_both_files_and_verified(made):
    plan, data, release, ledger = made
    assert (data["format"], release["format"]) == ("dxprivacy-plan/6", "dxprivacy-release/6")
    assert data["measured"] == release["measured"]
    assert [check.name for check in verify_data(data)][-1] == "worst case"
    assert [check.name for check in verify_data(release, ledger)][-1] == "budget"
    carried = data["measured"]["reconstruction"]
    sums = [c * release["records"] for c in carried["constants"]]
    for row, column, entry in zip(carried["rows"], carried["columns"], carried["entries"], strict=True):
        sums[row] += entry * release["noisy"][column]
    for answer, stated in zip(plan.workload.answers, release["answers"], strict=True):
        assert stated["value"] == float(Fraction(sums[answer.rows[0]], carried["denominator"]))


def test_it_differs_from_least_squares_by_far_less_than_the_noise(made):
    plan, _, release, _ = made
    import numpy as np

    way, noisy = plan.measured, np.array(release["noisy"])
    carried = way.estimate(noisy, plan.scales, 300)
    exact = way.reconstruction(plan.scales)
    way._carried = (tuple(plan.scales), None)
    floats = way.estimate(noisy, plan.scales, 300)
    way._carried = (tuple(plan.scales), exact)
    assert max(abs(float(x) - float(y)) for x, y in zip(carried, floats, strict=True)) < 1e-5 * max(plan.scales)


def test_a_file_of_the_edition_before_is_verified_by_solving(made):
    _, data, _, _ = made
    older = copy.deepcopy(data) | {"format": "dxprivacy-plan/5"}
    del older["measured"]["reconstruction"]
    assert refusal(resealed(older)) is None
    assert isinstance(refusal(resealed({**data, "format": "dxprivacy-plan/5"})), NotVerified)
    assert isinstance(refusal(resealed({**older, "format": "dxprivacy-plan/6"})), NotVerified)


EDITS = [
    lambda r: r["entries"].__setitem__(0, r["entries"][0] + 1),
    lambda r: r["constants"].__setitem__(0, r["constants"][0] + 1),
    lambda r: r.update(denominator=r["denominator"] + 1),
    lambda r: r.update(denominator=0),
    lambda r: [r[name].pop() for name in ("rows", "columns", "entries")],
    lambda r: r["rows"].pop(),
    lambda r: r["constants"].pop(),
    lambda r: r["columns"].__setitem__(0, 10**6),
    lambda r: r["columns"].reverse(),
    lambda r: [r[name].append(r[name][-1]) for name in ("rows", "columns", "entries")],
    lambda r: r.update(entries=[2 * x for x in r["entries"]], constants=[2 * x for x in r["constants"]],
                       denominator=2 * r["denominator"]),
    lambda r: r["entries"].__setitem__(0, 0.5),
    lambda r: r.update(more=1),
    lambda r: r.pop("constants"),
]  # fmt: skip


@pytest.mark.parametrize("change", EDITS)
@pytest.mark.parametrize("kind", ["plan", "release"])
def test_an_edited_reconstruction_is_refused(made, change, kind):
    data = copy.deepcopy(made[1] if kind == "plan" else made[2])
    change(data["measured"]["reconstruction"])
    assert isinstance(refusal(resealed(data)), NotVerified)


@pytest.mark.parametrize("change", [EDITS[0], EDITS[1], EDITS[3], EDITS[5], EDITS[7], EDITS[11], EDITS[12]])
def test_whoever_releases_refuses_it_too(made, change, tmp_path):
    _, data, _, ledger = made
    edited = copy.deepcopy(data)
    change(edited["measured"]["reconstruction"])
    (tmp_path / "plan.json").write_text(json.dumps(resealed(edited)))
    with dx.Session(
        ledger.parent / "policy.toml", ledger.parent / "people.csv", ledger=ledger, new_ledger=True
    ) as session:
        before = len(session.ledger.entries())
        with pytest.raises(DxError):
            session.load_plan(tmp_path / "plan.json")
        assert len(session.ledger.entries()) == before


def test_a_value_that_is_only_nearly_what_follows_is_refused(made):
    release = copy.deepcopy(made[2])
    answer = next(a for a in release["answers"] if not a["exact"])
    answer["value"] += 1e-9 * abs(answer["value"]) + 1e-9
    assert isinstance(refusal(resealed(release)), NotVerified)


def vanishing(rows):
    """Whole numbers, not all 0, by which rows and the total add up to nothing: elimination in fractions."""
    from math import lcm

    ones = [[Fraction(1)] * len(rows[0]), *([Fraction(int(x)) for x in row] for row in rows)]
    made = [[Fraction(int(a == b)) for b in range(len(ones))] for a in range(len(ones))]
    pivots = []
    for k, row in enumerate(ones):
        for at, column in pivots:
            factor = row[column] / ones[at][column]
            if factor:
                row[:] = [x - factor * y for x, y in zip(row, ones[at], strict=True)]
                made[k] = [x - factor * y for x, y in zip(made[k], made[at], strict=True)]
        column = next((c for c, x in enumerate(row) if x), None)
        if column is None:
            common = lcm(*(x.denominator for x in made[k]))
            return [int(x * common) for x in made[k]]
        pivots.append((k, column))
    return None


def test_a_reconstruction_with_more_noise_than_it_needs_is_refused_by_both(tmp_path):
    """It tells what is asked, for every table; but whoever adds what vanishes adds noise that no error tells of."""
    (tmp_path / "people.csv").write_text("a,b,c\n" + "x,x,x\n" * 100)
    values = "".join(
        f'[attributes.{n}]\nvalues = ["x", "y"]\nepsilon = {e}\n' for n, e in (("a", 1), ("b", 2), ("c", 4))
    )
    policy = dx.Policy.parse(f'title = "T"\ndataset = "t"\n{values}')
    with dx.Session(policy, tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        plan = session.plan("marginals 2", "count by a", method="matrix", budget="50%")
        data = json.loads(json.dumps(plan.to_dict()))
        carried = data["measured"]["reconstruction"]
        free = vanishing(plan.counted.dense())
        assert free is not None
        row, times = carried["rows"][0], 1000 * carried["denominator"]
        carried["constants"][row] += free[0] * times
        entries = dict(zip(zip(carried["rows"], carried["columns"], strict=True), carried["entries"], strict=True))
        for column, weight in enumerate(free[1:]):
            if weight:
                entries[row, column] = entries.get((row, column), 0) + weight * times
        places = sorted(entries)
        carried |= {"rows": [r for r, _ in places], "columns": [c for _, c in places]}
        carried["entries"] = [entries[place] for place in places]
        (tmp_path / "plan.json").write_text(json.dumps(resealed(data)))
        with pytest.raises(DxError, match="more noise"):
            session.load_plan(tmp_path / "plan.json")
    assert isinstance(refusal(resealed(data)), NotVerified)


@pytest.mark.parametrize("edit", ["in parts", "twice huge", "out of order", "nought"])
def test_places_stand_once_and_in_order(made, edit, tmp_path):
    """An entry in parts has the same sum, and a variance that nobody sees."""
    _, data, _, ledger = made
    changed = copy.deepcopy(data)
    carried = changed["measured"]["reconstruction"]
    lists = [carried[name] for name in ("rows", "columns", "entries")]
    match edit:
        case "in parts":
            for some, value in zip(lists, (carried["rows"][0], carried["columns"][0], 1), strict=True):
                some.insert(0, value)
            carried["entries"][1] -= 1
        case "twice huge":
            for _ in range(6):
                for some, value in zip(lists, (carried["rows"][0], carried["columns"][0], 1 << 61), strict=True):
                    some.insert(0, value)
        case "out of order":
            for some in lists:
                some[0], some[1] = some[1], some[0]
        case _:
            for some, value in zip(lists, (0, 0, 0), strict=True):
                some.insert(0, value)
    (tmp_path / "plan.json").write_text(json.dumps(resealed(changed)))
    (tmp_path / "policy.toml").write_text(POLICY)
    policy = dx.Policy.load(tmp_path / "policy.toml")
    with pytest.raises(DxError, match="reconstruction"):
        read_plan(tmp_path / "plan.json", policy)
    assert isinstance(refusal(resealed(changed)), NotVerified)
