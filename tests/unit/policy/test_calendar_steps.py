"""Steps of the calendar in a policy file: what they mean, and what is refused with its line and a way out."""

from fractions import Fraction

import pytest

import dxprivacy as dx
from dxprivacy.errors import PolicyError

POLICY = """title = "Births"
dataset = "births"
[attributes.birth]
dates = ["1926-01-01", "2026-12-31"]
{lines}
"""


def policy(*lines):
    return dx.Policy.parse(POLICY.format(lines="\n".join(lines)))


@pytest.mark.parametrize(
    ("step", "per", "listed", "price"),
    [
        ("1 month", "1 year", 1_212, Fraction(1, 24)),
        ("1 month", "3 months", 1_212, Fraction(1, 6)),
        ("1 month", "0.5 months", 1_212, Fraction(1)),
        ("1 year", "10 years", 101, Fraction(1, 20)),
        ("1 year", "1 month", 101, Fraction(6)),
        ("10 years", "1 decade", 11, Fraction(1, 2)),
        ("1 week", "7 days", 5_270, Fraction(1, 2)),
        ("10 days", "1 week", 3_689, Fraction(5, 7)),
    ],
)
def test_epsilon_is_for_so_many_steps(step, per, listed, price):
    made = policy(f'step = "{step}"', "epsilon = 0.5", f'per = "{per}"')
    (birth,) = made.universe.attributes
    assert birth.listed == listed
    assert made.metric.exact(0, 1) == price
    assert made.metric.exact(2, 9) == 7 * price


@pytest.mark.parametrize(
    ("lines", "what", "hint"),
    [
        (
            ['step = "1 month"', "epsilon = 1", 'per = "30 days"'],
            "a month has no fixed number of days",
            'per = "1 year"',
        ),
        (['step = "1 week"', "epsilon = 1", 'per = "1 month"'], "months and years have no fixed length", "1 month"),
        (["epsilon = 1", 'per = "1 year"'], "months and years have no fixed length", 'step = "1 month"'),
        (['step = "1 month"', "epsilon = 1", "per = 12"], "a time with its unit is needed", 'per = "1 year"'),
        (['step = "1 month"', "epsilon = 1"], "has a distance but no unit", 'per = "1 year"'),
        (['step = "1 hour"', "epsilon = 1", 'per = "1 year"'], "a whole number of days, weeks", 'step = "1 month"'),
        (["step = 1", "epsilon = 1", 'per = "7 days"'], "a whole number of days, weeks", 'step = "1 month"'),
        (['step = "0 weeks"', "epsilon = 1", 'per = "7 days"'], "a whole number of days, weeks", 'step = "2 weeks"'),
        (['step = "1 month"', "epsilon = 1", 'per = "1 year"', 'outside = "cut"'], "outside is 'cut'", "clamp"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(lines, what, hint):
    with pytest.raises(PolicyError, match=what) as caught:
        policy(*lines)
    assert hint in str(caught.value.hints)
    assert caught.value.where


@pytest.mark.parametrize(
    ("days", "what", "hint"),
    [
        ('["1926-01-31", "2026-12-31"]', "not every month has such a day", "1926-01-01"),
        ('["2026-12-31", "1926-01-01"]', "which is empty", "1926-01-01"),
        ('["1926-01-01"]', "a first and a last day", "2026-01-01"),
        ('["1926", "2026"]', "a first and a last day", "2026-01-01"),
    ],
)
def test_ranges_that_cannot_be_cut_are_refused(days, what, hint):
    text = POLICY.format(lines='step = "1 month"\nepsilon = 1\nper = "1 year"')
    with pytest.raises(PolicyError, match=what) as caught:
        dx.Policy.parse(text.replace('["1926-01-01", "2026-12-31"]', days))
    assert hint in str(caught.value.hints)


def test_a_check_and_a_difference_speak_of_months():
    old = policy('step = "1 month"', "epsilon = 1", 'per = "1 year"')
    new = policy('step = "1 year"', "epsilon = 1", 'per = "1 year"', 'outside = "clamp"')
    assert "neighboring months" in str(old.check())
    assert "birth" in str(old.diff(new))
    assert dx.plots.policy(old).to_dict()
    assert dx.plots.policy(new).to_dict()
