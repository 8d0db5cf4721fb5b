"""What people write who have read the README alone: mistakes are told with the query, and what to do next."""

import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError
from dxprivacy.output.text.plan_text import plan_lines
from dxprivacy.wording import plain

POLICY = dx.Policy.parse("""title = "Diamonds"
dataset = "d"
[attributes.cut]
order = ["Fair", "Good", "Ideal"]
epsilon = 1
per = 1
[attributes.color]
values = ["D", "E", "F"]
epsilon = 1
[attributes.price]
numbers = [0, 20000]
step = 50
epsilon = 1
per = 5000
[attributes.carat]
numbers = [0, 6]
step = 0.05
epsilon = 1
per = 1
[attributes.carrier]
values = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13", "c14", "c15", "c16"]
epsilon = 1
""")


@pytest.mark.parametrize(
    ("query", "what", "hint"),
    [
        ("quantile of price", "which quantile?", "quantile 0.9 of income"),
        ("quantile 1.5 of price", "between 0 and 1", "quantile 0.9 of …"),
        ("median price width -5", "must not be negative", "width 0"),
        ("median price width 50000", "wider than the range", "no width"),
        ("median color", "no numbers in an order", "count by color"),
        ("mean color", "no numbers to add up", "count by color"),
        ("ratio of sum color to count", "no numbers to add up", "count by color"),
        ("variance color", "no numbers to average", "count by color"),
        ("correlation price, color", "no numbers to average", "count by color"),
        ("correlation price, price", "price with itself needs no query", "variance price"),
        ("covariance price, price by cut", "price with itself needs no query", "variance price"),
        ("median price by price/1000", "by groups of itself", "count by price/1000"),
        ("median price where cut=Excellent", "no value 'Excellent'", "Fair, Good, Ideal"),
        ("count where color=Z", "no value 'Z'", "D, E, F"),
        ("proportion where price>4321 by cut", "inside a step", "price>=4300"),
        ("histogram price/75", "inside a step", "50"),
    ],
)
def test_a_mistake_is_told_with_the_query_and_what_to_do(query, what, hint):
    with pytest.raises(DxError) as caught:
        dx.plan(query, POLICY.metric, n_records=1_000)
    assert what in caught.value.what
    assert caught.value.where.startswith("query “")
    assert hint in [text if isinstance(text, str) else text[0] for text in caught.value.hints]


@pytest.mark.parametrize("query", ["median price where cut=Excellent", "median price by cut, cut"])
def test_an_error_names_the_query_as_it_was_asked_and_no_width_that_was_tried(query):
    with pytest.raises(DxError) as caught:
        dx.plan(query, POLICY.metric, n_records=1_000)
    assert caught.value.where == f"query “{query}”"


@pytest.mark.slow  # the other tests of this file are the short forms
def test_several_quantiles_of_a_group_are_not_called_groups():
    """Two quantiles of sixteen carriers are 32 answers, not 30 carriers and two."""
    lines = [
        plain(line)
        for line in plan_lines(dx.plan("quantile 0.1, 0.5 of price by carrier", POLICY.metric, n_records=9_000))
    ]
    assert not [line for line in lines if "carriers" in line]


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda: dx.mean_of(["price", "carat"]), "name an attribute"),
        (lambda: dx.median_of(3), "name an attribute"),
        (lambda: dx.ratio_of("price", to=3), "name an attribute"),
        (lambda: dx.correlation_of("price", ""), "name an attribute"),
        (lambda: dx.prefixes(None), "name an attribute"),
        (lambda: dx.prefixes("price/1000", by="cut"), "prefixes cannot be grouped"),
        (lambda: dx.quantile_of("price"), "which quantile"),
        (lambda: dx.quantile_of("price", [0.25, 0.75]), "one by one"),
    ],
)
def test_in_python_mistakes_are_errors_of_ours_with_a_remedy(ask, what):
    with pytest.raises(DxError) as caught:
        ask()
    assert what in caught.value.what
    assert caught.value.hints
