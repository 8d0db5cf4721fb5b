"""Blowfish with public counts: how many people move together, what that loses, and where no budget is enough."""

import math
from fractions import Fraction as F
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from examples import blowfish

import dxprivacy as dx

SECRETS = list(permutations(range(6), 2))


def by_hand(changes, most):
    """All collections of changes that cancel, and of which no smaller one is a part."""
    found = []
    for size in range(1, most + 1):
        for group in combinations_with_replacement(range(len(changes)), size):
            often = tuple(group.count(k) for k in range(len(changes)))
            if any(all(f <= o for f, o in zip(least, often, strict=True)) for least in found):
                continue
            if not np.sum([changes[k] for k in group], axis=0).any():
                found.append(often)
    return found


@pytest.mark.parametrize("known", [blowfish.NUMBER_ILL, blowfish.BY_REGION, [[0, 1, 2, 3, 0, 2]], [[0, 1, 3, 1, 0, 1]]])
def test_groups_that_move_together_are_those_found_by_hand(known):
    changes = sorted({tuple(row[j] - row[i] for row in known) for i, j in SECRETS})
    ways = blowfish.indecomposable(changes)
    most = max(map(sum, ways))
    assert sorted(ways) == sorted(by_hand(changes, most + 1))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_known_table_of_an_attribute_moves_as_many_people_as_it_has_values(k):
    """He et al.: S(h, P) is twice that for the whole histogram, where every two values are secrets."""
    known = [[int(r == region) for r in range(k)] for region in range(k)]
    assert blowfish.together(known, permutations(range(k), 2))[0] == k


def test_the_loss_of_a_cycle_is_attained_by_a_release():
    """The largest log ratio of two Laplace distributions is the weighted distance of the true answers: here all of
    transport.
    """
    plan = dx.plan(dx.table("region", "ill"), dx.metrics.constant(blowfish.people, 1), method="optimal")
    group = [(0, 3), (2, 5), (4, 1)]
    change = np.zeros(6, dtype=np.int64)
    for i, j in group:
        change[i] -= 1
        change[j] += 1
    assert not (np.array(blowfish.BY_REGION) @ change).any()  # nobody who knows the regions can exclude it
    attained = sum(F(abs(int(a))) / F(s) for a, s in zip(plan.workload.dense() @ change, plan.scales, strict=True))
    lost = blowfish.told(plan.cost, group)
    assert attained == lost.upper
    assert float(attained) == pytest.approx(3)


@pytest.mark.parametrize("known", [blowfish.NUMBER_ILL, blowfish.BY_REGION])
def test_a_share_of_one_over_the_largest_group_keeps_the_guarantee_for_all_groups(known):
    d = dx.metrics.attributes(blowfish.people, {"region": 1, "ill": "0.8"})
    size, groups = blowfish.together(known, SECRETS)
    plan = dx.plan(dx.table("region", "ill"), d, budget=F(1, size), method="optimal")
    whole = dx.plan(dx.table("region", "ill"), d, method="optimal")
    most = [max(d.exact(i, j) for i, j in group) for group in groups]
    assert all(blowfish.told(plan.cost, group).upper <= far for group, far in zip(groups, most, strict=True))
    assert any(blowfish.told(whole.cost, group).upper > far for group, far in zip(groups, most, strict=True))


def test_public_regions_can_be_known_at_no_cost():
    d = dx.metrics.attributes(blowfish.people, {"region": math.inf, "ill": 1})
    inside = [(i, j) for i, j in SECRETS if d.exact(i, j) < math.inf]
    assert blowfish.together(blowfish.BY_REGION, inside)[0] == 1
    assert blowfish.together(blowfish.BY_REGION + blowfish.NUMBER_ILL, inside)[0] == 2  # and the ill of another region


def test_where_a_public_value_balances_a_secret_no_share_is_enough():
    inf = math.inf
    d = dx.metrics.from_matrix([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, inf], [inf, inf, inf, 0]])
    assert blowfish.told(d, [(0, 1), (3, 2)]).upper == inf
    for budget in ("100%", F(1, 1000)):
        plan = dx.plan([[1, 0, 0, 0], [0, 0, 1, 0]], d, budget=budget)
        assert plan.scales[1] == 0  # the south is exact: known total - south = north


@pytest.mark.parametrize("n", [1, 10, 500])
def test_where_all_records_are_alike_the_loss_grows_with_their_number(n):
    assert blowfish.told(dx.metrics.constant(2, 1), [(0, 1)] * n).upper == n


def test_a_search_without_an_end_in_sight_is_given_up():
    with pytest.raises(ValueError, match="move together"):
        blowfish.indecomposable([(20,), (-19,)])
