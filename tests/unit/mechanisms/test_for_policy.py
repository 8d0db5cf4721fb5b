"""Plans are made for a policy as for its metric, and carry its title and dataset."""

import pandas
import pytest

import dxprivacy as dx
from dxprivacy.errors import UsageError

POLICY = dx.Policy.parse('title = "Survey"\ndataset = "survey"\n[attributes.sex]\nvalues = ["F", "M"]\nepsilon = 1')
PEOPLE = pandas.DataFrame({"sex": ["F", "M"] * 200})
PLANNERS = {
    "plan": lambda policy, **more: dx.plan("count by sex", policy, n_records=400, **more),
    "selection": lambda policy, **more: dx.plan_selection("most common sex", policy, n_records=400, **more),
    "smalldb": lambda policy, **more: dx.plan_smalldb("count by sex", policy, n_records=400, **more),
    "synthesis": lambda policy, **more: dx.plan_synthesis("count by sex", policy, n_records=400, **more).made,
}
BY_HAND = {
    "direct": lambda policy: dx.direct("count by sex", policy, [200, 200, 0]),
    "mwem": lambda policy: dx.mwem("count by sex", policy, [200, 200, 0], rounds=1),
    "statistical": lambda policy: dx.statistical(policy, n=400, values=[0, 1, 1]),
}


@pytest.mark.parametrize("make", PLANNERS.values(), ids=PLANNERS)
def test_a_policy_stands_for_its_metric_title_and_dataset(make):
    made = make(POLICY)
    assert made.dataset == "survey"
    assert made.to_dict() == make(POLICY.metric, title="Survey", dataset="survey").to_dict()
    assert made.request == make(POLICY.metric, title="Survey", dataset="survey").request


@pytest.mark.parametrize("make", [*PLANNERS.values(), *BY_HAND.values()], ids=[*PLANNERS, *BY_HAND])
def test_other_things_are_refused_with_both_that_are_taken(make):
    make(POLICY)
    with pytest.raises(UsageError, match="a policy or a metric is needed, not str") as refused:
        make("policy.toml")
    assert 'dx.Policy.load("policy.toml")' in str(refused.value)


def test_a_plan_for_a_policy_can_be_released_by_its_session(tmp_path):
    with dx.Session(POLICY, PEOPLE, ledger=tmp_path / "l.db", new_ledger=True) as session:
        assert session.release(dx.plan("count by sex", POLICY, budget="50%")).records == 400
