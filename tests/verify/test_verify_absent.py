"""Records that may be added and removed: what protects presence cannot be edited away, digests recomputed or not."""

import copy
import math
from dataclasses import replace
from fractions import Fraction

import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from dxprivacy.errors import NotVerified, Undecided
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.verify import directions, reading, verify_data
from dxprivacy.verify.certificate import tightest
from verify.edits import resealed
from verify.test_verify_accepts import loss_of, read_back
from verify.test_verify_refuses import redigested, refusal


def at_label(data, label):
    return next(k for k, a in enumerate(data["answers"]) if a["label"] == label)


def smaller_count_scale(data):
    assert data["answers"][0]["label"] == "count"
    data["scales"][0] = (float.fromhex(data["scales"][0]) * 0.999).hex()


def exact_count(data):
    data["scales"][0] = (0.0).hex()


def smaller_scales(data):
    data["scales"] = [(float.fromhex(s) * 0.999).hex() for s in data["scales"]]


def a_little_less_noise_on_a_prefix(data):
    data["scales"][-1] = (float.fromhex(data["scales"][-1]) * (1 - 2**-20)).hex()


def stricter_presence(data):
    data["policy"]["metric"]["spec"]["radius"] = "1/4"


def looser_presence(data):
    data["policy"]["metric"]["spec"]["radius"] = "3/4"


def public_presence(data):
    data["policy"]["metric"]["spec"]["radius"] = "inf"


def presence_like_a_missing_value(data):
    data["policy"]["metric"]["spec"]["kind"] = "with-other"


def nobody_absent(data):
    data["universe"]["attributes"].pop()
    data["policy"]["metric"]["spec"] = data["policy"]["metric"]["spec"]["base"]
    data["policy"]["neighbors"] = "replace"


def nobody_absent_in_the_universe(data):
    data["universe"]["attributes"].pop()


def absent_in_front(data):
    data["universe"]["attributes"].insert(0, data["universe"]["attributes"].pop())


def absent_twice(data):
    data["universe"]["attributes"].append(data["universe"]["attributes"][-1])


def another_unit_of_privacy(data):
    data["policy"]["neighbors"] = "replace"


def other_unit_names(data):
    data["policy"]["neighbors"] = "add"


def no_limit_of_records(data):
    data["universe"]["attributes"][-1]["max_records"] = None


def a_limit_of_no_records(data):
    data["universe"]["attributes"][-1]["max_records"] = 0


def more_about_the_absent(data):
    data["universe"]["attributes"][-1]["name"] = "absent"


def another_rule(data):
    data["certificate"]["rule"] = "one attribute at a time, and absence"


def a_witness_that_is_there(data):
    data["certificate"]["witness"] = [0, 1]


def understated_ratio(data):
    data["certificate"]["ratio"] = "1/3"


def smaller_worst_case(data):
    data["worst_case_epsilon"] *= 0.99


def another_weight(data):
    query = next(q for q in data["queries"] if "weight" in q)
    query["weight"] = "3"


def another_day(data):
    query = next(q for q in data["queries"] if "title" in q)
    query["where"][0][1]["to"] = "2026-02-02"


def another_title(data):
    query = next(q for q in data["queries"] if "title" in q)
    query["title"] += "?"


def longer_range_of_days(data):
    data["universe"]["attributes"][1]["range"][1] = "2026-02-04"


def wider_cells(data):
    data["universe"]["attributes"][2]["step"] = "1500"


def longer_series(data):
    data["universe"]["attributes"][3]["columns"].append("later")


def closer_sexes(data):
    table = data["policy"]["metric"]["spec"]["base"]["axes"][0]["table"]
    table[0] = table[0].replace("3", "1", 1)


def smaller_steps_of_pain(data):
    for axis in data["policy"]["metric"]["spec"]["base"]["axes"][3]["base"]["axes"]:
        axis["per_unit"] = "1/100"


BOTH = [
    smaller_count_scale, exact_count, smaller_scales, a_little_less_noise_on_a_prefix, stricter_presence,
    looser_presence, public_presence, presence_like_a_missing_value, nobody_absent, nobody_absent_in_the_universe,
    absent_in_front, absent_twice, another_unit_of_privacy, other_unit_names, no_limit_of_records,
    a_limit_of_no_records, more_about_the_absent, another_rule, a_witness_that_is_there, understated_ratio,
    smaller_worst_case, another_weight, another_day, another_title, longer_range_of_days, wider_cells, longer_series,
    closer_sexes, smaller_steps_of_pain,
]  # fmt: skip


def records_told(data):
    data["records"] = 150


def guarantee_of_a_public_number(data):
    data["guarantee"][0] = data["guarantee"][0].replace("is private", "(150) is treated as public")


def guarantee_about_replacing_only(data):
    data["guarantee"][0] = data["guarantee"][0].replace(", added or removed (j = absent)", "")


def pairs_without_the_absent(data):
    data["guarantee"][1] = data["guarantee"][1].replace("64,980", "64,620")


def no_note_about_the_number(data):
    data["notes"].pop()


def other_groups(data):
    answer = next(a for a in data["answers"] if a["groups"])
    answer["groups"] = {name: label + "x" for name, label in answer["groups"].items()}


def groups_under_another_name(data):
    answer = next(a for a in data["answers"] if a["groups"])
    answer["groups"] = {name + "x": label for name, label in answer["groups"].items()}


