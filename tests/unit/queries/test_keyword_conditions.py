"""In Python, conditions are keywords of every query that takes some, as they are of counts."""

import pytest

import dxprivacy as dx
from dxprivacy.errors import QueryError

TWINS = [
    (dx.table, ("region",), "count by region"),
    (dx.sum_of, ("age",), "sum age"),
    (dx.mean_of, ("age",), "mean age"),
    (dx.ratio_of, ("age",), "ratio of sum age to count"),
    (dx.variance_of, ("age",), "variance age"),
    (dx.sd_of, ("age",), "sd age"),
    (dx.covariance_of, ("age", "income"), "covariance age, income"),
    (dx.correlation_of, ("age", "income"), "correlation age, income"),
    (dx.median_of, ("age",), "median age"),
    (dx.quantile_of, ("age", 0.25, 0.75), "quantile 0.25, 0.75 of age"),
    (dx.density_of, ("age",), "density age"),
]


@pytest.mark.parametrize(("twin", "given", "words"), TWINS)
def test_keywords_are_conditions(twin, given, words):
    assert str(twin(*given, sex="F", years=dx.above(12))) == f"{words} where sex=F and years>12"
    assert twin(*given, sex="F") == twin(*given, where={"sex": "F"}) == twin(*given, where="sex=F")


@pytest.mark.parametrize(("twin", "given", "words"), TWINS)
def test_keywords_stand_behind_conditions_in_words_or_by_name(twin, given, words):
    assert str(twin(*given, where="years<9", sex="F")) == f"{words} where years<9 and sex=F"


def test_what_a_query_knows_itself_is_no_condition():
    assert str(dx.median_of("age", by="sex", width=3, within=2, sex=["F", "M"])).startswith("median age by sex where")


@pytest.mark.parametrize(("twin", "given"), [(dx.prefixes, "age"), (dx.ranges, "age"), (dx.marginals, 2)])
def test_queries_without_conditions_say_so(twin, given):
    with pytest.raises(QueryError, match="take no condition, and nothing called “sex”") as caught:
        twin(given, sex="F")
    assert caught.value.hints
