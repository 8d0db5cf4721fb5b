"""Files of selections, planned and released: verified alone and with the ledger, refused wherever they are edited."""

import copy
import json
import random
import shutil
from fractions import Fraction

import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from dxprivacy.errors import NotVerified, UsageError
from dxprivacy.queries.selections import quantile
from dxprivacy.verify import not_checked, reading, verify_data
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.queries import ask
from dxprivacy.verify.universe import Universe
from verify.conftest import CLINIC, PATIENTS, PEOPLE, PLACES, POLICY
from verify.edits import at, changed, edit, places, put, resealed, same
from verify.test_verify_ledger import rechain, tamper
from verify.test_verify_refuses import refusal

SURVEY = [
    dx.most_common("sex"),
    dx.most_common(dx.table("home", where={"sex": "F"})),
    dx.most_common([dx.count(age=1), dx.count(age=(2, 4))]),
    "largest sum elevation by state",
    dx.closest(dx.table("sex"), {"even": [100, 100], "mostly F": [50, 150]}),
    "median age",
    "quantile 0.9 of elevation",
    quantile("age/2", 0.25),
    "2 bins of age",
    "2 bins of age/2",
]
PRIVATE = ["most common sex", "median visit", "median cost", "median pain.total", "largest sum cost by sex"]


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """Both surveys, every selection made once: by exponential weights, or by flips."""
    out = []
    for policy, people, picks in ((POLICY, PEOPLE, SURVEY), (CLINIC, PATIENTS, PRIVATE)):
        folder = tmp_path_factory.mktemp("selections")
        (folder / "policy.toml").write_text(policy, encoding="utf-8")
        (folder / "places.csv").write_text(PLACES)
        (folder / "people.csv").write_text(people)
        with dx.Session(
            folder / "policy.toml", folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True
        ) as session:
            for k, pick in enumerate(picks):
                selection = session.plan_selection(pick, budget="5%", flip=k % 2 == 1)
                planned, made = selection.to_dict(), session.select(selection, anyway=True).to_dict()
                out.append((json.loads(json.dumps(planned)), json.loads(json.dumps(made)), folder / "ledger.db"))
    return out


@pytest.fixture
def one(chosen):
    """A selection with queries, targets and titles in it."""
    return next(made for _, made, _ in chosen if made["select"]["select"] == "closest")


def test_every_kind_of_choice_is_verified_alone_and_with_its_ledger(chosen):
    assert {made["select"]["select"] for _, made, _ in chosen} == {"largest", "closest", "quantile", "bins"}
    for planned, made, ledger in chosen:
        names = [check.name for check in verify_data(planned)]
        assert names == ["format", "digests", "candidates", "short by", "certificate", "worst case"]
        names = [check.name for check in verify_data({**made, "repeated": True}, ledger)]
        assert names[-5:] == ["guarantee", "chain", "policy", "entry", "budget"]


def test_a_planned_choice_has_no_ledger(chosen):
    planned, _, ledger = chosen[0]
    with pytest.raises(UsageError, match="spends nothing"):
        list(verify_data(planned, ledger))


FREE = {("certificate", "witness")}  # another pair that attains the ratio is as good


def named(data, *, ledger):
    return {unchecked.member for unchecked in not_checked(data, ledger=ledger)}


def is_named(path, told):
    general = tuple(key for key in path if not isinstance(key, int))
    dotted = ".".join(general).replace("select.queries", "queries")
    return general[:2] in FREE or any(f"{dotted}.".startswith(f"{member}.") for member in told)


def leaves(data, most, rng):
    """Places of single values; of long lists only some."""
    found = [path for path in list(places(data))[1:] if not isinstance(at(data, path), (dict, list))]
    short = [path for path in found if sum(isinstance(key, int) for key in path) == 0]
    long = [path for path in found if path not in short]
    return short + rng.sample(long, min(most, len(long)))


def hardly_moved(data, edited):
    """A ratio to an irrational distance may be stated a little larger (section 7)."""
    try:
        old, new = (Fraction(one["certificate"]["ratio"]) for one in (data, edited))
    except (LookupError, TypeError, ValueError, ZeroDivisionError):
        return False
    return old < new <= old * (1 + Fraction(1, 1 << 58))


@pytest.mark.parametrize("with_ledger", mostly_slow([True, False], 1))
def test_every_edit_of_a_choice_is_refused_or_named(chosen, with_ledger):
    refused = 0
    for k, (planned, made, ledger) in enumerate(chosen[:: 3 if with_ledger else 2]):
        rng = random.Random(f"selection {k}")
        for data, book in ((planned, None), (made, ledger if with_ledger else None)):
            told = named(data, ledger=book is not None)
            for path in leaves(data, 25, rng):
                edited = put(data, path, changed(rng, at(data, path)))
                if same(edited, data) or hardly_moved(data, edited):
                    continue
                assert isinstance(refusal(edited, book), NotVerified), path  # by the seal
                if path == ("seal",):
                    continue
                error = refusal(resealed(edited), book)
                assert isinstance(error, NotVerified) or (error is None and is_named(path, told)), (path, error)
                refused += error is not None
    assert refused > 100


