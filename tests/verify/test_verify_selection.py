"""Selections and single rows in the verifier: the same losses as the planner's, and a ledger of them is checked."""

import hashlib
import json
import shutil
import sqlite3
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.oracle_brute import brute
from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy.errors import NotVerified, Undecided
from dxprivacy.ledger import Ledger
from dxprivacy.metrics import with_absent
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.privacy import largest_loss as ours_largest
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.queries.strategy_rows import Picked
from dxprivacy.verify import certificate, directions, verify
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.certificate import largest_loss, tightest
from dxprivacy.verify.entries import Entry, together
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.metric import distance
from dxprivacy.verify.queries import ask
from dxprivacy.verify.universe import Universe
from verify.test_verify_ledger import rechain, tamper


def theirs(cost, queries, universe):
    """The same cost in the verifier's words."""
    asked = ask(json.loads(json.dumps(queries.to_dict())), universe, units=False)
    selections = [range(asked.rows)] if isinstance(cost, SelectionCost) else []
    return Loss(universe, asked.blocks, [float(s) for s in cost.scales], selections)


def rebuilt(metric):
    spec = json.loads(json.dumps(metric.universe.spec()))
    universe = Universe({"digest": metric.universe.digest, "attributes": spec, "units": {}})
    return universe, distance(json.loads(json.dumps(metric.spec())), universe.size, "metric")


def some_metric(rng):
    metric = random_metric(rng, axes=rng.randint(1, 3))
    if rng.random() < 0.25:
        metric = Constant(metric.universe, Fraction(rng.randint(1, 9), 4))
    if rng.random() < 0.25 and metric.universe.absent is None:
        metric = with_absent(metric, Fraction(rng.randint(5, 9), 4), max_records=99)
    return metric


