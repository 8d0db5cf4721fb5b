"""MWEM: what it learns, how good it is, and what it refuses."""

import json

import numpy as np
import pytest

import dxprivacy as dx
from contracts.box_queries import BOXES, RECORDS, random_boxes, random_table
from contracts.long_forms import slow
from dxprivacy import metrics
from dxprivacy.errors import DataError, NotCertified, QueryError, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.direct.plan import plan_direct
from dxprivacy.mechanisms.direct.run import fit_histogram
from dxprivacy.mechanisms.mwem.mwem_facts import best_rounds, error_bound
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.mwem.run import _Truth, run_mwem
from dxprivacy.mechanisms.mwem.weights import Weights
from dxprivacy.mechanisms.sampling import SystemNoise
from dxprivacy.mechanisms.spending import Unrecorded
from dxprivacy.mechanisms.synthesis.histogram_answers import AnswerLine
from dxprivacy.mechanisms.synthesis.tried_out import SimulatedNoise
from dxprivacy.queries.asking import gather
from dxprivacy.releases.guarantee import NOWHERE
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


class NoNoise:
    """The truth, and the largest score: for tests only."""

    def laplace(self, scales):
        return np.zeros(len(scales), dtype=np.int64)

    def select(self, scores, scales, *, flip=False):
        return int(np.argmax(scores))


class Unpaid:
    """No certificates at every step: these are tested elsewhere, and take most of the time."""

    def step(self, cost, queries, name, act, *, asked=None):
        return act(NOWHERE)


LINE = metrics.line(6, 1)
ROWS = [[1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]]
COUNTS = [40, 10, 0, 5, 25, 20]


# -- the update


def simulated(seed):
    return SimulatedNoise(np.random.default_rng(seed))


@pytest.mark.parametrize("passes", [0, 1, 50])
def test_without_noise_a_histogram_that_is_the_data_does_not_move(passes):
    found = dx.mwem(ROWS, LINE, COUNTS, rounds=4, passes=passes, start=COUNTS, noise=NoNoise())
    assert np.allclose(found.histogram, COUNTS, rtol=1e-12)


def test_the_true_answers_inside_a_run_are_never_shown():
    plan = plan_mwem([[1, 0, 0]], dx.metrics.constant(3, 1), n_records=12345, rounds=1)
    truth = _Truth(plan, lambda: Histogram.of(plan.metric.universe, [12345, 0, 0]))
    assert truth.answers.tolist() == [12345]
    assert repr(truth) == str(truth) == "hidden"


def test_the_printed_update_moves_it_and_the_corrected_one_does_not():
    """As printed the weight is exp(q'_i (m - q'(y)) / 2n) with m = c q'(x): two scales in one difference."""
    x, q, c = np.array(COUNTS, dtype=float), np.array(ROWS[0], dtype=float), 4.0
    n, y = x.sum(), x.copy()
    m = c * (q / c) @ x
    printed = y * np.exp((q / c) * (m - (q / c) @ y) / (2 * n))
    printed *= n / printed.sum()
    assert np.abs(printed - x).max() > 0.5
    weights = Weights(y, n)
    weights.learn(AnswerLine(np.flatnonzero(q), q[q > 0]), m)
    weights.step()
    assert np.allclose(weights.y, x, rtol=1e-12)


def test_one_step_is_the_update_of_the_algorithm_cell_by_cell():
    """Also for rows with weights, after others; rows are taken in a unit range."""
    rng = np.random.default_rng(3)
    start, n = rng.uniform(0.5, 2, 30), 500.0
    weights = Weights(start, n)
    y = start * n / start.sum()
    for _ in range(12):
        row = rng.choice([0.0, 0.0, 1.0, 2.0, 5.0] if rng.random() < 0.5 else [0.0, 1.0], 30)
        m = float(row @ y) + rng.normal(0, 60)
        cells = np.flatnonzero(row)
        weights.learn(AnswerLine(cells, row[cells]), m)
        weights.step()
        low, span = row.min(), np.ptp(row)
        unit, target = (row - low) / span, (np.clip(m, low * n, row.max() * n) - low * n) / span
        y = y * np.exp(unit * (target - unit @ y) / (2 * n))
        y *= n / y.sum()
        assert np.allclose(weights.y, y, rtol=1e-9)