def test_random_edits_of_a_choice_are_refused(chosen):
    for k, (_, made, _) in enumerate(chosen):
        rng = random.Random(k)
        for _ in range(12):
            path, edited = edit(rng, made)
            if same(edited, made) or hardly_moved(made, edited):
                continue
            assert refusal(edited) is not None, path
            if path == ("seal",):
                continue
            error = refusal(resealed(edited))
            assert isinstance(error, NotVerified) or is_named(path, named(made, ledger=False)), (path, error)


def redigested(data):
    """All digests recomputed, by somebody who knows how."""
    out = copy.deepcopy(data)
    out["universe"]["digest"] = reading.digest(out["universe"]["attributes"])
    whole = {"universe": out["universe"]["digest"], "metric": out["policy"]["metric"]["spec"]}
    out["policy"]["metric"]["digest"] = out["certificate"]["metric"] = reading.digest(whole)
    universe = Universe(out["universe"])
    out["workload"] = workload_digest(universe.digest, ask(out["queries"], universe).blocks)
    choose = {k: [{n: x for n, x in q.items() if n != "title"} for q in v] if k == "queries" else v
              for k, v in out["select"].items()}  # fmt: skip
    covered = {"metric": out["policy"]["metric"]["digest"], "dataset": out["policy"]["dataset"], "select": choose}
    covered |= {"candidates": reading.digest(out["candidates"]), "flip": out["mechanism"] == "permute-and-flip"}
    out["request"] = reading.digest(covered | {k: out[k] for k in ("workload", "scale", "budget")})
    out["name"] = out["request"][:4]
    if "ledger" in out:
        out["ledger"]["request"] = out["request"][:16]
    return resealed(out)


def half(data):
    data["scale"] = (float.fromhex(data["scale"]) / 2).hex()
    data["short_by_at_most_95"] /= 2


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (half, "certificate"),
        (lambda d: d.update(scale="-0x1.0000000000000p+0"), "scales"),
        (lambda d: d.update(scale="0x0.0p+0", short_by_at_most_95=0.0), "certificate"),
        (lambda d: d.update(budget="2"), "budget"),
        (lambda d: d.update(budget="1/1000"), "certificate"),
        (lambda d: d["candidates"].reverse(), "candidates"),
        (lambda d: d["candidates"].pop(), "candidates"),
        (lambda d: d["candidates"].append("nobody"), "candidates"),
        (lambda d: d["chosen"].update(index=2), "chosen"),
        (lambda d: d["chosen"].update(index=-1), "chosen"),
        (lambda d: d["chosen"].update(label="nobody"), "chosen"),
        (lambda d: d.update(title="best of 2 guesses"), "title"),
        (lambda d: d.update(short_by_at_most_95=d["short_by_at_most_95"] * 1.001), "short_by_at_most_95"),
        (lambda d: d.update(short_in="records"), "short_in"),
        (lambda d: d.update(mechanism="best"), "mechanism"),
        (lambda d: d["select"].update(choose="worst"), "select"),
        (lambda d: d["select"]["targets"].pop(), "select"),
        (lambda d: d["select"]["targets"][0][1].pop(), "select"),
        (lambda d: d["select"]["targets"][0][1].__setitem__(0, "1/3"), "select"),
        (lambda d: d.update(queries=[{"ask": "count"}]), "queries"),
        (lambda d: d["certificate"].update(norm="l1"), "certificate"),
        (lambda d: d.update(worst_case_epsilon=d["worst_case_epsilon"] / 2), "worst_case_epsilon"),
        (lambda d: d.update(records=None), "records"),
        (lambda d: d.update(records=201), "guarantee"),
        (lambda d: d.update(score=3), "selection"),
    ],
)
def test_an_attacker_who_recomputes_all_digests_is_noticed(one, change, where):
    assert refusal(redigested(one)) is None
    edited = copy.deepcopy(one)
    change(edited)
    error = refusal(redigested(edited))
    assert isinstance(error, NotVerified)
    assert error.where == where


def test_the_ledger_knows_what_was_chosen(chosen, tmp_path):
    _, made, ledger = chosen[5]
    other = copy.deepcopy(made)
    other["chosen"] = {"label": made["candidates"][0], "index": 0}
    if made["chosen"]["index"] == 0:
        other["chosen"] = {"label": made["candidates"][1], "index": 1}
    assert refusal(resealed(other)) is None  # that it was drawn, no file can tell
    assert "another selection" in str(refusal(resealed(other), ledger))
    for file in ledger.parent.glob("ledger.db*"):
        shutil.copy(file, tmp_path / file.name)
    tamper(
        tmp_path / "ledger.db", "UPDATE journal SET content = replace(content, 'selection', 'laplace') WHERE seq = 13"
    )
    rechain(tmp_path / "ledger.db")
    assert isinstance(refusal(made, tmp_path / "ledger.db"), NotVerified)