def picked(rng, queries, universe):
    """Sometimes one row instead of all."""
    if rng.random() < 0.3:
        query = rng.choice(queries.queries)
        return Stack((Picked(query, rng.randrange(query.on(universe).rows)),))
    return queries


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_verifier_finds_the_same_largest_ratio_for_choices_and_sums(rng):
    metric = some_metric(rng)
    universe, d = rebuilt(metric)
    costs, losses = [], []
    for _ in range(rng.randint(1, 3)):
        queries = picked(rng, random_queries(rng, metric.universe), metric.universe)
        workload = queries.on(metric.universe)
        kind = rng.choice([SelectionCost, SelectionCost, LaplaceCost])
        costs.append(kind(workload, random_scales(rng, workload)))
        losses.append(theirs(costs[-1], queries, universe))
        assert workload_digest(universe.digest, losses[-1].blocks) == workload.digest
    again = rng.randrange(len(costs))
    costs, losses = [*costs, costs[again]], [*losses, losses[again]]
    whole = together([Entry(None, None, loss, Fraction(0)) for loss in losses])
    total = SumCost(metric.universe, costs)
    truth = brute(total, metric)
    found = tightest(whole, d)
    assert found.low <= truth <= found.high
    if found.exact:
        assert found.high == truth or found.high <= truth * (1 + Fraction(1, 1 << 50))
    assert largest_loss(whole) == pytest.approx(ours_largest(total)[0], rel=1e-8)
    assert largest_loss(losses[0]) == pytest.approx(ours_largest(costs[0])[0], rel=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_where_the_verifier_only_bounds_the_bound_is_sound(rng):
    metric = some_metric(rng)
    universe, d = rebuilt(metric)
    costs, losses = [], []
    for kind in rng.sample([SelectionCost, LaplaceCost, SelectionCost], 2):
        queries = random_queries(rng, metric.universe)
        workload = queries.on(metric.universe)
        costs.append(kind(workload, random_scales(rng, workload)))
        losses.append(theirs(costs[-1], queries, universe))
    whole = together([Entry(None, None, loss, Fraction(0)) for loss in losses])
    truth = brute(SumCost(metric.universe, costs), metric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "_MOST_COLUMNS", 0)
        patch.setattr(directions.Along, "contexts", lambda self: None)
        patch.setattr(certificate, "_presence", certificate._presence_by_block)
        try:
            assert tightest(whole, d).high >= truth
        except Undecided:
            return


POLICY = 'dataset = "c"\ntitle = "C"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n' + (
    "[attributes.age]\nintegers = [0, 5]\nepsilon = 0.5\nper = 1\n"
)
PEOPLE = "sex,age\n" + "".join(f"{'MF'[k % 2]},{k % 6}\n" for k in range(60))
ASKED = gather("count by sex", "count by age/2")


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """A release after a run of selections and measurements; rows 3, 5, … are its steps."""
    folder = tmp_path_factory.mktemp("chosen")
    (folder / "policy.toml").write_text(POLICY)
    (folder / "people.csv").write_text(PEOPLE)
    policy = dx.Policy.load(folder / "policy.toml")
    whole, u = ASKED.on(policy.universe), policy.universe
    row = Picked(ASKED.queries[1], 2)
    with Ledger.open(folder / "ledger.db", policy, new_ledger=True) as ledger:
        for k in range(2):
            for what, cost, queries in (
                ("select", SelectionCost(whole, [40.0] * whole.rows), ASKED),
                ("measure", LaplaceCost(row.on(u), [40.0]), Stack((row,))),
            ):
                ledger.reserve(cost, queries, request=f"synth-1 {what} {k + 1}")
                ledger.finish(f"synth-1 {what} {k + 1}", "0")
        different = SelectionCost(whole, [40.0 + k for k in range(whole.rows)])
        ledger.reserve(different, ASKED, request="synth-1 last")
        ledger.finish("synth-1 last", "0")
    with dx.Session(policy, folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True) as session:
        session.release(session.plan("count by sex", budget="50%")).save(folder / "release.json")
    return folder


@pytest.fixture
def copied(chosen, tmp_path):
    for file in chosen.iterdir():
        shutil.copy(file, tmp_path / file.name)
    return tmp_path / "ledger.db"


def test_a_ledger_with_choices_is_verified(chosen):
    checks = list(verify(chosen / "release.json", chosen / "ledger.db"))
    assert any("all 6 entries together" in str(check) for check in checks)


def rewrite(ledger, seq, change):
    """Change the content of a row and leave everything as somebody would who knows how it is made."""
    with sqlite3.connect(ledger) as database:
        ((content,),) = database.execute("SELECT content FROM journal WHERE seq = ?", (seq,)).fetchall()
        ((spec,),) = database.execute("SELECT content FROM journal WHERE kind = 'policy'").fetchall()
    database.close()
    data = json.loads(content)
    change(data)
    universe = Universe({"digest": data["universe"], "attributes": json.loads(spec)["universe_spec"], "units": {}})
    try:
        workload = workload_digest(universe.digest, ask(data["queries"], universe, units=False).blocks)
    except NotVerified:
        workload = "0" * 64
    same = {k: v for k, v in data.items() if k != "budget"}
    text = json.dumps(same, sort_keys=True, ensure_ascii=False)
    body = hashlib.sha256(f"{workload} {text}".encode()).hexdigest()
    new = json.dumps(data, sort_keys=True, ensure_ascii=False).replace("'", "''")
    tamper(
        ledger,
        f"UPDATE journal SET content = '{new}', body = '{body}' WHERE seq = {seq}",
        f"UPDATE journal SET body = '{body}' WHERE seq = {seq + 1}",
    )
    rechain(ledger)


def _set(**members):
    return lambda data: data.update(members)


@pytest.mark.parametrize(
    ("seq", "change", "says"),
    [
        (3, _set(kind="laplace"), "title|scales"),  # 1 scale for many rows
        (3, _set(kind="laplace", title="count by sex + count by age/2"), "scales"),
        (3, _set(kind="gaussian"), "another kind"),
        (3, _set(alike=False), "scales are damaged"),
        (3, _set(scales=["0x1.4000000000000p+5"] * 2), "2 scales for 1 rows"),
        (3, _set(scales=["0x1.4000000000000p+4"]), "budget"),  # half the noise, the same budget
        (3, _set(budget="1/1024"), "budget"),
        (3, _set(title="count by sex + count by age/2"), "title"),
        (3, lambda data: data.pop("alike"), "1 scales for 5 rows"),
        (5, _set(alike=True), "scales are damaged"),  # of noisy answers
        (5, _set(kind="selection"), "title"),
        (5, lambda data: data["queries"][0].update(row=3), "3"),
        (5, lambda data: data["queries"][0].update(row=-1), "-1"),
        (5, lambda data: data["queries"][0].update(row=True), "whole number"),
        (5, lambda data: data["queries"][0].update(row=1), "title"),
        (5, lambda data: data["queries"][0]["of"].update(title="x"), "row of something"),
        (5, lambda data: data["queries"][0].update(of={"ask": "row", "of": {}, "row": 0}), "row of something"),
        (5, lambda data: data["queries"][0].update(of=[]), "row of something"),
        (5, lambda data: data["queries"][0].update(more=1), "more"),
        (11, _set(alike=True), "5 scales for 1 rows"),
        (11, _set(scales=["0x1.4000000000000p+5"], alike=True), "budget"),
    ],
)
def test_an_edited_choice_or_row_is_refused(copied, chosen, seq, change, says):
    rewrite(copied, seq, change)
    with pytest.raises(NotVerified, match=says):
        list(verify(chosen / "release.json", copied))


def test_a_choice_never_stands_for_a_release(copied, chosen):
    """The release's own entry turned into a selection would cost half."""

    def cheaper(data):
        data.update(kind="selection", title=f"selection among {data['title']}", budget="1/4")

    rewrite(copied, 13, cheaper)
    with pytest.raises(NotVerified, match="kind of cost"):
        list(verify(chosen / "release.json", copied))


def test_more_choices_than_the_policy_allows_are_noticed(chosen, copied):
    """Every budget is right, but the sum is not: somebody reserved past the budget."""
    policy = dx.Policy.load(chosen / "policy.toml")
    whole = ASKED.on(policy.universe)
    with Ledger.open(copied, policy, new_ledger=True) as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setattr("dxprivacy.ledger.ledger.require_budget", lambda *_: None)
        ledger.reserve(SelectionCost(whole, [1.0] * whole.rows), ASKED, request="more")
    with pytest.raises(NotVerified, match="more was spent"):
        list(verify(chosen / "release.json", copied))
