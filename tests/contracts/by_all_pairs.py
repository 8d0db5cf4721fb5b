"""The verifier's largest ratio against that over all pairs, in fractions."""

import json
from fractions import Fraction
from itertools import combinations

from dxprivacy.verify import reading
from dxprivacy.verify.certificate import tightest
from dxprivacy.verify.loss import Loss, ratio, ratio_of
from dxprivacy.verify.metric import distance
from dxprivacy.verify.queries import ask
from dxprivacy.verify.universe import Universe as Read


def read_back(data):
    return reading.parse(json.dumps(data))


def read(queries, metric, scales, *, choose=False):
    universe = Read(read_back(metric.universe.to_dict()))
    blocks = ask(read_back(queries.to_dict()), universe).blocks
    first = blocks[len(blocks) // 2].first
    selections = [range(first), range(first, len(scales))] if choose else []
    return Loss(universe, blocks, list(scales), [c for c in selections if c]), distance(
        read_back(metric.spec()), universe.size
    )


def over_all_pairs(loss, metric):
    """The largest of both ends of `ratio_of`, which is worked out only where it is larger than all before."""
    columns = [loss.at(cell) for cell in range(loss.universe.size)]
    most = least = Fraction(0)
    for i, j in combinations(range(loss.universe.size), 2):
        lost, (near, far) = loss.exact(columns[i], columns[j]), metric.between(i, j)
        if exceeds(lost, far, least) or exceeds(lost, near, most):
            low, high = ratio(lost, near, far)
            least, most = max(least, low), max(most, high)
    return least, most


def exceeds(lost, distance, best):
    """Whether lost / distance > best, in whole numbers: fractions would be reduced every time."""
    if any(isinstance(x, float) for x in (lost, distance, best)):
        return True  # infinite: what that comes to is not decided here
    ours = lost.numerator * distance.denominator * best.denominator
    return ours > best.numerator * lost.denominator * distance.numerator


def check(loss, metric):
    low, high = over_all_pairs(loss, metric)
    found = tightest(loss, metric)
    assert found.exact
    assert (found.low, found.high) == (low, high)
    if found.pair is not None and low:
        assert ratio_of(loss, metric, *found.pair)[0] == low
