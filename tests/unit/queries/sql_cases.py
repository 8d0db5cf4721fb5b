"""A policy of several kinds of attribute to ask in SQL, and records that lie at its ends."""

import datetime

from every_kind import written

import dxprivacy as dx

POLICY = written("region", "sex", "age", "years", "income", "visit", "scores")
SLASHED = dx.Integers(name="my age/10", low=0, high=5)  # which no policy could name
UNIVERSE = dx.Universe([*dx.Policy.parse(POLICY).universe.attributes, SLASHED])
PEOPLE = dx.Policy.parse(POLICY + '[people]\nkey = "patient"\nmax_rows = 3\n').universe

RECORDS = [
    (sex, age, income, years, visit)
    for sex in ("F", "M", "X", None)
    for age, income, years, visit in (
        (0, 0.0, -5, datetime.date(2026, 1, 1)),
        (17, 9.99, 10, datetime.date(2026, 1, 31)),
        (18, 10.0, 12, datetime.date(2026, 2, 1)),
        (30, 55.5, 15, datetime.date(2026, 2, 28)),
        (65, 99.0, 20, datetime.date(2026, 3, 1)),
        (99, 100.0, 77, datetime.date(2026, 3, 31)),
        (None, None, None, None),
    )
]
NAMES = ("sex", "age", "income", "years", "visit")
