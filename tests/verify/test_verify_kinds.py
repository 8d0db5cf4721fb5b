"""The verifier reads every kind of attribute by itself: plans and releases about them hold, spoilt ones do not."""

import json
import random

import pytest
from test_verify_accepts import released

import dxprivacy as dx
from dxprivacy.errors import NotVerified
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import verify_data
from dxprivacy.verify.attributes import attribute


def read_back(data):
    return json.loads(json.dumps(data))


def verified(policy, asked):
    """The labels of a plan that is verified, with a release of it."""
    plan = dx.plan(asked, policy.metric, n_records=500)
    assert list(verify_data(read_back(plan.to_dict())))
    assert list(verify_data(json.loads(released(plan, random.Random(3)).to_json())))
    return {a.label for a in plan.workload.answers}


CALENDAR = """title = "Births"
dataset = "births"
[attributes.birth]
dates = ["2000-01-01", "2005-12-20"]
step = "1 month"
epsilon = 1
per = "1 year"
[attributes.visit]
dates = ["2026-01-01", "2026-12-31"]
step = "2 weeks"
outside = "clamp"
epsilon = 1
per = "7 days"
"""


@pytest.mark.slow  # the other tests of this file are the short forms
def test_periods_of_the_calendar_are_verified():
    asked = ["count by birth/12", "count by birth/year", "count by birth/decade", "count by birth[2000,2003-07]"]
    asked += [
        "count where birth=2001|2003-05-17|other",
        "count where birth=2001..2002",
        "count where birth=2001-02..2005",
    ]
    asked += [
        "count by visit/13",
        "count where visit=2026-01-01..2026-01-14",
        "count where visit=2026-12-31",
        "count by visit",
    ]
    asked += ["prefixes birth/quarter", "count by visit[2026-01-15]"]
    labels = verified(dx.Policy.parse(CALENDAR), asked)
    assert {
        "2001",
        "2000s",
        "2000-01–2003-06",
        "2003-07–2005-12",
        "2000-Q1",
        "2026-01-01–2026-07-01",
        "2026-01-15+",
    } <= labels
    assert {
        "count where birth 2001 or 2003-05 or other",
        "count where birth 2001–2002",
        "count where birth 2001-02–2005-12",
        "count where visit 2026-01-14 or earlier",
        "count where visit 2026-12-31 or later",
    } & labels == {
        "count where birth 2001 or 2003-05 or other",
        "count where birth 2001–2002",
        "count where birth 2001-02–2005-12",
        "count where visit 2026-01-14 or earlier",
        "count where visit 2026-12-31 or later",
    }


@pytest.mark.parametrize(
    "step", ["1 week", "10 days", "1 month", "3 months", "7 months", "1 year", "10 years", "9000 years"]
)
@pytest.mark.parametrize(
    "ends", [("2000-02-01", "2009-12-20"), ("0001-01-01", "0040-03-03"), ("9960-12-01", "9999-12-31")]
)
def test_labels_and_places_are_those_of_the_model(step, ends):
    ours = Dates(name="birth", first=ends[0], last=ends[1], step=step)
    theirs = attribute(read_back(ours.spec()), "")
    assert theirs.listed == ours.listed
    for k in range(ours.listed):
        assert theirs.label(k) == ours.label(k)
        assert theirs.place(ours.label(k)) == k == theirs.place(ours.day(k).isoformat())
        assert theirs.periods.end(k) == ours.codec.periods.end(k)


@pytest.mark.parametrize(
    "step", [{"days": 1}, {"months": 0}, {"months": 1, "days": 1}, {}, {"years": 1}, "1 month", {"months": "1"}]
)
def test_steps_that_are_none_are_refused(step):
    spec = Dates(name="birth", first="2000-01-01", last="2009-12-20", step="1 month").spec()
    with pytest.raises(NotVerified):
        attribute(spec | {"step": step}, "")
    with pytest.raises(NotVerified, match="months that do not begin"):
        attribute(spec | {"range": ["2000-01-31", "2009-12-20"]}, "")


def test_another_step_is_another_universe():
    universe = Universe([Dates(name="birth", first="2009-01-01", last="2009-12-31", step="1 month")])
    data = read_back(dx.plan("count by birth", dx.metrics.Constant(universe, 1), n_records=100).to_dict())
    text = json.dumps(data).replace('{"months": 1}', '{"months": 2}')
    assert text != json.dumps(data)
    with pytest.raises(NotVerified):
        list(verify_data(json.loads(text)))