def no_groups(data):
    next(a for a in data["answers"] if a["groups"])["groups"] = {}


RELEASE = [
    records_told, guarantee_of_a_public_number, guarantee_about_replacing_only, pairs_without_the_absent,
    no_note_about_the_number, other_groups, groups_under_another_name, no_groups,
]  # fmt: skip

CONSISTENT = {
    presence_like_a_missing_value: "the same distances under another name",
    looser_presence: "another policy, which this plan keeps too: no pair with an absence is its tightest",
    closer_sexes: "another policy, which this plan keeps too: its digest tells, and the ledger",
    another_day: "another query under the same title: the request tells, and the ledger",
}
EDITS = [("plan", c) for c in BOTH] + [("release", c) for c in [*BOTH, *RELEASE]]
LONG = [("release", presence_like_a_missing_value), ("release", exact_count)]


@pytest.mark.parametrize(
    ("kind", "change"), mostly_slow(EDITS, [x for x in EDITS if x not in LONG]),
    ids=lambda x: x if isinstance(x, str) else x.__name__,
)  # fmt: skip
def test_what_was_changed_on_purpose_is_refused(clinic, kind, change):
    data = clinic.read(kind)
    change(data)
    assert refusal(data).where in ("seal", "format")
    error = refusal(resealed(data))
    assert isinstance(error, NotVerified)
    assert error.where != "seal"
    try:
        again = redigested(data)
    except NotVerified:
        return  # such a universe or query cannot even be read
    error = refusal(again)
    if error is None and change in CONSISTENT:
        assert kind == "plan" or isinstance(refusal(again, clinic.ledger), NotVerified)
        return
    assert isinstance(error, NotVerified)
    assert error.where not in ("seal", "universe digest", "metric digest", "workload", "request", "name")


def test_a_count_with_too_little_noise_is_refused_for_what_it_tells_about_presence(clinic):
    """A plan of which everything was forged along: errors, gains, worst case, and what the certificate says."""
    metric = dx.Policy.load(clinic.folder / "policy.toml").metric
    plan = dx.plan(["count"], metric, n_records=100)
    assert plan.scales == (2.0,)
    for scale in (1.999, 2 * (1 - 2**-52), 0.0):
        data = read_back(replace(plan, scales=(scale,)).to_dict())
        data["certificate"]["ratio"] = "1"
        error = refusal(resealed(data))
        assert "more than the budget" in error.what
        assert "absent" in error.what


def test_another_limit_of_records_is_another_policy(clinic):
    data = clinic.read("release")
    data["universe"]["attributes"][-1]["max_records"] = 999
    assert refusal(resealed(data)).where == "universe digest"
    assert isinstance(refusal(redigested(data), clinic.ledger), NotVerified)


def test_a_title_is_free_where_it_is_changed_everywhere_and_the_ledger_is_not_at_hand(clinic):
    data = clinic.read("release")
    title = "Around the end of January"
    query = next(q for q in data["queries"] if q.get("title") == title)
    answer = data["answers"][at_label(data, title)]
    query["title"] = answer["query"] = answer["label"] = "End of January"
    assert refusal(resealed(data)) is None  # the request does not depend on it
    assert isinstance(refusal(resealed(data), clinic.ledger), NotVerified)


def test_a_matrix_may_not_count_the_absent(clinic):
    metric = dx.metrics.with_absent(dx.metrics.line(3, 1), 1, max_records=10)
    data = read_back(make_plan([[1, 1, 1], [0, 2, 1]], metric).to_dict())
    assert list(verify_data(data))
    (matrix,) = data["queries"]
    for change in ({"shape": [2, 4]}, {"columns": [3, *matrix["columns"][1:]]}):
        forged = copy.deepcopy(data)
        forged["queries"][0] |= change
        assert refusal(resealed(forged)).where == "query 1"


@pytest.mark.parametrize("presence", ["0", "-1", "inf", "1e3", "", None, 1])
def test_a_presence_that_makes_no_sense_is_refused(clinic, presence):
    data = clinic.read("plan")
    data["policy"]["metric"]["spec"]["radius"] = presence
    whole = {"universe": data["universe"]["digest"], "metric": data["policy"]["metric"]["spec"]}
    data["policy"]["metric"]["digest"] = reading.digest(whole)
    assert refusal(resealed(data)).where == "metric"


def test_presence_is_certified_beyond_what_can_be_enumerated(monkeypatch):
    """Each query by itself: an upper bound, never below the largest loss of any record."""
    among = dx.metrics.Constant(dx.Universe.listed(range(30)), math.inf)  # only presence is protected
    metric = dx.metrics.with_absent(among, Fraction(1, 3), max_records=10)
    asked = [dx.matrix([[k % 7 for k in range(30)]]), dx.matrix([[0 if k % 7 else 1 + k // 9 for k in range(30)]])]
    plan = make_plan(asked, metric)
    loss, read, _ = loss_of(plan.queries, metric, plan.scales)
    exact = tightest(loss, read)
    monkeypatch.setattr(directions, "MOST_PAIRS", 1)  # of all records two matter: no other shows more
    loose = tightest(loss, read)
    assert (exact.exact, loose.exact) == (True, False)
    assert loose.high > exact.high == plan.certificate.ratio
    monkeypatch.setattr(directions, "MOST_PAIRS", 0)
    with pytest.raises(Undecided):
        tightest(loss, read)
