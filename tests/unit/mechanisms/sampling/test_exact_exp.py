"""Bounds of exp(-x) enclose it as closely as asked, whatever the caller's decimal context."""

import decimal
from fractions import Fraction

import pytest
from mpmath import mp

from dxprivacy.mechanisms.sampling.exact_selection import exp_bounds

CASES = [Fraction(0), Fraction(1, 16), Fraction(1), Fraction(17, 16), Fraction(5000, 16), Fraction(10**30 + 1, 10**30)]
ODD = [Fraction(0.1), Fraction(2**53 - 1, 3**40), Fraction(1, 7**200), Fraction(63 * 3**60 + 1, 3**60)]


@pytest.mark.parametrize("bits", [53, 63, 127, 1000])
@pytest.mark.parametrize("x", [*CASES, *ODD], ids=str)
def test_bounds_of_exp_enclose_it_closely(x, bits):
    with mp.workdps(700):
        low, high = exp_bounds(x, bits)
        assert low <= mp.exp(-mp.mpf(x.numerator) / x.denominator) * 2**bits <= high
        assert high - low <= 5


def test_what_is_far_below_one_unit_costs_nothing_to_bound():
    assert exp_bounds(Fraction(10**400), 63) == (0, 1)


def test_bounds_ignore_the_decimal_context_of_the_caller():
    expected = exp_bounds(Fraction(1), 191)
    with decimal.localcontext() as context:
        context.prec, context.rounding, context.Emin, context.traps[decimal.Inexact] = 3, decimal.ROUND_UP, -1, True
        assert exp_bounds(Fraction(1), 191) == expected


def test_only_powers_below_one_are_asked_for():
    with pytest.raises(ValueError, match="negative"):
        exp_bounds(Fraction(-1), 63)
