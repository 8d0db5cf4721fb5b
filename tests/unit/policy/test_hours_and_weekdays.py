"""Weekdays and hours in a policy file, from one column of points in time, all the way to a verified release."""

import json
from datetime import datetime, timedelta
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dxprivacy as dx
from dxprivacy.errors import DataError, PolicyError
from dxprivacy.verify import verify_data

POLICY = """title = "Visits"
dataset = "visits"
[attributes.weekday]
column = "visit"
weekdays = true
epsilon = 1.0
[attributes.hour]
column = "visit"
hours = [0, 24]
epsilon = 0.5
per = "1 hour"
circle = true
"""


def one(lines):
    return dx.Policy.parse(f'title = "V"\ndataset = "v"\n[attributes.x]\n{lines}\n')


def test_two_attributes_read_one_column_and_the_release_is_verified(tmp_path):
    start = datetime(2026, 1, 5)
    moments = [start + timedelta(hours=5 * k) for k in range(300)]
    pq.write_table(pa.table({"visit": [*moments, None]}), tmp_path / "visits.parquet")
    policy = dx.Policy.parse(POLICY)
    with dx.Session(policy, tmp_path / "visits.parquet", ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        counts = session.source.count(policy.universe).counts.reshape(8, 25)
        want = [[0] * 25 for _ in range(8)]
        for moment in moments:
            want[moment.weekday()][moment.hour] += 1
        want[7][24] = 1
        assert counts.tolist() == want
        asked = ["count by weekday", "count by hour/6", "count where weekday=Saturday|Sunday and hour=8..17"]
        plan = session.plan(*asked, "count by weekday, hour[0,8,16]")
        release = session.release(plan, anyway=True)
    assert list(verify_data(json.loads(json.dumps(plan.to_dict()))))
    assert list(verify_data(json.loads(release.to_json())))
    labels = {row["label"] for row in release.rows()}
    assert {"Monday", "06:00–12:00", "Sunday, 16:00+"} <= labels, labels
    assert any("hour 08:00–17:00" in label for label in labels)


def test_the_last_hour_is_next_to_the_first_on_a_circle():
    circle = one('hours = [0, 24]\nepsilon = 0.5\nper = "1 hour"\ncircle = true').metric
    line = one('hours = [0, 24]\nepsilon = 0.5\nper = "1 hour"').metric
    for i in range(24):
        for j in range(24):
            k = abs(i - j)
            assert circle.exact(i, j) == Fraction(min(k, 24 - k), 2)
            assert line.exact(i, j) == Fraction(k, 2)
    assert circle.exact(0, 24) == 3


def test_weekdays_are_alike_or_on_a_ring():
    alike = one("weekdays = true\nepsilon = 2").metric
    ring = one('weekdays = true\nepsilon = 2\nper = "1 day"\nmax_epsilon = 5').metric
    assert alike.exact(0, 3) == alike.exact(0, 6) == alike.exact(0, 7) == 2
    assert [ring.exact(0, k) for k in range(7)] == [0, 2, 4, 5, 5, 4, 2]


@pytest.mark.parametrize(
    ("lines", "listed", "price"),
    [
        ('hours = [0, 24]\nstep = "15 minutes"\nepsilon = 1\nper = "1 hour"', 96, Fraction(1, 4)),
        ('hours = [6, 22]\nstep = "30 minutes"\nepsilon = 1\nper = "30 minutes"', 32, 1),
        ('hours = [0, 24]\nstep = "8 hours"\nepsilon = 1\nper = "8 hours"', 3, 1),
        ('hours = [0, 24]\nstep = "1 minute"\nepsilon = 1\nper = "1 hour"\ncircle = true', 1440, Fraction(1, 60)),
        ('hours = [6.5, 7]\nstep = "10 seconds"\nepsilon = 1\nper = "1 minute"', 180, Fraction(1, 6)),
    ],
)
def test_steps_of_times(lines, listed, price):
    made = one(lines)
    assert made.universe.attributes[0].listed == listed
    assert made.metric.exact(0, 1) == price


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("weekdays = false\nepsilon = 1", "weekdays is true"),
        ("weekdays = true\nepsilon = 1\nmax_epsilon = 2", "max_epsilon means nothing without per"),
        ('weekdays = true\nepsilon = 1\nper = "1 month"', "a time with its unit"),
        ('weekdays = true\nepsilon = 1\nstep = "1 day"', "unknown key “step”"),
        ('weekdays = true\nepsilon = 1\ntimezone = "Berlin"', "no time zone"),
        ('weekdays = true\nepsilon = 1\nformat = "%d.%m"', "it needs %Y, %m and %d"),
        ('hours = 24\nepsilon = 1\nper = "1 hour"', "a first and a last one"),
        ('hours = [0, 25]\nepsilon = 1\nper = "1 hour"', "an hour is 25"),
        ('hours = [22, 6]\nepsilon = 1\nper = "1 hour"', "the first before the last"),
        ('hours = [0, 24]\nepsilon = 1\nper = "1 day"', "a time with its unit"),
        ("hours = [0, 24]\nepsilon = 1", "has a distance but no unit"),
        ('hours = [0, 24]\nstep = "7 hours"\nepsilon = 1\nper = "1 hour"', "cannot be cut into steps of 7 hours"),
        ('hours = [0, 24]\nstep = "0.5 seconds"\nepsilon = 1\nper = "1 hour"', "whole numbers of seconds"),
        ('hours = [6, 22]\nepsilon = 1\nper = "1 hour"\ncircle = true', "only a whole day is a circle"),
        ('hours = [0, 24]\nstep = "1 second"\nepsilon = 1\nper = "1 hour"\ncircle = true', "86,400 steps on a circle"),
        ('hours = [0, 24]\nepsilon = 1\nper = "1 hour"\ncircle = 1', "circle is true or false"),
        ('hours = [0, 24]\nepsilon = 1\nper = "1 hour"\nformat = "%M"', "it needs %H once"),
    ],
)
def test_what_does_not_fit_is_refused(lines, what):
    with pytest.raises(PolicyError, match=what) as caught:
        one(lines)
    assert caught.value.where


