"""Edits are refused: plain ones by the seal, resealed ones because something no longer follows.

`FREE` lists what nobody can check from one file, with the reason; everything else that is edited must be noticed.
"""

import copy
import json
import random
from fractions import Fraction

import pytest

from contracts.long_forms import mostly_slow
from dxprivacy.errors import DxError, NotVerified
from dxprivacy.verify import reading, verify, verify_data
from verify.edits import at, edit, edit_text, places, put, resealed, same

FREE = {
    ("policy", "title"): "words for people; the dataset's name and the digests identify the policy",
    ("policy", "file"): "where the policy lay when the plan was made",
    ("method",): "how the scales were found; the certificate does not depend on it",
    ("about",): "which strategy was taken, in words; what is counted stands in `measured`",
    ("software",): "who wrote the file",
    ("certificate", "rule"): "how the ratio was found; it is recomputed, and a looser rule only states an upper bound",
    ("certificate", "witness"): "another pair that attains the ratio is as good",
    ("answers", "*", "standard_at_strictest_95"): "a comparison with standard DP, which takes a planner",
    ("answers", "*", "standard_at_worst_case_95"): "a comparison with standard DP, which takes a planner",
    ("gains", "*", "standard_epsilon"): "a comparison with standard DP, which takes a planner",
    ("gains", "*", "gain"): "a comparison with standard DP, which takes a planner",
    ("universe", "units"): "names of units; used ones must be those of the answers",
    ("ledger", "file"): "checked with the ledger at hand, and in the guarantee",
    ("ledger", "entry"): "checked with the ledger at hand",
    ("ledger", "at"): "checked with the ledger at hand",
    ("ledger", "request"): "checked with the ledger at hand; it must begin with the plan's request",
    ("ledger", "worst_case_epsilon"): "checked with the ledger at hand; never below this release's own",
}


def is_free(path) -> bool:
    general = tuple("*" if isinstance(key, int) else key for key in path)
    return any(general[: len(free)] == free for free in FREE)


def refusal(data, ledger=None) -> DxError | None:
    """Why it is refused, or None."""
    try:
        list(verify_data(data, ledger))
    except DxError as error:
        return error
    return None


def check_edits(files, kind, seeds):
    data = files.read(kind)
    ledger = files.ledger if kind == "release" else None
    refused = 0
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        path, edited = edit(rng, data)
        if same(edited, data):
            continue
        assert refusal(edited) is not None, (seed, path)
        if path == ("seal",):
            continue  # sealing again mends it
        again = resealed(edited)
        error = refusal(again, ledger)
        if error is None:
            assert is_free(path), (seed, path)
            continue
        assert isinstance(error, NotVerified), (seed, path, error)
        assert error.where != "seal", (seed, path)
        refused += 1
    return refused


