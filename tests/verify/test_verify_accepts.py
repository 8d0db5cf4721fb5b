"""What the system writes is verified: the survey, random models, the demo and the examples."""

import contextlib
import json
import math
import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn, mostly_slow, slow
from contracts.random_models import derived_metric, random_derived, random_metric, random_queries, random_scales
from dxprivacy.errors import NotCertified, QueryError, SeparatesIdentical, Undecided
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import variance
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.linear.release_answers import build_release
from dxprivacy.metrics.closed_forms import LineMetric
from dxprivacy.metrics.derived_metrics import Capped
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.search import generating_pairs
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.queries.query import Query
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import certificate, directions, reading, verify, verify_data
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.certificate import tightest
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.metric import distance
from dxprivacy.verify.queries import ask
from dxprivacy.verify.universe import Universe as Read


def read_back(data):
    """As it comes from the file."""
    return reading.parse(json.dumps(data, ensure_ascii=False))


def released(plan, rng, records=1000):
    """As a session would release it: where the number of records is private, the declared most counts."""
    records = plan.metric.universe.max_records or records
    z = np.array([rng.randint(-50, 2000) if s else 0 for s in plan.scales])
    if not plan.measured.as_asked:  # rows without noise must agree with one another
        x = np.bincount(
            [rng.randrange(plan.metric.universe.cells) for _ in range(records)], minlength=plan.metric.universe.size
        )
        moved = np.array([rng.randint(-50, 50) if variance(s) else 0 for s in plan.scales])
        if plan.measured.how in ("k-norm", "block-max"):  # noise of cells, which adds up to nothing
            y = np.array([rng.randint(-50, 50) for _ in x])
            y[0] -= y.sum()
            x = x + y
            moved[:] = 0
        z = plan.counted.answer(x.astype(np.int64)) + moved
    for block, start in zip(plan.counted.blocks, plan.counted.offsets, strict=True):
        if plan.metric.universe.absent is None and not any(block.moving(axis).any() for axis in block.axes):
            column = block.dense()[:, 0]
            z[start : start + block.rows] = column * records
    worst = plan.worst_epsilon
    at, request = "2026-01-31T10:00:00.000+00:00", plan.request[:16]
    return build_release(
        plan, z, records, LedgerReference(ledger="l.db", entry=3, at=at, request=request, so_far=worst * 1.5)
    )


def decorated(rng, query):
    """With a target, a weight or a title, perhaps."""
    if rng.random() < 0.2:
        query = replace(query, within=Fraction(rng.randint(1, 99), 7))
    if rng.random() < 0.2:
        query = replace(query, weight=Fraction(rng.randint(1, 9), 3))
    if rng.random() < 0.2 and isinstance(query, Query):
        query = replace(query, title=rng.choice(["Sexes", "by", "Wer? – “’"]))
    return query


def linear(rng, universe):
    return random_queries(rng, universe).queries


def of_several_rows(rng, universe):
    """Shares, ratios, spreads and quantiles, perhaps beside others."""
    found = [random_derived(rng, universe) for _ in range(rng.randint(1, 2))]
    return [
        *(q for q in found if q is not None),
        *(linear(rng, universe) if rng.random() < 0.3 or not any(found) else []),
    ]


def plan_and_release(rng, ask_of=linear):
    metric = derived_metric(rng, places=True) if rng.random() < 0.5 else random_metric(rng, places=True)
    method = rng.choice(["auto", "same-scale", "equal-split", "fill", "matrix", "biased"])
    budget = Fraction(rng.randint(1, 10), 10)
    asked = Stack(tuple(decorated(rng, q) for q in ask_of(rng, metric.universe)))
    plan = make_plan(asked, metric, budget=budget, n_records=rng.choice([7, 1000]), method=method)
    return plan, released(plan, rng, records=rng.choice([0, 3, 1000]))


def check_random(rng, ask_of=linear):
    try:
        plan, release = plan_and_release(rng, ask_of)
    except (SeparatesIdentical, NotCertified):
        return
    assert [c.name for c in verify_data(read_back(plan.to_dict()))][-1] == "worst case"
    assert [c.name for c in verify_data(read_back(json.loads(release.to_json())))][-1] == "guarantee"


@drawn(st.randoms(use_true_random=False), fast=4, full=25)
def test_plans_and_releases_of_random_models_are_verified(rng):
    check_random(rng)