@pytest.mark.parametrize(
    ("column", "lines", "needs"),
    [
        (pa.array([1.5]), "weekdays = true\nepsilon = 1", "dates"),
        (pa.array([True]), 'hours = [0, 24]\nepsilon = 1\nper = "1 hour"', "times of day"),
        (pa.array([1]), 'hours = [0, 24]\nstep = "15 minutes"\nepsilon = 1\nper = "1 hour"', "times of day"),
        (pa.array([datetime(2026, 1, 1).date()]), 'hours = [0, 24]\nepsilon = 1\nper = "1 hour"', "times of day"),
        (pa.array([3600], pa.time32("s")), "weekdays = true\nepsilon = 1", "dates"),
        (pa.array([3600], pa.time32("s")), "integers = [0, 9]\nepsilon = 1\nper = 1", "whole numbers"),
    ],
)
def test_columns_that_hold_none_are_refused_by_their_type(column, lines, needs):
    from dxprivacy.engines.open_source import open_source

    with pytest.raises(DataError, match=f"the policy needs {needs}"):
        open_source(pa.table({"x": column})).check(one(lines).universe)


def test_checks_differences_and_pictures_know_them():
    made = dx.Policy.parse(POLICY)
    line = dx.Policy.parse(POLICY.replace("circle = true\n", ""))
    assert "neighboring hours" in str(made.check())
    assert "hour" in str(made.diff(line))
    assert dx.plots.policy(made).to_dict()


def test_times_of_day_are_refused_in_parquet_and_read_from_arrow(tmp_path):
    """The engine stops at a Parquet time that lies in no day: one row would decide about a release."""
    from dxprivacy.engines.open_source import open_source

    universe = one('hours = [0, 24]\nepsilon = 1\nper = "1 hour"').universe
    table = pa.table({"x": pa.array([0, 3600 * 10**6, None, 86_399 * 10**6], pa.time64("us"))})
    pq.write_table(table, tmp_path / "people.parquet")
    with pytest.raises(DataError, match="times of day, which Parquet files must store as text"):
        open_source(tmp_path / "people.parquet").check(universe)
    counts = open_source(table).count(universe).counts
    assert {k: int(n) for k, n in enumerate(counts) if n} == {0: 1, 1: 1, 23: 1, 24: 1}


@pytest.mark.parametrize(
    "lines",
    [
        'hours = [6, 22]\nstep = "15 minutes"\nepsilon = 1\nper = "1 hour"\nformat = "%H.%M"',
        "weekdays = true\nepsilon = 1",
        'dates = ["1926-01-01", "2026-12-31"]\nstep = "3 months"\nepsilon = 1\nper = "1 year"\nformat = "%d.%m.%Y"',
        'dates = ["1926-01-01", "2026-12-31"]\nstep = "10 days"\nepsilon = 1\nper = "1 week"',
    ],
)
def test_records_that_are_written_as_parquet_are_read_back(lines, tmp_path):
    import numpy as np

    from dxprivacy.engines.fields import fields_of
    from dxprivacy.engines.open_source import open_source
    from dxprivacy.engines.sql.duckdb.duckdb_database import write_parquet_records

    universe = one(lines).universe
    cells = np.arange(universe.size, dtype=np.int64)
    times = cells % 3 + 1
    write_parquet_records(tmp_path / "people.parquet", fields_of(universe), cells, times)
    assert open_source(tmp_path / "people.parquet").count(universe).counts.tolist() == times.tolist()
