"""What is chosen by the data: scores are the plain definitions, their sensitivity holds, and bad input is refused."""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError, QueryError, TooLarge, UsageError
from dxprivacy.queries import selections
from dxprivacy.queries.text.selection_grammar import parse_pick, pick_from_dict

PEOPLE = dx.Universe(
    [
        dx.Values(name="sex", values=("M", "F")),
        dx.Integers(name="age", low=20, high=27),
        dx.Numbers(name="income", low=0, high=40, step=10),
        dx.Dates(name="visit", first="2026-01-30", last="2026-02-02"),
    ]
)
SHAPE = PEOPLE.shape


def counts(seed, universe=PEOPLE):
    return np.random.default_rng(seed).integers(0, 4, universe.size)


def scores(pick, x, universe=PEOPLE):
    bound = pick.on(universe)
    return bound, bound.scores(bound.workload.answer(x))


def along(x, axis):
    """The histogram of one attribute without `other`."""
    return x.reshape(SHAPE).sum(axis=tuple(a for a in range(4) if a != axis))[:-1]


@pytest.mark.parametrize(("name", "axis"), [("sex", 0), ("age", 1), ("visit", 3)])
def test_the_most_common_value_has_the_largest_count(name, axis):
    x = counts(1)
    bound, u = scores(dx.most_common(name), x)
    assert u.tolist() == along(x, axis).tolist()
    assert bound.labels == tuple(PEOPLE.attributes[axis].label(k) for k in range(len(u)))


@pytest.mark.parametrize(("name", "axis"), [("age", 1), ("income", 2), ("visit", 3)])
@pytest.mark.parametrize("at", ["1/2", "9/10", "1/3"])
def test_a_quantile_scores_by_how_many_records_its_rank_is_off(name, axis, at):
    budget = F(at)
    for seed in range(5):
        h = along(x := counts(seed), axis)
        n, a, b = int(h.sum()), budget.numerator, budget.denominator
        below, upto = np.cumsum(h) - h, np.cumsum(h)
        expected = [-max(0, b * int(lo) - a * n, a * n - b * int(up)) for lo, up in zip(below, upto, strict=True)]
        bound, u = scores(selections.quantile(name, budget), x)
        assert u.tolist() == expected
        assert max(u) == 0  # the quantile itself
        assert bound.unit == F(1, b)


def test_a_median_among_many_equal_records_is_their_value():
    """By |#(<= v) - n/2| alone, the value before it would score as well."""
    ages = dx.Universe([dx.Integers(name="age", low=0, high=4)])
    _, u = scores(selections.quantile("age", "0.5"), np.array([0, 20, 60, 20, 0, 7]), ages)
    assert u.tolist() == [-100, -60, 0, -60, -100]


def test_bins_score_by_their_worst_deviation_from_equal_shares():
    x = counts(3)
    h = along(x, 1)
    bound, u = scores(dx.bin_edges("age", bins=3), x)
    cuts = list(itertools.combinations(range(1, 8), 2))
    expected = [
        -max(abs(3 * int(h[a:b].sum()) - int(h.sum())) for a, b in itertools.pairwise((0, *c, 8))) for c in cuts
    ]
    assert u.tolist() == expected
    assert bound.labels[0] == "20 | 21 | 22–27"


def test_bins_take_the_steps_they_are_given_and_coarser_ones_where_there_are_too_many():
    wide = dx.Universe([dx.Integers(name="age", low=0, high=120)])
    assert len(dx.bin_edges("age/10", bins=4).on(wide)) == 220  # 12 edges between 13 steps
    found = dx.bin_edges("age", bins=4).on(wide)
    assert len(found) == 19_600 or len(found) <= 20_000
    with pytest.raises(TooLarge, match="sets of edges"):
        dx.bin_edges("age/1", bins=4).on(wide)


def test_the_closest_guess_has_the_least_largest_difference():
    x = counts(5)
    h = along(x, 0)
    near, far = h.tolist(), [int(h[0]) + 7, int(h[1]) - 2]
    _, u = scores(dx.closest(dx.table("sex"), {"near": near, "far": far}), x)
    assert u.tolist() == [0, -7]


def test_sums_in_grid_units_choose_the_largest():
    bound, u = scores(parse_pick("largest sum income by sex"), counts(6))
    cube = counts(6).reshape(SHAPE)
    worth = [5, 15, 25, 35, 0]
    totals = [int((cube[s].sum(axis=(0, 2)) * worth).sum()) for s in range(2)]
    assert [int(v * bound.unit) for v in u] == totals


