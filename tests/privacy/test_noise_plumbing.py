"""The noise that was planned is the noise that is drawn: the very scales, from the operating system's entropy.

Statistics of released numbers see a scale that is wrong by some per cent; these tests see any other scale at all.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import dxprivacy as dx
from contracts.check_selection import flip_law, law_is, middles
from dxprivacy.errors import UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.linear.run import noisy_rows
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.sampling import SystemNoise, discrete_laplace, exact_selection
from dxprivacy.mechanisms.selection.plan import make_selection
from dxprivacy.mechanisms.selection.run import chosen
from dxprivacy.queries.selections import most_common


class Recorded:
    """Draws real noise, and remembers every scale that it was asked for."""

    def __init__(self):
        self.real, self.scales, self.selections, self.families = SystemNoise(), [], [], []

    def laplace(self, scales):
        self.scales.append(scales.copy())
        return self.real.laplace(scales)

    def together(self, family):
        self.families.append(family)
        return self.real.together(family)

    def select(self, scores, scales, *, flip=False):
        self.selections.append((scales.copy(), flip))
        return self.real.select(scores, scales, flip=flip)

    def entropy(self, count):
        return self.real.entropy(count)


ROWS = [[1, 0, 0, 2, 0, 0], [0, 3, 0, 0, 1, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 5]]


@pytest.mark.parametrize("method", ["same-scale", "equal-split", "psa", "optimal", "matrix", "biased", "auto"])
def test_every_row_of_a_release_gets_exactly_the_scale_of_its_plan(method):
    d = dx.metrics.line(6, "0.37")
    plan = dx.plan(ROWS, d, method=method, n_records=60, budget="30%")
    noise = Recorded()
    noisy_rows(plan, Histogram.of(d.universe, [10] * 6), noise)
    (used,) = noise.scales
    assert used.tolist() == list(plan.scales) == plan.cost.scales.tolist()
    assert (used > 0).any()


@pytest.mark.parametrize("flip", [False, True])
def test_a_choice_is_made_at_exactly_the_scale_of_its_plan(flip):
    u = dx.Universe([dx.Values(name="city", values=tuple("abcd"))])
    d = dx.metrics.attributes(u, {"city": "0.3"})
    selection = make_selection(most_common("city"), d, n_records=40, budget="70%", flip=flip)
    noise = Recorded()
    chosen(selection, Histogram.of(u, [10, 5, 20, 5, 0]), noise)
    ((used, flipped),) = noise.selections
    assert set(used.tolist()) == {selection.scale}
    assert flipped == flip


def test_every_step_of_mwem_uses_exactly_the_scales_of_its_plan():
    d = dx.metrics.line(6, "0.37")
    noise = Recorded()
    found = dx.mwem(ROWS, d, [10] * 6, rounds=3, noise=noise)
    plan = plan_mwem(ROWS, d, n_records=60, rounds=3)
    measured = [m.row for m in found.measurements]
    assert [used.tolist() for used in noise.scales] == [[plan.scales[row]] for row in measured]
    left = list(range(4))
    for (used, flipped), row in zip(noise.selections, measured, strict=True):
        assert used.tolist() == plan.selection_scales[left].tolist()
        assert not flipped
        left.remove(row)


def test_a_direct_fit_draws_the_noise_of_its_plan():
    d = dx.metrics.line(6, "0.37")
    noise = Recorded()
    found = dx.direct(ROWS, d, [10] * 6, noise=noise)
    (used,) = noise.scales
    assert used.tolist() == [m.scale for m in found.measurements]


def test_system_noise_hands_every_scale_on_as_it_is(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "dxprivacy.mechanisms.sampling.system_noise.discrete_laplace", lambda scales: seen.append(scales) or np.ones(2)
    )
    out = SystemNoise().laplace(np.array([0.1, 0.0, 7.3]))
    assert seen[0].tolist() == [0.1, 7.3]
    assert out.tolist() == [1, 0, 1]
    for bad in (-0.0, -1.0, np.inf, np.nan):
        with pytest.raises(UsageError):
            SystemNoise().laplace(np.array([bad]))


def test_permute_and_flip_through_the_systems_noise_follows_its_law():
    scores, scale, draws = [0, 3, 5, 5, -2], 1.7, 10_000
    u, s = np.array(scores, dtype=np.int64), np.full(5, scale)
    counts = np.bincount([SystemNoise().select(u, s, flip=True) for _ in range(draws)], minlength=5)
    assert law_is(counts, middles(flip_law(scores, scale)))
    for wrong in (0.5, 0.7, 1.4, 2.0):
        assert not law_is(counts, middles(flip_law(scores, wrong * scale)))


# -- where randomness comes from ---------------------------------------------------------------------------------------

DRAW = """
import os, sys
import numpy as np
if sys.argv[1] == "counted":
    real, asked = os.urandom, []
    os.urandom = lambda n: asked.append(n) or real(n)
elif sys.argv[1] == "fixed":
    bytes_of = np.random.default_rng(5).bytes
    os.urandom = lambda n: bytes_of(n)
import dxprivacy as dx
from dxprivacy.mechanisms.sampling import SystemNoise
noise = SystemNoise()
before = len(asked) if sys.argv[1] == "counted" else 0
drawn = [noise.laplace(np.full(4, 1e9)).tolist()]
for flip in (False, True):
    drawn.append([noise.select(np.zeros(1000, dtype=np.int64), np.ones(1000), flip=flip) for _ in range(4)])
drawn.append(noise.entropy(8).hex())
print(drawn, sum(asked[before:]) >= 64 if sys.argv[1] == "counted" else "")
"""


def drawn(how):
    run = subprocess.run([sys.executable, "-c", DRAW, how], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout


def test_two_fresh_processes_draw_different_noise():
    first, second = (eval(drawn("real").strip()) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one != other


def test_all_noise_comes_from_the_operating_system():
    assert drawn("counted").strip().endswith("True")
    assert drawn("fixed") == drawn("fixed"), "with that one source fixed, nothing else is random"


def test_the_samplers_take_the_operating_systems_entropy_unless_a_test_says_otherwise():
    assert discrete_laplace._sample.__defaults__ == (os.urandom,)
    for sampler in (exact_selection.sample_exponential, exact_selection.permute_and_flip, exact_selection.below):
        assert sampler.__defaults__ == (os.urandom,)
