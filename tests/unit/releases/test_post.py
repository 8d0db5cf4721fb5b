"""Post-processing: projections that never increase the error, idempotent, with their label, and honest intervals."""

import itertools
import json
import math

import numpy as np
import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy.errors import UsageError
from dxprivacy.mechanisms.linear.release_answers import build_release
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.releases.release import from_json

TRUTH = np.array([[30, 5, 0, 2], [1, 0, 44, 18]])  # sex by region


def metric(other=False):
    u = dx.Universe(
        [
            dx.Values(name="sex", values=("M", "F"), has_other=other),
            dx.Values(name="region", values=("n", "e", "s", "w"), has_other=other),
            dx.Integers(name="age", low=-1, high=2, has_other=other),
        ]
    )
    return dx.metrics.attributes(u, {"sex": 1, "region": 1, "age": {"epsilon": 1, "per": 1}})


def released(*queries, noisy=None, other=False, seed=1):
    """A release of TRUTH with the given noisy rows, or with seeded noise of the planned scales."""
    plan = standard_plan(list(queries), metric(other), n_records=100)
    counts = np.zeros(plan.metric.universe.shape, dtype=np.int64)
    counts[:2, :4, 1] = TRUTH
    rng = np.random.default_rng(seed)
    if noisy is None:
        noisy = plan.workload.answer(counts.ravel()) + np.rint(rng.laplace(0, np.array(plan.scales) * 3)).astype(
            np.int64
        )
    about = {"ledger": "l.db", "entry": 1, "at": "2026-01-01", "request": "x", "so_far": 1.0}
    return build_release(plan, np.asarray(noisy, dtype=np.int64), 100, LedgerReference(**about))


def far(values, truth):
    return float(np.square(np.asarray(values) - truth).sum())


def test_nothing_below_zero_and_intervals_cut_there():
    release = released("count by sex", noisy=[-7, 60])
    found = dx.post.nonnegative(release)
    assert found.values.tolist() == [0, 60]
    (low, _), (before, _) = found.rows(), release.rows()
    assert before["low"] < 0 < before["high"] or before["high"] < 0
    assert low["low"] == 0
    assert low["high"] == max(before["high"], 0)
    assert [r["label"] for r in found.rows()] == ["M", "F"]


def test_answers_that_may_be_negative_are_left_alone():
    release = released("sum age", "count by sex", noisy=[-9, -3, 4])
    assert dx.post.nonnegative(release).values.tolist() == [-9, 0, 4]
    assert dx.post.nonnegative(release).rows()[0]["low"] == release.rows()[0]["low"]


def test_a_known_total_is_met_by_complete_tables_only():
    release = released("count by sex", "count where region=n", noisy=[-10, 90, -4])
    found = dx.post.nonnegative(release, total=release.records)
    assert found.values.tolist() == [0, 100, 0]
    left_out = released("count by sex", noisy=[-10, 90], other=True)  # invalid entries are in no cell
    assert dx.post.nonnegative(left_out, total=100).values.tolist() == [0, 90]


def test_projection_onto_the_simplex_is_the_nearest_point_of_it():
    rng = np.random.default_rng(2)
    for _ in range(50):
        y = rng.normal(0, 10, rng.integers(1, 6))
        total = float(rng.uniform(0, 20))
        found = dx.post.nonnegative(y, total=total).values
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(total)
        for _ in range(30):  # no other point of the simplex is nearer
            other = rng.dirichlet(np.full(len(y), 0.3)) * total
            assert far(found, y) <= far(other, y) + 1e-9
            assert far(found, other) <= far(y, other) + 1e-9  # nor was any truth in it nearer before


def test_whole_numbers_keep_the_total_and_move_by_less_than_one():
    rng = np.random.default_rng(3)
    for _ in range(200):
        y = rng.normal(0, 3, rng.integers(1, 8))
        found = dx.post.whole(y).values
        assert (found == np.rint(found)).all()
        assert abs(found.sum() - y.sum()) <= 0.5 + 1e-9
        assert (np.abs(found - y) < 1).all()
    assert dx.post.whole([2.0, -3.0]).values.tolist() == [2, -3]
    assert (dx.post.whole(np.abs(y)).values >= 0).all()


def test_only_counts_become_whole():
    plan = dx.plan(["count by sex", "mean age"], metric(), n_records=7, method="optimal")
    about = {"ledger": "l.db", "entry": 1, "at": "2026-01-01", "request": "x", "so_far": 1.0}
    release = build_release(plan, np.array([3, 4, 5]), 7, LedgerReference(**about))
    assert dx.post.whole(release).values.tolist() == [3, 4, 5 / 7]


