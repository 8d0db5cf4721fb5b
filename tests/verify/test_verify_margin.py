"""Floats that err as much as they may never hide the largest ratio from the verifier: fractions decide."""

import random
from fractions import Fraction as F
from types import SimpleNamespace

import pytest

from dxprivacy.verify.directions import Direction
from dxprivacy.verify.distances import ERROR, Distance
from dxprivacy.verify.parts import Part

SIZE, CONTEXTS = 7, 3


def blurred(x, rng, most=ERROR):
    """A float that is off by at most the guaranteed error, one way or the other."""
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

    universe = SimpleNamespace(shape=[SIZE])

    def __init__(self, rng):
        pairs = [(c, i, j) for c in range(CONTEXTS) for j in range(SIZE) for i in range(j)]
        self.true = {key: 1 + F(rng.randint(0, 40), 1 << 22) for key in pairs}
        self.seen = {key: blurred(x, rng) for key, x in self.true.items()}

    def about(self, a, b):
        return self.seen[a[0], min(a[1], b[1]), max(a[1], b[1])]

    def exact(self, a, b):
        return self.true[a[0], min(a[1], b[1]), max(a[1], b[1])]


class Piece(Part):
    """A part of the loss with contexts of its own; a column is a context and a class."""

    def __init__(self, loss, classes, wide):
        super().__init__(loss, [(c,) for c in range(CONTEXTS)])
        self.classes, self.wide = classes, wide

    def columns(self, context):
        return None if self.wide else [(context[0], c) for c in range(self.classes)]

    def sides(self, context, key):
        return (context[0], key[0]), (context[0], key[1])

    def put(self, record, context):
        pass


class Moves(Direction):
    """Values in classes of one or two; losses of one part or of several."""

    def __init__(self, rng, parts, wide):
        losses = [Told(rng) for _ in range(parts)]
        super().__init__(losses[0], Far(rng), SIZE)
        self.number([0, 1, 2, 2, 3, 4, 4])
        self.pieces = [Piece(loss, len(self.members), wide) for loss in losses]

    def parts(self):
        return self.pieces

    def cell(self, context, value):
        return value

    def bound(self, near):
        raise AssertionError("there are few contexts")


def largest(piece, i, j):
    return max(piece.loss.exact((c, i), (c, j)) for c in range(CONTEXTS))


def truth(moves):
    found = [
        sum(largest(piece, moves.classes[i], moves.classes[j]) for piece in moves.pieces)
        / moves.metric.between(i, j)[0]
        for j in range(SIZE) for i in range(j) if moves.classes[i] != moves.classes[j]
    ]  # fmt: skip
    return max(found)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("seed", range(200))
def test_the_largest_ratio_is_found_though_every_float_is_off(seed, parts, wide):
    moves = Moves(random.Random(seed), parts, wide)
    found = moves.search()
    assert (found.low, found.high) == (truth(moves), truth(moves))
