"""Other rows than those asked for, where the number of records is private: no answer may follow from it."""

import itertools
import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dxprivacy as dx
from contracts.exact_least_squares import solved
from contracts.long_forms import mostly_slow, slow
from dxprivacy.errors import NotCertified, NotVerified, TooLarge
from dxprivacy.mechanisms.linear.estimators.least_squares import LeastSquares
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import variance
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.session import read_plan
from dxprivacy.verify import verify_data
from oracle.test_simulated_errors import errs_as_it_says
from verify.edits import resealed
from verify.test_verify_refuses import refusal

SURVEY = dx.Universe(
    [
        dx.Values(name="sex", values=("M", "F"), has_other=False),
        dx.Values(name="job", values=("a", "b", "c")),
        dx.Integers(name="age", low=0, high=6),
    ]
)
GRADED = dx.metrics.attributes(SURVEY, {"sex": 1, "job": 0.5, "age": {"epsilon": 1, "per": 2}})
POLICIES = {
    "plain": dx.metrics.with_absent(dx.metrics.constant(SURVEY, 2), 1, max_records=100_000),
    "plain, presence hardly protected": dx.metrics.with_absent(
        dx.metrics.constant(SURVEY, "0.5"), 3, max_records=100_000
    ),
    "graded": dx.metrics.with_absent(GRADED, "0.75", max_records=100_000),
}
QUERIES = {
    "tables": ["count by sex, job", "count by job", "count"],
    "tables of unconnected attributes": ["count by sex", "count by job", "count by age"],
    "ranges": ["ranges age"],
    "ranges and a table": ["prefixes age", "count by sex"],
    "everything": ["count", "mean age", "count by sex, job"],
}


@cache
def planned(policy, queries):
    """Made once for all tests: whoever changes a plan puts it back."""
    return dx.plan(QUERIES[queries], POLICIES[policy], method="matrix", n_records=500)


SHORT = [("plain", "tables"), ("graded", "ranges"), ("plain", "ranges and a table")]


@pytest.fixture(params=mostly_slow(itertools.product(POLICIES, QUERIES), SHORT, one=True), ids=" - ".join)
def plan(request):
    return planned(*request.param)


def test_the_certificate_holds_for_every_pair_and_every_absence_in_fractions(plan):
    assert not plan.measured.as_asked
    B, scales = plan.counted.dense(), [Fraction(s) for s in plan.scales]
    assert not B[:, plan.metric.universe.absent].any()  # nobody counts the absent
    worst = Fraction(0)
    for i, j in itertools.combinations(range(plan.metric.universe.size), 2):
        loss = sum(abs(int(B[k, i]) - int(B[k, j])) / s for k, s in enumerate(scales) if B[k, i] != B[k, j])
        worst = max(worst, loss / plan.metric.exact(i, j))
    assert worst == plan.certificate.ratio <= 1