def test_passes_are_steps_towards_all_measurements_in_turn():
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (5, 40)).astype(float)
    targets, n = rng.uniform(100, 400, 5), 500.0
    weights, y = Weights(np.ones(40), n), np.full(40, n / 40)
    for row, target in zip(rows, targets, strict=True):
        weights.learn(AnswerLine(np.flatnonzero(row), np.ones(int(row.sum()))), float(target))
    weights.sweep(7)
    for _ in range(7):
        for row, target in zip(rows, targets, strict=True):
            y = y * np.exp(row * (target - row @ y) / (2 * n))
            y *= n / y.sum()
    assert np.allclose(weights.y, y, rtol=1e-9)


def test_a_measurement_that_no_histogram_could_answer_keeps_the_histogram_finite():
    weights = Weights(np.ones(4), 10.0)
    for measured in (1e15, -1e15):
        weights.learn(AnswerLine(np.array([1]), np.ones(1)), measured)
        weights.sweep(200)
    assert np.isfinite(weights.y).all()
    assert weights.y.sum() == pytest.approx(10)
    assert (weights.y >= 0).all()


def test_a_row_that_is_the_same_for_everybody_teaches_nothing():
    weights = Weights(np.ones(3), 9.0)
    weights.learn(AnswerLine(np.arange(3), np.full(3, 2.0)), 1000.0)
    weights.sweep(5)
    assert weights.y.tolist() == [3, 3, 3]


def test_a_public_histogram_is_where_it_starts():
    start = [0, 1, 2, 3, 4, 0]
    found = dx.mwem([[1, 1, 0, 0, 0, 0]], LINE, COUNTS, rounds=1, start=start)
    assert found.histogram[0] == found.histogram[5] == 0  # what is impossible stays so
    y = found.histogram
    assert y[3] / y[2] == pytest.approx(3 / 2)  # nothing was learned between these


def test_the_average_is_over_the_histograms_before_each_round():
    seen = []

    class Watching(NoNoise):
        def select(self, scores, scales, *, flip=False):
            seen.append(scores)
            return super().select(scores, scales)

    found = dx.mwem(ROWS, LINE, COUNTS, rounds=1, averaged=True, noise=Watching())
    assert np.allclose(found.histogram, 100 / 6)  # one round: only the start
    assert len(seen) == 1


# -- how good it is


def mean_error(rows, truth, histograms):
    return np.mean([np.abs(rows @ (y - x)).mean() for y, x in zip(histograms, truth, strict=True)])


@pytest.mark.parametrize("number", [1, slow(5)])
def test_errors_on_80_cells_against_the_uniform_histogram(number):
    rng = np.random.default_rng(0)
    asked = random_boxes(rng)
    tables = [random_table(rng) for _ in range(number)]
    rows = asked.on(BOXES).dense()
    constant = metrics.constant(BOXES, 1)
    unequal = metrics.attributes(BOXES, {"a": 1, "b": 8, "c": 8, "v": 8})  # its strictest pair is 1 too

    def by_mwem(metric, **options):
        plan = plan_mwem(asked, metric, n_records=RECORDS, **options)
        counted = [Histogram.of(BOXES, t) for t in tables]
        return [run_mwem(plan, lambda h=h: h, Unpaid(), simulated(seed)).histogram for seed, h in enumerate(counted)]

    uniform = mean_error(rows, tables, [np.full(80, RECORDS / 80)] * number)
    several = mean_error(rows, tables, by_mwem(constant))
    single = mean_error(rows, tables, by_mwem(constant, passes=0, averaged=True, again=True))
    assert several <= 0.4 * uniform
    assert several < single < uniform  # the algorithm as corrected, without what practice adds
    many = mean_error(rows, tables, by_mwem(constant, rounds=40, passes=30))
    assert mean_error(rows, tables, by_mwem(unequal, rounds=40, passes=30)) < many
    plan = plan_direct(asked, constant, n_records=RECORDS)
    fitted = [
        fit_histogram(plan, plan.counted.answer(t) + simulated(k).laplace(np.asarray(plan.scales))).histogram
        for k, t in enumerate(tables)
    ]
    assert mean_error(rows, tables, fitted) <= 0.05 * uniform


def test_exact_noise_does_as_well():
    rng = np.random.default_rng(1)
    asked, table = random_boxes(rng), random_table(rng)
    found = dx.mwem(asked, metrics.constant(BOXES, 1), table)
    rows = asked.on(BOXES).dense()
    assert np.abs(rows @ found.histogram - rows @ table).mean() < 0.6 * np.abs(rows @ (table - 125)).mean()
    assert found.histogram.sum() == pytest.approx(RECORDS)
    assert np.allclose(found.answers(), rows @ found.histogram)
    assert len(found.measurements) == 20
    assert all(type(m.noisy) is int and m.scale > 0 for m in found.measurements)


