"""Selections have exactly the distribution that they guarantee, and no neighbor's differs by more than the reserved
cost.
"""

from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from contracts.check_selection import exceeds, exponential_law, flip_law, histograms, law_is, middles
from contracts.long_forms import slow
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling import exact_selection
from dxprivacy.mechanisms.sampling.exact_selection import WeightedSelection, permute_and_flip, sample_exponential
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.mechanisms.selection.plan import make_selection
from dxprivacy.mechanisms.selection.run import chosen
from dxprivacy.queries.selections import closest, most_common

SAMPLERS = {"exponential": (sample_exponential, exponential_law), "permute-and-flip": (permute_and_flip, flip_law)}
DRAWS = 10_000


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("scores", "scale"), [([0, 3, 5, 5, -2], 1.7), ([10**9, 10**9 - 40, 10**9 - 7], 10.25)])
def test_choices_follow_their_exact_law(name, scores, scale):
    sample, distribution = SAMPLERS[name]
    u, s = np.array(scores, dtype=np.int64), np.full(len(scores), scale)
    counts = np.bincount([sample(u, s) for _ in range(DRAWS)], minlength=len(scores))
    assert law_is(counts, middles(distribution(scores, scale)))
    assert not law_is(counts, middles(distribution(scores, 1.3 * scale)))
    assert not law_is(counts, middles(distribution(scores, 0.7 * scale)))


def test_the_two_mechanisms_differ():
    scores = [0, 3, 5, 5, -2]
    assert np.abs(middles(exponential_law(scores, 1.7)) - middles(flip_law(scores, 1.7))).max() > 0.01


def test_weighted_choices_follow_their_exact_law_also_for_sizes_beyond_all_floats():
    big = 10**400
    sizes, gaps, rate = [3 * big, big, 7, 5 * big], np.array([0, 1, 0, 3]), F(2, 3)
    weights = [F(size, big) for size in sizes]
    chances = [float(w) * np.exp(-float(rate) * g) for w, g in zip(weights, gaps.tolist(), strict=True)]
    among = WeightedSelection(sizes, gaps, rate)
    counts = np.bincount([among.draw() for _ in range(DRAWS)], minlength=4)
    assert law_is(counts, chances)
    assert not law_is(counts, np.array(chances) ** 1.3)


def test_points_that_floats_cannot_decide_are_decided_in_fractions():
    """An envelope whose lower bounds are taken away leaves every decision to rational bounds: the same distribution."""
    among = WeightedSelection([4, 1], np.array([1, 0]), F(1))
    among._low[:] = 0
    counts = np.bincount([among.draw() for _ in range(3_000)], minlength=2)
    assert law_is(counts, [4 * np.exp(-1), 1])


class Crooked:
    """Numpy, but for an exponential function that is off by a fifth, differently for every candidate."""

    def __getattr__(self, name):
        return getattr(np, name)

    def exp(self, x):
        return np.exp(x) * np.where(np.arange(len(x)) % 2, 1.2, 0.83)


@pytest.mark.parametrize("name", SAMPLERS)
def test_floats_only_filter_and_what_they_leave_open_is_decided_exactly(name, monkeypatch):
    """With weights that are wrong, and a filter that knows how wrong, the distribution is still the exact one."""
    monkeypatch.setattr(exact_selection, "_FILTER", 0.25)
    monkeypatch.setattr(exact_selection, "np", Crooked())
    sample, distribution = SAMPLERS[name]
    scores, scale = [0, 3, 5, 5, -2], 1.7
    u, s = np.array(scores, dtype=np.int64), np.full(len(scores), scale)
    counts = np.bincount([sample(u, s) for _ in range(DRAWS)], minlength=len(scores))
    assert law_is(counts, middles(distribution(scores, scale)))


def instance(rng):
    """A small random choice under a random metric."""
    cells = int(rng.integers(2, 5))
    if rng.random() < 0.5:
        d = dx.metrics.constant(cells, F(int(rng.integers(1, 30)), 10))
    else:
        d = dx.metrics.per_value({f"v{k}": F(int(rng.integers(1, 40)), 10) for k in range(cells)})
    rows = rng.integers(-3, 4, (int(rng.integers(2, 5)), cells))
    rows[0, 0], rows[0, -1] = 1, 3  # something depends on the data
    if rng.random() < 0.5:
        pick = most_common(dx.matrix(rows))
    else:
        pick = closest(dx.matrix(rows), {f"g{r}": rng.integers(-5, 6, len(rows)).tolist() for r in range(3)})
    return make_selection(pick, d, budget=F(int(rng.integers(1, 5)), 4), flip=bool(rng.random() < 0.5))


def worst_ratios(selection, records):
    """Every pair of neighbors and every output: nothing beyond exp(cost), and the cost within the fraction of d."""
    d, cells = selection.metric, selection.metric.universe.size
    distribution_of = flip_law if selection.flip else exponential_law
    distributions = {}
    for x in histograms(cells, records):
        scores = selection.candidates.scores(selection.workload.answer(x)).tolist()
        distributions[tuple(x)] = distribution_of(scores, selection.scale)
    looked = 0
    for x, distribution in distributions.items():
        for i in range(cells):
            for j in range(cells):
                if i == j or not x[i]:
                    continue
                other = list(x)
                other[i], other[j] = other[i] - 1, other[j] + 1
                cost = selection.cost.exact(i, j)
                assert cost <= selection.budget * d.exact(i, j)
                assert not exceeds(distribution, distributions[tuple(other)], F(cost))
                looked += 1
    return looked


@pytest.mark.parametrize("instances", [20, slow(200)])
def test_all_output_ratios_of_all_neighbors_stay_within_the_cost_in_200_instances(instances):
    rng = np.random.default_rng(5)
    for _ in range(instances):
        assert worst_ratios(instance(rng), records=2) > 0


def test_a_scale_that_is_too_small_is_seen_by_the_ratios():
    """The check can fail: at half the scale some ratio exceeds the distance."""
    selection = make_selection(most_common(dx.matrix([[1, 0], [0, 1]])), dx.metrics.constant(2, 2))
    distribution, other = (exponential_law(scores, selection.scale / 2) for scores in ([2, 0], [1, 1]))
    assert exceeds(distribution, other, F(selection.metric.exact(0, 1))) or exceeds(
        other, distribution, F(selection.metric.exact(0, 1))
    )


def test_a_choice_from_a_histogram_has_the_law_of_its_scores():
    d = dx.metrics.constant(3, 1)
    selection = make_selection(most_common(dx.matrix(np.eye(3, dtype=int))), d)
    data, noise = Histogram.of(d.universe, [5, 4, 0]), SystemNoise()
    counts = np.bincount([chosen(selection, data, noise) for _ in range(4_000)], minlength=3)
    assert law_is(counts, middles(exponential_law([5, 4, 0], selection.scale)))
