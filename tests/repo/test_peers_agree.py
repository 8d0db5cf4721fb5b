"""What benchmarks ask of peers is what they ask of us: at a huge ε, everybody says what is true."""

import dataclasses

import numpy as np
import pytest
from benchmarks import beside, by_diffprivlib, by_opendp, survey

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")
BY_WORDS = {query.words: query for query in survey.ALL}


@pytest.mark.parametrize("words", BY_WORDS)
def test_opendp_says_what_is_true(words):
    query = BY_WORDS[words]
    sample = query.sample(0)
    truth = query.truth(sample)
    found = by_opendp.answer(query, 1e4)(sample)
    assert found.shape == truth.shape
    between = 1 if query.words.startswith(("quantile", "median")) else 0.05  # its ranks halve ties
    assert np.allclose(found, truth, rtol=0.002, atol=between)


def test_every_query_is_asked_of_diffprivlib_or_it_cannot():
    assert set(by_diffprivlib._ANSWERS) | set(by_diffprivlib.CANNOT) == set(BY_WORDS)


def test_our_own_errors_are_measured_against_the_same_truth():
    """Of ages by region, ours errs by less than a year; the worst case is that of the policy, the least ε a year's."""
    ours, (worst, strict) = beside._ours(dataclasses.replace(survey.MEANS, runs=5))
    assert ours < 1
    assert worst == pytest.approx(1)
    assert strict == pytest.approx(0.01)
