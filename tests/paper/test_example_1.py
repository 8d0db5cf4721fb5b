"""Example 1 of the paper: gender, native, age; `native = Y` is sensitive."""

import itertools
from fractions import Fraction as F

import pytest

import dxprivacy as dx
from dxprivacy.exact.rounding import round_up

E0, E1 = F(1, 10), F(3)
CELLS = [a + b + c for a, b, c in itertools.product("MF", "YN", "AB")]


def domain():
    return dx.Universe(
        [
            dx.Values(name="gender", values=("M", "F"), has_other=False),
            dx.Values(name="native", values=("Y", "N"), has_other=False),
            dx.Values(name="age", values=("A", "B"), has_other=False),
        ]
    )


def metric(e0=E0, e1=E1):
    return dx.metrics.attributes(domain(), {"gender": e1, "native": {"Y": e0, "N": e1}, "age": e1})


def test_the_cells_are_numbered_as_in_the_paper():
    assert ["".join(r.values()) for r in domain().records(range(8))] == CELLS


def test_all_printed_distances():
    d = metric()
    assert d.exact(0, 0) == 0
    assert d.exact(0, 1) == E1
    assert d.exact(0, 2) == E0
    assert d.exact(0, 7) == E0 + 2 * E1


def test_every_distance_is_the_printed_formula():
    d = metric()
    budget = {"M": E1, "F": E1, "Y": E0, "N": E1, "A": E1, "B": E1}
    for i, j in itertools.product(range(8), repeat=2):
        printed = sum(min(budget[a], budget[b]) for a, b in zip(CELLS[i], CELLS[j], strict=True) if a != b)
        assert d.exact(i, j) == printed


@pytest.mark.parametrize("e0", [F(1, 10), F(1, 3), F(7, 10), F(1)])
def test_the_sensitive_query_n_costs_exactly_one_over_epsilon_0(e0):
    d = metric(e0)
    bound = dx.sensitivity([[0, 0, 1, 1, 0, 0, 1, 1]], d)
    assert bound.upper == bound.lower == 1 / e0
    assert bound.witness == (0, 2)
    plan = dx.plan([[0, 0, 1, 1, 0, 0, 1, 1]], d)
    assert plan.scales == (round_up(1 / e0),)
    assert plan.certificate.ratio <= 1


@pytest.mark.parametrize("e1", [F(3), F(10, 3), F(12, 7)])
def test_the_harmless_query_m_costs_exactly_one_over_epsilon_1(e1):
    d = metric(e1=e1)
    bound = dx.sensitivity([[1, 1, 1, 1, 0, 0, 0, 0]], d)
    assert bound.upper == bound.lower == 1 / e1
    assert bound.witness == (0, 4)
    assert dx.plan(dx.count(gender="M"), d).scales == (round_up(1 / e1),)


def test_one_ulp_less_noise_is_refused():
    import math

    from dxprivacy.privacy.certificate import certify
    from dxprivacy.privacy.costs import LaplaceCost

    d = metric()
    workload = dx.count(native="N").on(d.universe)
    assert certify(LaplaceCost(workload, [10.0]), d).ratio == 1
    assert certify(LaplaceCost(workload, [math.nextafter(10.0, 0)]), d).ratio > 1


def test_with_epsilon_1_infinite_the_harmless_answer_is_exact():
    d = metric(e1="inf")
    plan = dx.plan([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1]], d)
    counts = [11, 7, 5, 3, 2, 13, 17, 19]
    assert plan.scales[0] == 0.0
    assert plan.scales[1] == 10.0
    assert dx.laplace(plan, counts)[0] == 26
    assert "exact" in str(plan)


def test_yes_and_no_are_one_query_because_n_is_public():
    d = metric()
    assert dx.sensitivity(dx.count(native="Y"), d).upper == dx.sensitivity(dx.count(native="N"), d).upper


def test_the_constant_query_is_answered_exactly():
    plan = dx.plan(dx.count(), metric())
    assert plan.scales == (0.0,)
    assert dx.laplace(plan, [1] * 8).tolist() == [8.0]