@pytest.fixture(params=["files", "clinic"])
def survey(request):
    """Either survey."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("kind", ["plan", "release"])
def test_random_edits_are_refused_resealed_or_not(survey, kind):
    assert check_edits(survey, kind, range(60)) > 30


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["plan", "release"])
@pytest.mark.parametrize("part", range(5))
def test_five_hundred_random_edits_are_refused_resealed_or_not(survey, kind, part):
    assert check_edits(survey, kind, range(1000 + 100 * part, 1100 + 100 * part)) > 50


@pytest.mark.parametrize("kind", ["plan", "release"])
def test_one_character_of_the_text_is_noticed(files, kind, tmp_path):
    text = getattr(files, kind).read_text(encoding="utf-8")
    data = json.loads(text)
    noticed = 0
    for seed in range(90):
        edited = edit_text(random.Random(f"{kind} {seed}"), text)
        try:
            if same(reading.parse(edited), data):
                continue
        except NotVerified:
            pass
        (tmp_path / "x.json").write_text(edited, encoding="utf-8")
        with pytest.raises(NotVerified):
            list(verify(tmp_path / "x.json"))
        noticed += 1
    assert noticed > 50


@pytest.mark.parametrize("kind", mostly_slow(["plan", "release"], 1))
def test_no_member_may_be_missing_or_added_anywhere(clinic, kind):
    """Members only: list entries are covered by the random edits."""
    data = clinic.read(kind)
    for path in list(places(data))[1:]:
        if isinstance(path[-1], str) and len(path) < 5 and path[-1] != "file":
            edited = copy.deepcopy(data)
            del at(edited, path[:-1])[path[-1]]
            if path[:2] != ("universe", "units"):
                assert refusal(resealed(edited)) is not None, path
        if isinstance(at(data, path), dict) and len(path) < 4:
            assert refusal(resealed(put(data, (*path, "more"), 1))) is not None, path


# -- an attacker who recomputes all digests ----------------------------------------------------------------------------


def redigested(data):
    """All digests recomputed, as far as they can be."""
    from dxprivacy.verify.blocks import workload_digest
    from dxprivacy.verify.queries import ask
    from dxprivacy.verify.universe import Universe

    out = copy.deepcopy(data)
    out["universe"]["digest"] = reading.digest(out["universe"]["attributes"])
    whole = {"universe": out["universe"]["digest"], "metric": out["policy"]["metric"]["spec"]}
    out["policy"]["metric"]["digest"] = out["certificate"]["metric"] = reading.digest(whole)
    universe = Universe(out["universe"])
    out["workload"] = workload_digest(universe.digest, ask(out["queries"], universe).blocks)
    fields = ("queries", "workload", "scales", "budget", "rows")
    parts = {"metric": out["policy"]["metric"]["digest"], "dataset": out["policy"]["dataset"]}
    untitled = [{k: v for k, v in q.items() if k != "title"} for q in out["queries"]]
    out["request"] = reading.digest(parts | {k: out[k] for k in fields} | {"queries": untitled})
    out["name"] = out["request"][:4]
    if "ledger" in out:
        out["ledger"]["request"] = out["request"][:16]
    return resealed(out)


def axis(data, k):
    return data["policy"]["metric"]["spec"]["axes"][k]


def smaller_scales(data):
    data["scales"] = [(float.fromhex(s) * 0.999).hex() for s in data["scales"]]


def hardly_smaller_scales(data):
    data["scales"] = [(float.fromhex(s) * (1 - 2**-30)).hex() for s in data["scales"]]


def one_exact_row(data):
    data["scales"][1] = (0.0).hex()


def larger_scale(data):
    data["scales"][0] = (float.fromhex(data["scales"][0]) * 1.01).hex()


def smaller_share(data):
    data["budget"] = "1/4"


def another_query(data):
    data["queries"][0]["by"] = ["state"]


def another_target(data):
    data["queries"][0]["within"] = "41"


def another_condition(data):
    data["queries"][1]["where"][0][1] = ["Hoboken"]


def queries_swapped(data):
    data["queries"][0], data["queries"][3] = data["queries"][3], data["queries"][0]


def stricter_metric(data):
    axis(data, 0)["epsilon"] = "1/2"


def looser_metric(data):
    axis(data, 1)["base"]["per_unit"] = "1"


def public_metric(data):
    axis(data, 0)["epsilon"] = "inf"


def nearer_places(data):
    rows = axis(data, 2)["base"]["coordinates"]
    rows[0] = rows[1]


def nearer_other(data):
    axis(data, 1)["radius"] = "1/100"


def maximum_instead_of_sum(data):
    data["policy"]["metric"]["spec"]["kind"] = "attribute-max"


POLICY_EDITS = [stricter_metric, looser_metric, public_metric, nearer_places, nearer_other, maximum_instead_of_sum]


def fewer_values(data):
    data["universe"]["attributes"][1]["range"] = [0, 4]


def shifted_values(data):
    data["universe"]["attributes"][1]["range"] = [1, 6]


def another_elevation(data):
    data["universe"]["attributes"][2]["properties"][2][1][0] = "90"


def other_counts_otherwise(data):
    data["universe"]["attributes"][1]["other_value"] = "3"


def understated_ratio(data):
    data["certificate"]["ratio"] = "1/10"


def overstated_ratio(data):
    ratio = Fraction(data["certificate"]["ratio"])
    data["certificate"]["ratio"] = str(ratio * Fraction(1000, 1001))


def no_witness(data):
    data["certificate"]["witness"] = None


def another_witness(data):
    data["certificate"]["witness"] = [0, 1]


def understated_worst_case(data):
    data["worst_case_epsilon"] /= 2


def worst_case_hidden(data):
    data["worst_case_epsilon"] = None


def another_unit_of_privacy(data):
    data["policy"]["neighbors"] = "add-remove"


def more_records_planned(data):
    data["rows"] = 10_000


PLAN_EDITS = [
    smaller_scales, hardly_smaller_scales, one_exact_row, larger_scale, smaller_share, another_query,
    another_target, another_condition, queries_swapped, *POLICY_EDITS, fewer_values, shifted_values,
    another_elevation, other_counts_otherwise, understated_ratio, overstated_ratio, no_witness, another_witness,
    understated_worst_case, worst_case_hidden, another_unit_of_privacy, more_records_planned,
]  # fmt: skip


def first_answer(name, change):
    def change_it(data):
        data["answers"][0][name] = change(data["answers"][0][name])

    change_it.__name__ = f"answer_{name}"
    return change_it


def smaller_error(data):
    data["answers"][0]["half_width_95"] -= 1


def less_than_no_gain(data):
    data["gains"][0]["gain"] = 0.5


PLAN_ONLY = [
    smaller_error,
    less_than_no_gain,
    first_answer("rmse", lambda x: x * (1 - 1e-7)),
    first_answer("typical_error", lambda x: x / 2),
    first_answer("label", lambda x: x + "x"),
    first_answer("unit", lambda _: "m"),
    first_answer("exact", lambda x: not x),
    first_answer("within", lambda _: None),
]


def another_noisy_row(data):
    data["noisy"][0] += 1


def another_total(data):
    """The number of records is a row of its own here."""
    row = [a["label"] for a in data["answers"]].index("count")
    at_row = next(k for k, s in enumerate(data["scales"]) if s == (0.0).hex())
    data["noisy"][at_row] += 1
    for name in ("value", "low", "high"):
        data["answers"][row][name] += 1


def other_records(data):
    data["records"] += 1


def other_records_and_guarantee(data):
    data["guarantee"][0] = data["guarantee"][0].replace(f"({data['records']})", f"({data['records'] + 1})")
    data["records"] += 1


def another_guarantee(k):
    def change_it(data):
        data["guarantee"][k] = (
            data["guarantee"][k].replace("ε", "e") if k else data["guarantee"][k].replace("most", "least")
        )

    change_it.__name__ = f"guarantee_{k + 1}"
    return change_it


def smaller_guaranteed_epsilon(data):
    text = data["guarantee"][2]
    data["guarantee"][2] = text.replace("this release is ε = ", "this release is ε = 0.")


def guarantee_of_more_pairs(data):
    data["guarantee"][1] = data["guarantee"][1].replace(" pairs;", "0 pairs;", 1)


def no_notes(data):
    data["notes"] = data["notes"][1:]


def so_far_less_than_this(data):
    data["ledger"]["worst_case_epsilon"] = data["worst_case_epsilon"] / 2


RELEASE_ONLY = [
    another_noisy_row, another_total, other_records, other_records_and_guarantee, smaller_guaranteed_epsilon,
    guarantee_of_more_pairs, no_notes, so_far_less_than_this, another_guarantee(0), another_guarantee(1),
    another_guarantee(2),
    first_answer("value", lambda x: x + 1), first_answer("low", lambda x: x + 1), first_answer("high", lambda x: x - 1),
    first_answer("vague", lambda x: not x), first_answer("exact", lambda x: not x), first_answer("label", lambda _: ""),
]  # fmt: skip


def check_change(files, kind, change):
    data = files.read(kind)
    change(data)
    plainly = refusal(data)
    assert plainly is not None
    assert plainly.where in ("seal", "format")
    error = refusal(resealed(data))
    assert isinstance(error, NotVerified)
    assert error.where != "seal"
    try:
        again = redigested(data)
    except NotVerified:
        return  # such a query cannot even be asked
    error = refusal(again)
    if error is None and change in POLICY_EDITS:
        # Nothing in this plan depends on it: a consistent plan under another policy, which only its digest tells.
        error = refusal(again, files.ledger) if kind == "release" else NotVerified("", where="policy")
    assert isinstance(error, NotVerified), "all digests recomputed"
    assert error.where not in ("seal", "universe digest", "metric digest", "workload", "request", "name")


@pytest.mark.parametrize("change", [*PLAN_EDITS, *PLAN_ONLY], ids=lambda f: f.__name__)
def test_a_plan_that_was_changed_on_purpose_is_refused(files, change):
    check_change(files, "plan", change)


@pytest.mark.parametrize("change", [*PLAN_EDITS, *RELEASE_ONLY], ids=lambda f: f.__name__)
def test_a_release_that_was_changed_on_purpose_is_refused(files, change):
    check_change(files, "release", change)


def test_a_larger_share_is_another_plan_that_guarantees_less(files):
    """Free with all digests recomputed: the request names another plan then, and no ledger knows it."""
    data = files.read("release")
    data["budget"] = "1"
    assert refusal(resealed(data)).where == "request"
    assert refusal(redigested(data)) is None
    assert refusal(redigested(data), files.ledger) is not None


def test_another_policy_is_told_by_its_digest_alone(files):
    """Free with all digests recomputed where no answer depends on it: a policy is known by its digest."""
    data = files.read("plan")
    data["policy"]["dataset"] = "another"
    assert refusal(resealed(data)).where == "request"
    assert refusal(redigested(data)) is None


@pytest.mark.parametrize(
    "text",
    ["", "7", "[]", "null", '"x"', "{}", "{", "NaN", '{"format": "dxprivacy-plan/1"}', '{"format": ["x"]}',
     '{"format": "dxprivacy-plan/5", "format": "dxprivacy-plan/5"}', "[" * 100_000, '{"format": "dxprivacy-plan/5"}',
     "9" * 10_000, "1e999", '"\\ud800"', '{"format": "dxprivacy-release/5", "seal": NaN}'],
)  # fmt: skip
def test_what_is_no_plan_or_release_is_refused(text, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(NotVerified) as caught:
        list(verify(tmp_path / "x.json"))
    assert caught.value.exit_code == 8


def test_bytes_that_are_no_text_and_files_that_are_not_there(tmp_path):
    (tmp_path / "x.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(NotVerified):
        list(verify(tmp_path / "x.json"))
    for missing in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(DxError) as caught:
            list(verify(missing))
        assert caught.value.exit_code == 2


BAD = [None, -1, 1.5, "inf", [[]], {"kind": "x"}]


def check_types(files, kind, choose):
    """Never a crash, never an acceptance: every member, one after the other."""
    data = files.read(kind)
    paths = [p for p in list(places(data))[1:] if len(p) < 4 and all(key == 0 for key in p if isinstance(key, int))]
    for k, path in enumerate(paths):
        for bad in choose(k):
            edited = put(data, path, bad)
            if path == ("seal",) or same(edited, data):
                continue
            error = refusal(resealed(edited))
            assert isinstance(error, NotVerified) or (error is None and is_free(path)), (path, bad, error)


@pytest.mark.parametrize("kind", ["plan", "release"])
def test_a_wrong_type_anywhere_gives_our_refusal(survey, kind):
    check_types(survey, kind, lambda k: [BAD[k % len(BAD)]])


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["plan", "release"])
def test_any_wrong_type_anywhere_gives_our_refusal(survey, kind):
    check_types(survey, kind, lambda _: BAD)