def test_tables_that_share_margins_agree_and_are_nearer_to_the_truth():
    names = ("a", "b", "c")
    rng = np.random.default_rng(4)
    for _ in range(20):
        cube = rng.integers(0, 50, (2, 3, 4)).astype(float)
        truths = {
            s: cube.sum(axis=tuple(k for k, name in enumerate(names) if name not in s))
            for count in (1, 2)
            for s in itertools.combinations(names, count)
        }
        weights = {s: float(rng.uniform(0.1, 5)) for s in truths}
        noisy = {s: t + rng.laplace(0, weights[s] ** -0.5, t.shape) for s, t in truths.items()}
        for total in (None, cube.sum()):
            found = dx.post.consistent(noisy, weights=weights, total=total)
            tables = found.tables
            for (s, one), (r, other) in itertools.combinations(tables.items(), 2):
                shared = [name for name in names if name in s and name in r]
                margins = [
                    t.sum(axis=tuple(k for k, name in enumerate(of) if name not in shared))
                    for of, t in ((s, one), (r, other))
                ]
                np.testing.assert_allclose(*margins, atol=1e-9)
            if total is not None:
                assert tables["a",].sum() == pytest.approx(total)
            before = sum(weights[s] * far(noisy[s], t) for s, t in truths.items())
            after = sum(weights[s] * far(tables[s], t) for s, t in truths.items())
            assert after <= before
            again = dx.post.consistent(found, weights=weights, total=total)
            np.testing.assert_allclose(again.values, found.values, atol=1e-9)


def test_the_agreed_tables_are_those_of_least_squares():
    """Against a general solver: the margins of the histogram that fits best."""
    rng = np.random.default_rng(5)
    shape, names = (2, 3, 2), "abc"
    tables = {("a", "b"): (2.0, rng.normal(5, 3, (2, 3))), ("b", "c"): (0.5, rng.normal(5, 3, (3, 2))),
              ("c", "a"): (1.0, rng.normal(5, 3, (2, 2))), ("b",): (3.0, rng.normal(10, 3, 3))}  # fmt: skip
    rows, wanted, weight = [], [], []
    for key, (w, table) in tables.items():
        for at in itertools.product(*(range(n) for n in table.shape)):
            cube = np.zeros(shape)
            where = dict(zip(key, at, strict=True))
            cube[tuple(where.get(name, slice(None)) for name in names)] = 1
            rows.append(cube.ravel())
            wanted.append(table[at])
            weight.append(math.sqrt(w))
    A, b, w = np.array(rows), np.array(wanted), np.array(weight)
    fit = A @ np.linalg.lstsq(A * w[:, None], b * w, rcond=None)[0]
    found = dx.post.consistent({k: t for k, (_, t) in tables.items()}, weights={k: v for k, (v, _) in tables.items()})
    np.testing.assert_allclose(found.values, fit, atol=1e-9)


def test_tables_of_a_release_agree_with_one_another_and_with_the_number_of_records():
    release = released("count by sex, region", "count by region", "count by sex", "mean age")
    found = dx.post.consistent(release)
    table, region, sex = found.values[:8].reshape(2, 4), found.values[8:12], found.values[12:14]
    np.testing.assert_allclose(table.sum(axis=0), region)
    np.testing.assert_allclose(table.sum(axis=1), sex)
    assert region.sum() == pytest.approx(100)
    assert found.values[14] == release.rows()[14]["value"]
    assert [r["low"] for r in found.rows()] == [r["low"] for r in release.rows()]


def test_marginals_and_conditions_are_told_apart():
    release = released("marginals 2", "count by region where sex=F", "count where sex=F")
    found = dx.post.consistent(release)
    tables = {}
    for row in found.rows()[:-5]:
        tables.setdefault(tuple(row["groups"]), []).append(row["value"])
    assert {k: len(v) for k, v in tables.items()} == {("sex", "region"): 8, ("sex", "age"): 8, ("region", "age"): 16}
    by_sex = [np.reshape(tables["sex", other], (2, 4)).sum(axis=1) for other in ("region", "age")]
    np.testing.assert_allclose(*by_sex)
    np.testing.assert_allclose(sum(by_sex[0]), 100)
    women = found.values[-5:]
    np.testing.assert_allclose(women[:4].sum(), women[4])  # the two queries about women agree with one another