def test_rows_that_the_policy_leaves_free_are_known_exactly_at_no_cost():
    universe = Universe([Values(name=n, values=tuple("xyz"), has_other=False) for n in ("wave", "sex")])
    d = metrics.attributes(universe, {"wave": "inf", "sex": 1})
    counts = [50, 0, 0, 5, 5, 5, 1, 2, 3]
    found = dx.mwem(gather("count by wave", "count by sex"), d, counts, rounds=2)
    exact = [m for m in found.measurements if m.scale == 0]
    assert [m.noisy for m in exact] == [50, 15, 6]
    assert found.answers("count by wave") == pytest.approx([50, 15, 6], abs=1.5)
    assert found.cost.exact(0, 1) <= 1


# -- plans


def test_each_row_is_measured_with_the_least_noise_that_its_own_pairs_allow():
    universe = Universe([Values(name=n, values=("0", "1"), has_other=False) for n in "ab"])
    d = metrics.attributes(universe, {"a": 1, "b": 4})
    plan = plan_mwem(gather("count where a=1", "count where b=1"), d, n_records=100, rounds=2)
    assert plan.scales.tolist() == [4, 1]
    assert plan.selection_scales.tolist() == [4, 4]
    assert plan_mwem(plan.queries, d, n_records=100, rounds=2, alike=False).selection_scales.tolist() == [4, 1]


def test_shares_of_all_steps_add_up_to_at_most_what_was_granted():
    for rounds in (1, 3, 7):
        spend = Unrecorded(LINE, 1)
        plan = plan_mwem(ROWS, LINE, n_records=100, rounds=rounds, budget="70%", again=True)
        run_mwem(plan, lambda: Histogram.of(LINE.universe, COUNTS), spend, SystemNoise())
        assert spend.spent <= plan.budget
        assert float(spend.spent) > 0.5 * float(plan.budget)


def test_the_number_of_rounds_says_where_it_comes_from():
    assert plan_mwem(ROWS, LINE, n_records=100).why == "a usual number"
    assert plan_mwem(ROWS, LINE, n_records=100, rounds=2).why == "as asked for"
    many = plan_mwem(ROWS, LINE, n_records=10**7, rounds="bound", again=True)
    assert many.why == "the error bound is least"
    assert many.rounds > 20
    assert "nothing spent" in str(many)


def test_rounds_from_the_bound_are_its_whole_minimum_and_not_where_its_terms_are_equal():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, cells, rows = int(rng.integers(100, 10**7)), int(rng.integers(2, 10**6)), int(rng.integers(2, 10**5))
        c = float(rng.uniform(0.1, 50))
        best = best_rounds(n, cells, rows, c)
        value = error_bound(n, cells, rows, c, best).error
        assert all(value <= error_bound(n, cells, rows, c, t).error for t in (best - 1, best + 1, 2 * best) if t > 0)
        equal = (2 * n * np.sqrt(np.log(cells)) / (10 * c * np.log(rows))) ** (2 / 3)  # as printed
        if best > 20:
            assert error_bound(n, cells, rows, c, round(equal)).error > value * 1.04


def test_a_bound_that_says_nothing_is_not_printed_as_one():
    assert error_bound(10_000, 80, 100, 1.0, 59).vacuous  # fails with probability 118 %
    assert "says nothing" in str(error_bound(10_000, 80, 100, 1.0, 59))
    assert "above the number of records" in str(error_bound(100, 80, 1000, 1.0, 10))
    good = error_bound(10**7, 80, 10_000, 1.0, 500)
    assert not good.vacuous
    assert "with probability 0.9" in str(good)


def test_there_is_a_bound_only_for_what_the_theorem_is_about():
    theirs = {"passes": 0, "averaged": True, "again": True}
    assert plan_mwem(ROWS, LINE, n_records=100, rounds=2, **theirs).bound is not None
    for other in ({"passes": 3}, {"averaged": False}, {"again": False}, {"start": COUNTS}, {"alike": False}):
        assert plan_mwem(ROWS, LINE, n_records=100, rounds=2, **{**theirs, **other}).bound is None


def test_the_theorem_holds_for_what_is_run():
    """A case where the bound says something."""
    d = metrics.constant(4, 8)
    rows = np.random.default_rng(0).integers(0, 2, (400, 4))
    counts = np.array([60_000, 25_000, 10_000, 5_000])
    plan = plan_mwem(rows, d, n_records=100_000, rounds=12, passes=0, averaged=True, again=True)
    assert not plan.bound.vacuous
    histogram = Histogram.of(d.universe, counts)
    for seed in range(5):
        found = run_mwem(plan, lambda: histogram, Unrecorded(d), simulated(seed))
        assert np.abs(rows @ found.histogram - rows @ counts).max() <= plan.bound.error


