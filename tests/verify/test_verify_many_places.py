"""A policy of three thousand places: its plan verifies, and no edit of what matters does, however well it is sealed."""

import copy
import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest

import dxprivacy as dx
from dxprivacy.errors import NotVerified
from dxprivacy.mechanisms.linear.plan_facts import Proof
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.verify import reading, verify_data

PLACES = 3_000
POLICY = """
title = "Homes"
dataset = "verify-3"
[attributes.home]
points = "places.csv"
epsilon = 1.0
per = "100 km"
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    rng = random.Random(11)
    lines = ["id,latitude,longitude,state,elevation"]
    for k in range(PLACES):
        latitude, longitude = rng.uniform(25, 49), rng.uniform(-124, -67)
        state = f"S{int((latitude - 25) / 6)}{int((longitude + 124) / 8)}"
        lines.append(f"{k},{latitude:.5f},{longitude:.5f},{state},{rng.randint(0, 3000)}")
    (folder / "places.csv").write_text("\n".join(lines) + "\n")
    (folder / "policy.toml").write_text(POLICY)
    (folder / "people.csv").write_text("home\n" + "".join(f"{rng.randrange(PLACES)}\n" for _ in range(20_000)))
    with dx.Session(
        folder / "policy.toml", folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True
    ) as session:
        session.plan("count by state", "mean elevation", budget="10%").save(folder / "plan.json")
    return json.loads((folder / "plan.json").read_text(encoding="utf-8"))


def sealed(plan):
    """With digests and seal as somebody would make them who knows how."""
    spec = plan["policy"]["metric"]
    spec["digest"] = reading.digest({"universe": plan["universe"]["digest"], "metric": spec["spec"]})
    plan["certificate"]["metric"] = spec["digest"]
    covered = {
        "metric": spec["digest"],
        "dataset": plan["policy"]["dataset"],
        "queries": plan["queries"],
        **{name: plan[name] for name in ("workload", "scales", "budget", "rows")},
    }
    plan["request"] = reading.digest(covered)
    plan["name"] = plan["request"][:4]
    return {**plan, "seal": reading.seal_of(plan)}


def smaller_scale(plan, row):
    plan["scales"][row] = (float.fromhex(plan["scales"][row]) * (1 - 1e-6)).hex()


def lower_ratio(plan):
    plan["certificate"]["ratio"] = str(Fraction(plan["certificate"]["ratio"]) * (1 - Fraction(1, 10**9)))


def higher_ratio(plan):
    plan["budget"] = str(Fraction(plan["budget"]) * 2)
    plan["certificate"]["ratio"] = str(Fraction(plan["certificate"]["ratio"]) * (1 + Fraction(1, 10**5)))


def other_witness(plan):
    i, j = plan["certificate"]["witness"]
    plan["certificate"]["witness"] = [i, j + 1 if j + 1 < PLACES else j - 1]


def moved_point(plan):
    """One of the closest pair a millimeter nearer to the other."""
    i, j = plan["certificate"]["witness"]
    spec = plan["policy"]["metric"]["spec"]
    rows = (spec.get("base", spec))["coordinates"]
    a, b = ([float.fromhex(x) for x in rows[k]] for k in (i, j))
    rows[i] = [(x + (y - x) * 1e-6).hex() for x, y in zip(a, b, strict=True)]


def test_the_plan_itself_verifies(plan):
    assert "certificate" in [check.name for check in verify_data(plan)]
    assert "certificate" in [check.name for check in verify_data(sealed(copy.deepcopy(plan)))]


EDITS = {
    "the scale of a count": lambda plan: [smaller_scale(plan, row) for row in range(len(plan["scales"]) - 2)],
    "the scale of the sum": lambda plan: smaller_scale(plan, len(plan["scales"]) - 2),
    "the scale of the number": lambda plan: smaller_scale(plan, len(plan["scales"]) - 1),
    "a lower ratio": lower_ratio,
    "a higher ratio": higher_ratio,
    "another witness": other_witness,
    "a moved point": moved_point,
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_refused(plan, name):
    edited = copy.deepcopy(plan)
    EDITS[name](edited)
    with pytest.raises(NotVerified):
        list(verify_data(sealed(edited)))


@pytest.mark.parametrize("name", ["a lower ratio", "a higher ratio", "another witness", "a moved point"])
def test_it_is_the_certificate_that_refuses_it(plan, name):
    edited = copy.deepcopy(plan)
    EDITS[name](edited)
    with pytest.raises(NotVerified) as refused:
        list(verify_data(sealed(edited)))
    assert refused.value.where.startswith("certificate")


def of_one_country(folder, other, *asked):
    """Places of one country, so that only `other` differs in its count."""
    rng = random.Random(3)
    lines = [f"p{k},US,S{k % 3},{rng.uniform(30, 45):.4f},{rng.uniform(-120, -75):.4f}" for k in range(450)]
    (folder / "places.csv").write_text("id,country,state,latitude,longitude\n" + "\n".join(lines) + "\n")
    home = f'[attributes.home]\npoints = "places.csv"\nepsilon = 1.0\nper = "100 km"\nother = {{ epsilon = {other} }}\n'
    (folder / "policy.toml").write_text('title = "t"\ndataset = "d"\n' + home)
    policy = dx.Policy.load(folder / "policy.toml")
    return dx.plan(["count by home.country", *asked], policy.metric, n_records=1000, budget="25%", method="optimal")


def forged(plan, scales, ratio, witness=None):
    proof = Proof(LaplaceCost(plan.workload, scales), replace(plan.certificate, ratio=ratio, witness=witness))
    return json.loads(json.dumps(replace(plan, scales=tuple(scales), proof=proof).to_dict()))


def test_an_exact_row_that_only_other_shows_hides_no_other_row(tmp_path):
    plan = of_one_country(tmp_path, "inf", "count by home.state")
    assert plan.scales[0] == 0
    honest = verify_data(json.loads(json.dumps(plan.to_dict())))
    assert any(check.name == "certificate" and "25 %" in check.found for check in honest)
    with pytest.raises(NotVerified, match="certificate"):
        list(verify_data(forged(plan, [s / 1000 for s in plan.scales], Fraction(0))))


@pytest.mark.parametrize("asked", [(), ("count by home.state",)])
def test_an_exact_row_that_only_other_shows_is_refused_where_other_is_no_public_matter(tmp_path, asked):
    plan = of_one_country(tmp_path, "40", *asked)
    assert plan.scales[0] > 0
    ratio, witness = (plan.certificate.ratio, plan.certificate.witness) if asked else (Fraction(0), None)
    with pytest.raises(NotVerified, match="without limit"):
        list(verify_data(forged(plan, [0.0, *plan.scales[1:]], ratio, witness)))