def drawn(plan, seed):
    """Noisy counts of some table, as the plan would draw them."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 30, plan.metric.universe.size)
    counts[-1] = 0
    return plan.counted.answer(counts) + np.rint(rng.laplace(0, plan.scales)).astype(np.int64)


def near(one, other, plan):
    """Whether estimates differ by far less than their noise."""
    spread = np.sqrt([distribution.variance for distribution in plan.measured.distributions(plan.scales)])
    return bool((np.abs(np.array(one, dtype=float) - np.array(other, dtype=float)) <= 5e-2 * spread).all())


def test_no_answer_depends_on_the_number_of_records(plan, monkeypatch):
    """Whatever number is handed to the way back, declared or true, the same comes out, to the last digit."""
    noisy = drawn(plan, 2)
    found = [plan.estimate(noisy, records) for records in (0, 1, 500, 100_000)]
    assert all(one == found[0] for one in found[1:])
    monkeypatch.setattr(plan.measured, "_carried", (tuple(plan.scales), None))  # no exact way back: in floats
    floats = [plan.estimate(noisy, records) for records in (0, 1, 500, 100_000)]
    assert all(one == floats[0] for one in floats[1:])
    assert near(found[0], floats[0], plan)


def test_estimates_and_variances_are_those_of_least_squares_with_an_absent_cell(plan):
    """The oracle: fractions over all cells that rows tell apart and `absent`, of which there are any public number."""
    everyone = np.arange(plan.metric.universe.size)
    W, B = plan.workload.columns(everyone), plan.counted.columns(everyone)
    cells = np.unique(np.vstack([W, B]), axis=1, return_index=True)[1]
    if len(cells) > 30:
        cells = np.append(cells[:29], plan.metric.universe.absent)  # fractions are slow: a part of the universe
    noises, noisy = [variance(s) for s in plan.scales], drawn(plan, 3)
    values, spreads = solved(W[:, cells], B[:, cells], noises, noisy.tolist(), 12_345)
    if len(cells) == len(np.unique(np.vstack([W, B]), axis=1).T):
        assert near(plan.estimate(noisy, 7), values, plan)
        distributions = plan.measured.distributions(plan.scales)
        assert [distribution.variance for distribution in distributions] == pytest.approx(
            [float(x) for x in spreads], rel=1e-6
        )
    else:  # who knows that most cells are empty knows more
        distributions = plan.measured.distributions(plan.scales)
        assert all(
            float(x) <= distribution.variance * (1 + 1e-9)
            for x, distribution in zip(spreads, distributions, strict=True)
        )


def test_files_are_verified_and_read_back_and_what_would_use_n_is_refused(plan):
    data = json.loads(json.dumps(plan.to_dict()))
    assert [check.name for check in verify_data(data)][-1] == "worst case"
    assert load_plan(data, plan.metric).scales == plan.scales
    carried = data["measured"].get("reconstruction")
    if carried is None:
        return
    assert not any(carried["constants"])
    carried["constants"][0] = 1
    assert isinstance(refusal(resealed(data)), NotVerified)
    with pytest.raises(NotCertified):
        load_plan(resealed(data), plan.metric)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("queries", ["tables", "ranges", "ranges and a table"])
def test_simulated_errors_are_those_of_the_plan(policy, queries):
    counts = np.random.default_rng(7).integers(0, 30, POLICIES[policy].universe.size)
    counts[-1] = 0
    assert errs_as_it_says(planned(policy, queries), counts)


def test_a_release_is_verified_with_its_ledger_and_tells_no_number(tmp_path):
    policy = dx.Policy.parse(
        'title = "P"\ndataset = "p"\nneighbors = "add-remove"\nepsilon_presence = 0.5\nmax_records = 100000\n'
        '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 0.8\n'
        "[attributes.age]\nintegers = [0, 9]\nepsilon = 0.3\nper = 1\n"
    )
    data = tmp_path / "people.csv"
    data.write_text("sex,age\n" + "".join(f"{'MF'[k % 2]},{k % 10}\n" for k in range(777)))
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan("ranges age", "count by sex", "count", budget="50%", method="matrix")
        assert not plan.measured.as_asked
        plan.save(tmp_path / "plan.json")
        release = session.release(session.load_plan(tmp_path / "plan.json"))
    assert read_plan(tmp_path / "plan.json", policy).scales == plan.scales
    assert release.records is None
    found = json.loads(release.to_json())
    assert [check.name for check in verify_data(found, tmp_path / "l.db")][-1] == "budget"
    (count,) = [a for a in release.answers if a.label == "count"]
    assert not count.exact
    assert count.low < count.value < count.high


@pytest.mark.parametrize("size", [32, slow(64)])
def test_room_is_measured_by_the_declared_most(size):
    huge = dx.metrics.with_absent(dx.metrics.line(size, 1), 3, max_records=2**49)
    with pytest.raises((NotCertified, TooLarge)):
        dx.plan(["sum element", "ranges element"], huge, method="matrix")


def test_people_with_several_rows_are_left_alone():
    people = dx.metrics.People(key="who", max_rows=2)
    metric = dx.metrics.with_absent(dx.metrics.line(4, 1), 2, people=people)
    asked = dx.plan(["count by element"], metric, method="optimal")
    with pytest.raises(NotCertified, match="several rows"):
        LeastSquares(asked.workload, asked.queries)
    with pytest.raises(NotCertified):
        dx.plan(["ranges element"], metric, method="matrix")