@drawn(st.randoms(use_true_random=False), fast=8, full=60)
def test_queries_of_several_rows_are_verified(rng):
    with contextlib.suppress(QueryError):  # nothing valid is left, or a single value
        check_random(rng, of_several_rows)


@pytest.mark.parametrize("seed", mostly_slow([4, 4138, 10146, 16062, 17012, 8024, 9085, 12007, 12028, 12087, 13106], 5))
def test_what_least_squares_once_got_wrong_is_verified(seed):
    check_random(random.Random(seed))


def test_errors_are_those_of_the_way_back_that_the_file_carries():
    """A row that tells next to nothing has noise a million times that of the others: roundings of its weight count."""
    metric = dx.metrics.series_linf([2, 3, 3], 2, per=3)
    density = replace(dx.density_of("t0", width=Fraction(1, 3)), within=Fraction(10, 7), weight=Fraction(5, 3))
    asked = gather("proportion where t0=0 and t1=0 and t2=0", density, "marginals 2")
    plan = make_plan(asked, metric, budget=Fraction(1), n_records=7, method="matrix")
    distributions, back = plan.distributions, plan.reconstruction
    assert back is not None
    noises = np.array([variance(s) for s in plan.scales])
    assert [distribution.variance for distribution in distributions] == pytest.approx(
        back.variances(noises).tolist(), rel=1e-9
    )
    assert [c.name for c in verify_data(read_back(plan.to_dict()))][-1] == "worst case"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_plans_and_releases_of_many_random_models_are_verified(seed):
    for k in range(150):
        check_random(random.Random(1000 * seed + k))


def loss_of(queries, metric, scales):
    universe = Read(read_back(metric.universe.to_dict()))
    asked = ask(read_back(queries.to_dict()), universe)
    return Loss(universe, asked.blocks, list(scales)), distance(read_back(metric.spec()), universe.size), asked


@settings(max_examples=120, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_largest_ratio_is_the_one_that_the_planner_certifies(rng):
    metric = derived_metric(rng, places=True) if rng.random() < 0.5 else random_metric(rng, places=True)
    queries = random_queries(rng, metric.universe)
    workload = queries.on(metric.universe)
    scales = random_scales(rng, workload)
    if rng.random() < 0.1:
        scales[rng.randrange(len(scales))] = 0.0
    bound = max_ratio(LaplaceCost(workload, scales), metric)
    loss, read, asked = loss_of(queries, metric, scales)
    found = tightest(loss, read)
    assert workload_digest(metric.universe.digest, asked.blocks) == workload.digest
    assert found.exact
    if metric.slack == 0:
        assert found.low == found.high == bound.upper
    else:
        assert found.low <= bound.upper <= found.high * (1 + Fraction(1, 1 << 58))
    if found.pair and found.low < math.inf:
        ratio = Fraction(LaplaceCost(workload, scales).exact(*found.pair)) / Fraction(metric.exact(*found.pair))
        assert ratio >= found.low


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_can_only_be_bounded_is_bounded_from_above(rng):
    metric = random_metric(rng, places=True, axes=3, plain=True)
    queries = random_queries(rng, metric.universe)
    scales = random_scales(rng, queries.on(metric.universe))
    loss, read, _ = loss_of(queries, metric, scales)
    exact = tightest(loss, read)
    for pairs, columns in ((1, 1), (60, 10), (1000, 100)):
        with pytest.MonkeyPatch.context() as fewer:
            fewer.setattr(directions, "MOST_PAIRS", pairs)
            fewer.setattr(certificate, "_MOST_COLUMNS", columns)
            try:
                bound = tightest(loss, read)
            except Undecided:
                continue
        assert bound.high >= exact.high * (1 - Fraction(1, 10**30))
        assert bound.low <= exact.low
        assert not bound.exact or bound.high == exact.high


@drawn(st.randoms(use_true_random=False), fast=8, full=40)
def test_plans_that_could_only_be_bounded_are_verified(rng):
    metric = random_metric(rng, axes=3, plain=True)
    queries = random_queries(rng, metric.universe)
    with pytest.MonkeyPatch.context() as fewer:
        fewer.setattr(generating_pairs, "MAX_PAIRS", 0)
        plan = make_plan(queries, metric, n_records=100, method="same-scale")
        data = read_back(plan.to_dict())
    assert list(verify_data(data))
    with pytest.MonkeyPatch.context() as fewer:
        fewer.setattr(directions, "MOST_PAIRS", 100)
        with contextlib.suppress(Undecided):  # never NotVerified
            assert list(verify_data(data))


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False))
def test_distances_are_those_of_the_model(rng):
    metric = derived_metric(rng, places=True)
    n = metric.universe.size
    read = distance(read_back(metric.spec()), n)
    for i in range(n):
        for j in range(i):
            low, high = read.between(i, j)
            exact, about = metric.exact(i, j), read.about(i, j)
            assert low == read.between(j, i)[0]
            assert exact <= high
            assert low * (1 - metric.slack) <= exact or low == exact
            assert about == high or math.isclose(about, float(high), rel_tol=2**-20)