PICKS = ("most common sex", "median age", "quantile 0.3 of income", "2 bins of visit", "largest sum age by sex")


@pytest.mark.parametrize("words", PICKS)
def test_no_score_moves_further_than_the_rows_say(words):
    rng = np.random.default_rng(8)
    bound = parse_pick(words).on(PEOPLE)
    for _ in range(40):
        x = rng.integers(0, 3, PEOPLE.size)
        i, j = rng.choice(PEOPLE.size, 2, replace=False)
        x[i] += 1
        other = x.copy()
        other[i], other[j] = other[i] - 1, other[j] + 1
        moved = np.abs(bound.scores(bound.workload.answer(x)) - bound.scores(bound.workload.answer(other)))
        amounts = bound.workload.differences(np.array([i]), np.array([j]))[2]
        assert moved.max() <= amounts.max(initial=0)


@pytest.mark.parametrize("words", [*PICKS, "most common age where sex=F", "3 bins of age/2", "median income/20"])
def test_words_and_json_give_the_same_choice(words):
    pick = parse_pick(words)
    assert str(pick) == words
    again = pick_from_dict(pick.to_dict())
    assert again.to_dict() == pick.to_dict()
    assert again.on(PEOPLE).workload.digest == pick.on(PEOPLE).workload.digest


def test_a_closest_guess_comes_back_from_json():
    pick = dx.closest(dx.table("sex"), {"a": [1, "2"], "b": [3, 4]})
    assert pick_from_dict(pick.to_dict()) == pick


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: selections.quantile("sex", "0.5").on(PEOPLE), "no order"),
        (lambda: selections.quantile("height", "0.5").on(PEOPLE), "no attribute"),
        (lambda: dx.median_of(""), "name an attribute"),
        (lambda: dx.median_of(None), "name an attribute"),
        (lambda: dx.quantile_of("age", 0), "between 0 and 1"),
        (lambda: dx.quantile_of("age", 1), "between 0 and 1"),
        (lambda: dx.quantile_of("age", "nan"), "finite"),
        (lambda: dx.quantile_of("age", "0.123456789"), "finest"),
        (lambda: dx.bin_edges("age", bins=1), "2 to 100"),
        (lambda: dx.bin_edges("age", bins=True), "2 to 100"),
        (lambda: dx.bin_edges("age", bins=2.0), "2 to 100"),
        (lambda: dx.bin_edges("age", bins=9).on(PEOPLE), "too few"),
        (lambda: dx.most_common("mean age by sex"), ""),
        (lambda: dx.most_common(dx.mean_of("age", by="sex")).on(PEOPLE), "ratios"),
        (lambda: dx.most_common(dx.sum_of("age") + dx.count()).on(PEOPLE), "units"),
        (lambda: dx.most_common(dx.count(sex="F")).on(PEOPLE), "one candidate"),
        (lambda: dx.closest(dx.table("sex"), {}).on(PEOPLE), "no candidates"),
        (lambda: dx.closest(dx.table("sex"), {"a": [1]}).on(PEOPLE), "targets"),
        (lambda: dx.closest(dx.table("sex"), {"a": [1, 2.5], "b": [1, 2]}).on(PEOPLE), "whole"),
        (lambda: dx.closest(dx.table("sex"), [[1, 2]]), "names"),
        (lambda: dx.closest(dx.table("sex"), {"a": [1, float("inf")]}), "finite"),
        (lambda: parse_pick("mode of age"), "not a selection"),
        (lambda: parse_pick(""), "not a selection"),
        (lambda: parse_pick("quantile x of age"), "number"),
        (lambda: parse_pick("0 bins of age"), "2 to 100"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_a_reason(make, error):
    if not error:
        with pytest.raises(DxError):
            make().on(PEOPLE)
        return
    with pytest.raises((QueryError, UsageError), match=error):
        make()


def test_too_many_values_for_ranks_are_refused():
    wide = dx.Universe([dx.Integers(name="age", low=0, high=5_000)])
    with pytest.raises(TooLarge, match="ranks"):
        selections.quantile("age", "0.5").on(wide)
    assert len(selections.quantile("age/10", "0.5").on(wide)) == 501


@pytest.mark.parametrize(
    "data", [{}, {"select": "mode"}, {"select": "quantile", "of": "age"}, {"select": "bins", "of": 3, "bins": "x"},
             {"select": "closest", "queries": [], "targets": [["a", ["1e9"]]]}]
)  # fmt: skip
def test_damaged_descriptions_are_refused(data):
    with pytest.raises(DxError):
        pick_from_dict(data)
