"""Attributes that no query touches change nothing: the same plan, release and ledger in a universe of any size."""

import json

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.verify import verify_data

pandas = pytest.importorskip("pandas")

SMALL = """title = "t"
dataset = "t"
[attributes.age]
integers = [0, 9]
epsilon = 1.0
per = 2
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
"""
QUERIES = ("count by sex, age", "mean age by sex", "count where age=3..6", "marginals 2 of age/5, sex")


def more(attributes: int, size: int) -> str:
    listed = ", ".join(f'"v{k}"' for k in range(size))
    return "".join(f"[attributes.b{k}]\nvalues = [{listed}]\nepsilon = 0.5\n" for k in range(attributes))


@pytest.fixture
def people():
    rng = np.random.default_rng(5)
    frame = pandas.DataFrame({"age": rng.integers(0, 10, 500), "sex": rng.choice(["M", "F"], 500)})
    return frame.assign(**{f"b{k}": rng.choice(["v0", "v1", "other thing"], 500) for k in range(30)})


def session(tmp_path, people, name, text):
    (tmp_path / f"{name}.toml").write_text(text)
    return dx.Session(tmp_path / f"{name}.toml", people, ledger=tmp_path / f"{name}.db", new_ledger=True)


@pytest.mark.parametrize(("attributes", "size"), [(3, 5), (12, 40), (30, 60)], ids=["small", "large", "beyond 64 bits"])
def test_attributes_that_nobody_asks_about_change_nothing(tmp_path, people, attributes, size):
    with session(tmp_path, people, "small", SMALL) as small:
        first = small.plan(*QUERIES, budget="20%")
        with session(tmp_path, people, "large", SMALL + more(attributes, size)) as large:
            second = large.plan(*QUERIES, budget="20%")
            assert second.scales == pytest.approx(first.scales, rel=1e-9)
            assert second.certificate.ratio <= second.budget
            assert second.worst_epsilon == pytest.approx(first.worst_epsilon)
            release = large.release(second, anyway=True)
            assert len(release.answers) == len(small.release(first, anyway=True).answers)
            assert release.records == 500
            list(verify_data(json.loads(release.to_json())))
            list(verify_data(json.loads(json.dumps(second.to_dict()))))
            assert large.ledger.worst_case() == pytest.approx(small.ledger.worst_case())
            told = large.ledger.between({"sex": "M"}, {"sex": "F"})
            assert told.spent == pytest.approx(small.ledger.between({"sex": "M"}, {"sex": "F"}).spent)
            assert told.left == pytest.approx(told.allowed - told.spent, rel=1e-6)
            inside = large.plan("count by sex", inside_ledger=True, budget="50%")
            assert large.release(inside)
            assert large.ledger.verify() > 0


def test_answers_of_a_wide_universe_are_those_of_its_attributes(tmp_path, people, monkeypatch):
    """Without noise that hides it: scales so small that nothing is added."""
    text = (SMALL + more(30, 60)).replace("epsilon = 1.0", "epsilon = 1000000")
    with session(tmp_path, people, "wide", text) as wide:
        plan = wide.plan("count by sex, age", budget="100%", method="same-scale")
        values = [row.value for row in wide.release(plan).answers]
    truth = [int(((people.sex == s) & (people.age == a)).sum()) for a in range(10) for s in "MF"]
    assert sorted(values) == sorted(truth)