def test_invalid_entries_make_tables_incomparable_unless_the_curator_says_there_are_none():
    release = released("count by sex, region", "count by region", other=True)
    with pytest.raises(UsageError, match="no two tables share a margin"):
        dx.post.consistent(release)
    found = dx.post.consistent(release, assume_no_other=True)
    np.testing.assert_allclose(found.values[:8].reshape(2, 4).sum(axis=0), found.values[8:])


def test_an_exact_table_stays_and_the_others_follow_it():
    u = metric().universe
    public = dx.metrics.attributes(u, {"sex": "inf", "region": 1, "age": {"epsilon": 1, "per": 1}})
    plan = standard_plan(["count by sex", "count by sex, region"], public, n_records=100)
    about = {"ledger": "l.db", "entry": 1, "at": "2026-01-01", "request": "x", "so_far": 1.0}
    release = build_release(plan, np.array([37, 63, 30, 6, 1, 2, 0, 1, 40, 18]), 100, LedgerReference(**about))
    found = dx.post.consistent(release)
    assert found.values[:2] == pytest.approx([37, 63])
    np.testing.assert_allclose(found.values[2:].reshape(2, 4).sum(axis=1), [37, 63])


def test_every_step_can_be_repeated_and_says_what_was_done():
    release = released("count by sex, region", "count by region")
    for step, what in (
        (dx.post.nonnegative, "non-negative"),
        (dx.post.whole, "whole"),
        (dx.post.consistent, "consistent"),
    ):
        once = step(release)
        twice = step(once)
        np.testing.assert_allclose(twice.values, once.values, atol=1e-9)
        assert once.done == twice.done == (what,)
        assert "costs nothing" in once.note
        assert "need not be in their middle" in once.note
        assert what in str(once)
        assert all(r["processed"] == [what] for r in once.rows())
        assert json.loads(json.dumps(once.to_dict()))["release"] == release.name
    chained = dx.post.whole(dx.post.nonnegative(dx.post.consistent(release)))
    assert chained.done == ("consistent", "non-negative", "whole")
    assert (chained.values >= 0).all()
    assert not chained.values.flags.writeable


def test_a_release_that_was_read_from_its_file_is_processed_alike():
    release = released("count by sex, region", "count by region")
    for step in (dx.post.nonnegative, dx.post.whole, dx.post.consistent):
        assert step(from_json(release.to_json())).rows() == step(release).rows()


def test_the_release_itself_does_not_change():
    release = released("count by sex", noisy=[-7, 60])
    before = release.to_json()
    dx.post.whole(dx.post.nonnegative(release))
    assert release.to_json() == before


@pytest.mark.parametrize("step", [dx.post.nonnegative, dx.post.whole])
@pytest.mark.parametrize(
    "bad", [None, "12", [], [[1, 2]], [math.nan], [math.inf], ["a"], 3, [1, None], {1, 2}, [2.0**53], [1 + 2j], [True]]
)
def test_what_cannot_be_processed_is_refused(step, bad):
    with pytest.raises(UsageError):
        step(bad)


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, "4", True, [4]])
def test_bad_totals_are_refused(bad):
    with pytest.raises(UsageError):
        dx.post.nonnegative([1.0, 2.0], total=bad)
    if bad != -1:
        with pytest.raises(UsageError):
            dx.post.consistent({"a": [1.0]}, total=bad)


@pytest.mark.parametrize(
    ("bad", "more"),
    [
        ({}, {}), ([1.0, 2.0], {}), ({"a": [1.0, 2.0]}, {}), ({"a": [1.0], "b": [[1.0]]}, {}), ({3: [1.0]}, {}),
        ({"a": [1.0, 2.0], ("a", "b"): [[1.0], [2.0], [3.0]]}, {}), ({("a", "a"): [[1.0]], "b": [1.0]}, {}),
        ({"a": [1.0], "b": [1.0]}, {"weights": {"c": 1}}), ({"a": [1.0], "b": [1.0]}, {"weights": {"a": 0}}),
        ({"a": [1.0], "b": [1.0]}, {"weights": {"a": -1}}), ({"a": [1.0], "b": [math.nan]}, {}),
        ({tuple("abcdefghijklm"): np.zeros((1,) * 13), "a": [1.0]}, {}),
    ],
)  # fmt: skip
def test_tables_that_are_none_are_refused(bad, more):
    with pytest.raises(UsageError):
        dx.post.consistent(bad, **more)


def test_a_release_that_does_not_name_its_queries_is_refused():
    from dataclasses import replace

    release = released("count by sex")
    for facts in ({}, {**release.facts, "queries": []}, {**release.facts, "workload": "0" * 64}):
        with pytest.raises(UsageError, match="does not state valid queries"):
            dx.post.whole(replace(release, facts=facts))
