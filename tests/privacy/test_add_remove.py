"""Records that may be added and removed: presence is protected, and nothing anywhere uses the private n."""

import itertools
import json
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import dxprivacy as dx
from dxprivacy.engines import open_source
from dxprivacy.errors import DataError, MetricError, QueryError, TooLarge, UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.metrics.with_other import WithAbsent
from dxprivacy.universe.answers import Ratio

POLICY = """
title = "Patients"
dataset = "patients"
neighbors = "add-remove"
epsilon_presence = 0.5
max_records = 100_000
[attributes.sex]
values = ["M", "F"]
epsilon = 0.8
[attributes.age]
integers = [0, 9]
epsilon = 0.3
per = 1
"""
QUERIES = ("count", "count by sex", "mean age", "sum age by sex", "prefixes age")


class SecretSize:
    """A source that counts, but does not say how many rows there are."""

    def __init__(self, data):
        self._inner = open_source(data)
        self.name = self._inner.name

    def columns(self):
        return self._inner.columns()

    def check(self, universe):
        self._inner.check(universe)

    def rows(self):
        raise AssertionError("somebody asked for the private number of records")

    def count(self, universe):
        return self._inner.count(universe)


@pytest.fixture
def policy():
    return dx.Policy.parse(POLICY)


@pytest.fixture
def session(policy, tmp_path):
    data = tmp_path / "people.csv"
    rng = np.random.default_rng(3)
    rows = [f"{rng.choice(['M', 'F', '?'])},{rng.integers(0, 11)}" for _ in range(4_321)]
    data.write_text("sex,age\n" + "\n".join(rows) + "\n")
    with dx.Session(policy, data, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        session.source = SecretSize(data)
        yield session


class FarNoise:
    """Many times its scale: a noisy count that happens to be the true one would look like a leak."""

    def laplace(self, scales):
        return np.where(scales > 0, 11 + 37 * scales, 0).astype(np.int64)


def test_no_path_asks_for_the_number_of_records(session, tmp_path):
    session._noise = FarNoise()
    plan = session.plan(*QUERIES, budget="50%")
    release = session.release(plan)
    assert session.release(plan) == release  # from the ledger
    assert release.records is None
    for text in (release.to_json(), str(release), str(plan), json.dumps(plan.to_dict())):
        assert not re.search(r"(?<![\w.,])4,?321(?![\w.,])", text)  # digests and noisy counts may hold these digits
    assert "the number of records is private" in release.guarantee[0]
    assert "added or removed" in release.guarantee[0]


def test_a_histogram_does_not_tell_its_total(session, policy):
    histogram = session.source.count(policy.universe)
    assert len(histogram.counts) == policy.universe.cells + 1
    assert histogram.counts[policy.universe.absent] == 0
    with pytest.raises(DataError, match="number of records is private"):
        print(histogram.total)


def test_the_total_is_a_query_like_any_other(policy):
    replaced = dx.Policy.parse(POLICY.replace("add-remove", "replace").replace("epsilon_p", "#").replace("max_r", "#"))
    assert dx.plan(["count"], replaced.metric).scales == (0.0,)  # as in the paper: n is public, and exact
    plan = dx.plan(["count"], policy.metric)
    assert plan.scales == (2.0,)
    assert plan.certificate.witness[1] == policy.universe.absent


def test_a_mean_divides_by_a_noisy_count(policy):
    plan = dx.plan(["mean age"], policy.metric, n_records=5000)
    (answer,) = plan.workload.answers
    assert isinstance(answer.recipe, Ratio)
    assert all(s > 0 for s in plan.scales)


@pytest.mark.parametrize("method", ["auto", "equal-split", "same-scale", "fill", "matrix"])
def test_adding_removing_and_replacing_any_record_stays_within_the_policy(policy, method):
    plan = dx.plan(list(QUERIES), policy.metric, method=method)
    Q, metric = plan.counted.dense(), policy.metric  # other rows than those asked for, perhaps
    scales = [Fraction(s) for s in plan.scales]
    worst = Fraction(0)
    for i, j in itertools.combinations(range(policy.universe.size), 2):
        loss = sum(abs(int(Q[k, i]) - int(Q[k, j])) / s for k, s in enumerate(scales))
        assert loss <= metric.exact(i, j)
        worst = max(worst, loss / metric.exact(i, j))
    assert worst == plan.certificate.ratio
    rng = np.random.default_rng(1)
    table = rng.integers(0, 5, policy.universe.size)
    table[policy.universe.absent] = 0
    for cell in range(policy.universe.cells):  # neighboring tables, one record more
        more = table.copy()
        more[cell] += 1
        moved = np.abs(plan.counted.answer(more) - plan.counted.answer(table))
        assert sum(int(m) / s for m, s in zip(moved, scales, strict=True)) <= Fraction(1, 2)


def test_far_pairs_are_linked_by_being_absent(policy):
    far = policy.universe.index([{"sex": "M", "age": 0}, {"sex": "F", "age": 9}]).tolist()
    assert policy.metric.exact(*far) == 1  # 0.8 + 2.7 was written; twice 0.5 is the way over absent
    page = str(policy.check())
    assert "one record added, removed or replaced, n private" in page
    assert "anyone – absent" in page
    assert "raise epsilon_presence" in " ".join(page.split())


def test_more_records_than_declared_are_answered_all_the_same(tmp_path):
    """Refusing would tell something about n."""
    policy = dx.Policy.parse(POLICY.replace("100_000", "3"))
    data = tmp_path / "people.csv"
    data.write_text("sex,age\n" + "M,3\n" * 50)
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(session.plan("count", n_records=50), anyway=True)
    assert release.answers[0].low < release.answers[0].high


def test_room_is_measured_by_the_declared_most_and_not_by_the_data():
    wide = POLICY.replace("[0, 9]", "[0, 4000]").replace("100_000", "1_000_000_000_000_000")
    with pytest.raises(TooLarge):
        dx.plan(["sum age"], dx.Policy.parse(wide).metric)


def test_rows_are_an_assumption_only_where_n_is_private(tmp_path):
    policy = dx.Policy.parse(POLICY.replace("add-remove", "replace").replace("epsilon_p", "#").replace("max_r", "#"))
    data = tmp_path / "people.csv"
    data.write_text("sex,age\nM,3\n")
    with (
        dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session,
        pytest.raises(UsageError, match="public"),
    ):
        session.plan("count", n_records=10)


@pytest.mark.parametrize("presence", [0, -1, float("inf"), float("nan"), "x", None])
def test_a_presence_that_makes_no_sense_is_refused(presence):
    with pytest.raises((MetricError, UsageError)):
        dx.metrics.with_absent(dx.metrics.line(3, 1), presence, max_records=10)


def test_an_absent_element_needs_its_universe():
    line = dx.metrics.line(3, 1)
    with pytest.raises(MetricError):
        WithAbsent(line.universe, line, Fraction(1))


def test_explicit_queries_get_a_zero_for_the_absent():
    metric = dx.metrics.with_absent(dx.metrics.line(3, 1), 1, max_records=10)
    plan = dx.plan([[1, 1, 1], [0, 1, 2]], metric)
    assert plan.workload.dense().tolist() == [[1, 1, 1, 0], [0, 1, 2, 0]]
    assert dx.laplace(plan, Histogram.of(metric.universe, [1, 2, 3, 0])).shape == (2,)


@pytest.mark.parametrize("row", [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1], [1, 1, 1, 1, 1]])
def test_a_matrix_cannot_count_the_absent(row):
    """With a one for `absent` too, counting everybody would be the same for all records: answered exactly."""
    metric = dx.metrics.with_absent(dx.metrics.line(3, 1), 1, max_records=10)
    for asked in ([row], csr_array([row])):
        with pytest.raises(QueryError, match="3 columns"):
            dx.plan(dx.matrix(asked), metric)


def test_files_name_the_unit_of_privacy(session):
    plan = session.plan("count", budget="10%")
    assert plan.to_dict()["policy"]["neighbors"] == "add-remove"
    assert session.release(plan).to_dict()["policy"]["neighbors"] == "add-remove"
    assert dx.plan([[1, 0]], dx.metrics.constant(2, 1)).to_dict()["policy"]["neighbors"] == "replace"