# Not made small: one model has all kinds of attributes and queries.
def test_ordered_attributes_are_verified_too():
    universe = Universe(
        [
            Numbers(name="income", low=-1, high=2, step="0.5", unit="k€", other_value=Fraction(0)),
            Dates(name="visit", first="2026-01-01", last="2026-01-03"),
            Series(name="usage", columns=("jan", "feb"), entry=Integers(name="usage", low=0, high=1), unit="kWh"),
            Values(name="sex", values=("M", "F"), has_other=False),
        ]
    )
    metric = dx.metrics.Constant(universe, Fraction(1, 3))
    asked = ["mean income by sex", "count by visit where income=-0.6|other", "sum total by jan", "mean usage.feb"]
    asked += ["sum income where visit='2026-01-03T10:00'", "count where usage='(1, 0)' and income=0..2"]
    asked += ["ranges income/0.5", "prefixes income[-1,0,1.5]", "count by visit/weekday", "count by visit/2"]
    asked += ["count by visit[2025-12-01,2026-01-02]", "count where visit=2026-01-02..2026-01-03", "ranges visit/week"]
    plan = make_plan(asked, metric, n_records=500)
    labels = [a.label for a in plan.workload.answers]
    assert {"-1 to 0", "-1 to 2", "Thursday", "2026-01-02–2026-01-03", "2026-01-03", "2026-W01"} <= set(labels)
    assert list(verify_data(read_back(plan.to_dict())))
    assert list(verify_data(read_back(json.loads(released(plan, random.Random(3)).to_json()))))


@pytest.mark.parametrize("axes", [2, slow(4)])
def test_large_universes_are_verified_by_structure(axes):
    u = Universe([Integers(name=f"x{k}", low=0, high=14, has_other=False) for k in range(axes)])
    metric = dx.metrics.attributes(u, {f"x{k}": {"epsilon": 1, "per": k + 1} for k in range(axes)})
    plan = make_plan([dx.marginals(2), dx.sum_of("x0", by="x1")], metric)
    certificate = next(c for c in verify_data(read_back(plan.to_dict())) if c.name == "certificate")
    assert "100 %" in certificate.found


def test_what_is_too_large_is_undecided_and_not_refused():
    u = Universe.listed(range(7000))
    metric = Capped(LineMetric(u, range(7000), Fraction(1)), Fraction(50))
    loss, read, _ = loss_of(gather(dx.matrix([[k % 97 for k in range(7000)]])), metric, [1.0])
    with pytest.raises(Undecided, match="too many pairs") as caught:
        tightest(loss, read)
    assert caught.value.exit_code == 9


def test_the_survey_is_verified_against_its_ledger(files):
    assert [c.name for c in verify(files.plan)] == [
        "format", "digests", "queries", "errors", "certificate", "worst case",
    ]  # fmt: skip
    assert [c.name for c in verify(files.release, files.ledger)][-3:] == ["policy", "entry", "budget"]


def test_white_space_and_the_order_of_members_do_not_matter(files, tmp_path):
    def turned(data):
        if isinstance(data, dict):
            return {k: turned(data[k]) for k in sorted(data, reverse=True)}
        return [turned(x) for x in data] if isinstance(data, list) else data

    for kind in ("plan", "release"):
        (tmp_path / "x.json").write_text(json.dumps(turned(files.read(kind)), indent=7), encoding="utf-8")
        ledger = files.ledger if kind == "release" else None
        assert list(verify(tmp_path / "x.json", ledger))


def test_the_verifier_loads_nothing_but_the_standard_library():
    code = (
        "import sys, dxprivacy.verify, dxprivacy.verify.ledger\n"
        "ours = {m for m in sys.modules if m.startswith('dxprivacy.')}\n"
        "print(sorted(m for m in ours if not m.startswith(('dxprivacy.verify', 'dxprivacy.errors'))))\n"
        "print([m for m in ('numpy', 'scipy', 'duckdb', 'click', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["[]", "[]"]
