"""Refusals that say what to write instead."""

import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError
from dxprivacy.queries.text.query_grammar import parse


@pytest.mark.parametrize(
    ("query", "what", "instead"),
    [
        ("mode job", "is not a query", 'dxp select "most common …"'),
        ("percentile 90 of income", "is not a query", "quantile 0.9 of …"),
        ("correlation income", "correlation of income and what?", "correlation income, OTHER"),
        ("correlation a, b, c", "a correlation is of two", "correlation a, b"),
        ("covariance a and b and c", "a covariance is of two", "covariance a, b"),
        ("ratio of income to age", "a ratio is of a sum", "ratio of sum children to count by region"),
        ("count where emp>=emp_3", "compares with a number", "…=emp_3..LAST"),
        ("count where emp<emp_3", "compares with a number", "…=FIRST..emp_3"),
    ],
)
def test_what_is_refused_says_what_to_write(query, what, instead):
    with pytest.raises(DxError) as caught:
        parse(query)
    assert what in str(caught.value)
    assert instead in str(caught.value)


def test_quantiles_may_be_said_in_percent():
    assert parse("quantile 50%, 97.5% of income") == dx.quantile_of("income", "0.5", "0.975")
