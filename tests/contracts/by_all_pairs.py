"""The verifier's largest ratio against that over all pairs, in fractions."""

import json
from itertools import combinations

from dxprivacy.verify import reading
from dxprivacy.verify.certificate import tightest
from dxprivacy.verify.loss import Loss, ratio_of
from dxprivacy.verify.metric import distance
from dxprivacy.verify.questions import ask
from dxprivacy.verify.universe import Universe as Read


def read_back(data):
    return reading.parse(json.dumps(data))


def read(questions, metric, scales, *, choose=False):
    universe = Read(read_back(metric.universe.to_dict()))
    blocks = ask(read_back(questions.to_dict()), universe).blocks
    first = blocks[len(blocks) // 2].first
    choices = [range(first), range(first, len(scales))] if choose else []
    return Loss(universe, blocks, list(scales), [c for c in choices if c]), distance(
        read_back(metric.spec()), universe.size
    )


def over_all_pairs(loss, metric):
    pairs = combinations(range(loss.universe.size), 2)
    found = [ratio_of(loss, metric, i, j) for i, j in pairs]
    return max(low for low, _ in found), max(high for _, high in found)


def check(loss, metric):
    low, high = over_all_pairs(loss, metric)
    found = tightest(loss, metric)
    assert found.exact
    assert (found.low, found.high) == (low, high)
    if found.pair is not None and low:
        assert ratio_of(loss, metric, *found.pair)[0] == low
