"""Floats that err as much as they may never hide the largest ratio from the verifier: fractions decide."""

import random
from fractions import Fraction as F

import pytest

from dxprivacy.verify.directions import Direction
from dxprivacy.verify.distances import ERROR, Distance

SIZE, CONTEXTS = 7, 3


def blurred(x, rng, most=ERROR):
    """A float that is off by at most the promised error, one way or the other."""
    return float(x) * (1 + rng.choice([-0.99, 0.99, 0.5, -0.5]) * most)


class Far(Distance):
    """Distances that hardly differ, known to floats only roughly."""

    def __init__(self, rng):
        super().__init__(SIZE)
        self.true = {(i, j): 1 + F(rng.randint(0, 40), 1 << 22) for j in range(SIZE) for i in range(j)}
        self.seen = {pair: blurred(d, rng) for pair, d in self.true.items()}

    def about(self, i, j):
        return self.seen[min(i, j), max(i, j)]

    def between(self, i, j):
        return (self.true[min(i, j), max(i, j)],) * 2


class Told:
    """Losses between columns, likewise."""

    def __init__(self, rng):
        pairs = [(c, i, j) for c in range(CONTEXTS) for j in range(SIZE) for i in range(j)]
        self.true = {key: 1 + F(rng.randint(0, 40), 1 << 22) for key in pairs}
        self.seen = {key: blurred(x, rng) for key, x in self.true.items()}

    def about(self, a, b):
        return self.seen[a[0], min(a[1], b[1]), max(a[1], b[1])]

    def exact(self, a, b):
        return self.true[a[0], min(a[1], b[1]), max(a[1], b[1])]


class Moves(Direction):
    """Values in classes of one or two; a column is a context and a class."""

    def __init__(self, rng):
        super().__init__(Told(rng), Far(rng), SIZE)
        self.number([0, 1, 2, 2, 3, 4, 4])

    def contexts(self):
        return [(c,) for c in range(CONTEXTS)]

    def column(self, context, value):
        return (context[0], self.classes[value])

    def cell(self, context, value):
        return value

    def bound(self, near):
        raise AssertionError("there are few contexts")


def truth(moves):
    found = [
        moves.loss.exact((c, moves.classes[i]), (c, moves.classes[j])) / moves.metric.between(i, j)[0]
        for c in range(CONTEXTS) for j in range(SIZE) for i in range(j) if moves.classes[i] != moves.classes[j]
    ]  # fmt: skip
    return max(found)


@pytest.mark.parametrize("seed", range(200))
def test_the_largest_ratio_is_found_though_every_float_is_off(seed):
    moves = Moves(random.Random(seed))
    found = moves.search()
    assert (found.low, found.high) == (truth(moves), truth(moves))
