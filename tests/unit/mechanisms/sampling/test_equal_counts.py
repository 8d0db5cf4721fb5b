"""Sums of equal counts: the closed form against sums of products in fractions."""

import math
from fractions import Fraction as F
from math import comb

import pytest

from dxprivacy.mechanisms.sampling.zero_sum_tables import RHO_BITS, equal_counts, log_weight


def by_fractions(rho: F, times: int, size: int) -> list[F]:
    """h_t(s): sum over j of C(t-1+s+j, t-1) C(t-1+j, t-1) rho^(s+2j), times (1 - rho^2)^t, far enough out."""
    t, out, powers = times, [], [F(int(rho**k * 2**600), 2**600) for k in range(size + 300)]
    for s in range(size):
        terms = (comb(t - 1 + s + j, t - 1) * comb(t - 1 + j, t - 1) * powers[s + 2 * j] for j in range(140))
        out.append((1 - rho**2) ** t * sum(terms))
    return out


@pytest.mark.parametrize("times", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("rho", [F(1, 1000), F(1, 3), F(1, 2)])
def test_the_closed_form_is_the_sum_of_products(rho, times):
    whole = int(rho * 2**RHO_BITS)
    low, high = equal_counts(whole, times, 90, 20)
    for a, b, x in zip(low, high, by_fractions(F(whole, 2**RHO_BITS), times, 20), strict=True):
        assert a <= x * 2**90 + 1
        assert b >= x * 2**90
        assert b - a <= 1


@pytest.mark.parametrize("rho", [2**127, 2**128 - 2**120, 2**128 - 2**100, 3])
@pytest.mark.parametrize("times", [1, 5, 64])
def test_two_of_them_are_the_sum_of_one_and_the_rest(rho, times):
    """h_(t+1)(s) = sum over l of rho^|l| h_t(s - l): what h_(t+1)(s) - rho h_(t+1)(s-1) leaves is a sum to one side."""
    low, high = equal_counts(rho, times, 120, 30)
    more_low, more_high = equal_counts(rho, times + 1, 120, 30)
    # F(s) = sum over l <= s of rho^(s-l) h_t(l), and h_(t+1)(s) = F(s) + F(-s) - h_t(s), so that
    # h_(t+1)(s+1) + h_(t+1)(s-1) - (rho + 1/rho) h_(t+1)(s) = (rho - 1/rho) h_t(s).
    r = F(rho, 2**RHO_BITS)
    for s in range(1, 29):
        slack = 4 * (1 + 1 / r)
        left = F(more_low[s + 1] + more_low[s - 1]) - (r + 1 / r) * more_high[s]
        right = F(more_high[s + 1] + more_high[s - 1]) - (r + 1 / r) * more_low[s]
        assert left - slack <= (r - 1 / r) * low[s] + slack * 4
        assert right + slack >= (r - 1 / r) * high[s] - slack * 4


def test_floats_tell_about_how_large_it_is():
    rho = 2**128 - 2**121
    low, _ = equal_counts(rho, 9, 200, 400)
    for s in (0, 17, 399):
        assert log_weight(rho, 9, s) == pytest.approx(math.log(low[s]) - 200 * math.log(2))