# -- what is refused, before anything is spent


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rounds": 0}, "at least one round"),
        ({"rounds": -3}, "at least one round"),
        ({"rounds": 2.5}, "at least one round"),
        ({"rounds": True}, "at least one round"),
        ({"rounds": "many"}, "at least one round"),
        ({"rounds": 5}, "5 rounds are too many: 4 answers"),
        ({"rounds": 10**9, "again": True}, "too many"),
        ({"passes": -1}, "passes is -1"),
        ({"passes": 1.5}, "passes"),
        ({"budget": 0}, "budget"),
        ({"budget": "200%"}, "budget"),
        ({"start": [1, 2]}, "start needs 6 numbers"),
        ({"start": [0] * 6}, "start needs 6 numbers"),
        ({"start": [1, 1, 1, 1, 1, float("nan")]}, "start needs 6 numbers"),
        ({"start": [1, 1, 1, 1, 1, -1]}, "start needs 6 numbers"),
        ({"start": "uniform"}, "start must be numbers"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, says):
    with pytest.raises(UsageError, match=says):
        dx.mwem(ROWS, LINE, COUNTS, **options)


def test_queries_and_data_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match="no records"):
        dx.mwem(ROWS, LINE, [0] * 6)
    with pytest.raises(UsageError, match="a metric is needed"):
        dx.mwem(ROWS, [1, 2], COUNTS)
    with pytest.raises(DataError, match="wrong shape"):
        dx.mwem(ROWS, LINE, [1, 2, 3])
    with pytest.raises(QueryError, match="columns"):
        dx.mwem([[1, 0]], LINE, COUNTS)
    with pytest.raises(UsageError, match="another universe"):
        dx.mwem(ROWS, LINE, Histogram.of(Universe.listed("abcdef"), COUNTS))
    with pytest.raises(UsageError, match="query"):
        dx.mwem([], LINE, COUNTS)
    with pytest.raises(QueryError, match="nothing to choose"):
        dx.mwem([[1] * 6], LINE, COUNTS)
    with pytest.raises(SeparatesIdentical):
        dx.mwem([[1, 0]], metrics.constant(2, 0), [1, 2])
    with pytest.raises(TooLarge):
        dx.mwem([[1.0e9, 0.001]], metrics.constant(2, 1), [2**40, 1])
    with pytest.raises(NotCertified, match="exceeds every answer"):
        dx.mwem([[1, 0]], metrics.constant(2, "1e-12"), [1, 2])


def test_one_query_alone_is_allowed():
    found = dx.mwem([[1, 0, 0]], metrics.constant(3, 50), [70, 20, 10])
    assert found.histogram == pytest.approx([70, 15, 15], abs=1)


def test_where_the_number_of_records_is_private_it_points_to_the_direct_fit():
    d = metrics.with_absent(metrics.constant(3, 1), 1, max_records=100)
    with pytest.raises(UsageError, match="private") as refused:
        dx.mwem([[1, 0, 0]], d, [5, 5, 5, 0])
    assert "direct" in str(refused.value)


def test_data_is_counted_only_after_the_first_cost_was_reserved():
    order = []

    class Spy:
        def step(self, cost, queries, name, act, *, asked=None):
            order.append(name)
            return act(NOWHERE)

    def counted():
        order.append("counted")
        return Histogram.of(LINE.universe, COUNTS)

    run_mwem(plan_mwem(ROWS, LINE, n_records=100, rounds=2), counted, Spy(), NoNoise())
    steps = [f"round {t} {what}" for t in (1, 2) for what in ("selection", "measurement")]
    assert order == [steps[0], "counted", *steps[1:]]


def test_another_number_of_records_than_planned_is_refused():
    plan = plan_mwem(ROWS, LINE, n_records=101, rounds=2)
    with pytest.raises(UsageError, match="another number of records"):
        run_mwem(plan, lambda: Histogram.of(LINE.universe, COUNTS), Unrecorded(LINE), NoNoise())


def test_progress_tells_round_numbers_and_nothing_else():
    told = []
    dx.mwem(ROWS, LINE, COUNTS, rounds=3, progress=lambda *what: told.append(what))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_what_comes_out_shows_no_true_answer():
    found = dx.mwem([[1, 1, 0, 0, 0, 0]], metrics.line(6, "0.0001"), [34_567, 0, 12_345, 1, 1, 1], rounds=1)
    shown = f"{found!r}{found}{found.words}{json.dumps([m.label for m in found.measurements])}"
    assert "34567" not in shown.replace(",", "")
    assert "12345" not in shown.replace(",", "")
