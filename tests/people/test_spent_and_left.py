"""One definition of spent and left, for whole people: every view of a ledger agrees with what the ledger decides."""

import json
import math
import random
import re
from fractions import Fraction

import pandas
import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from contracts.methods import standard_plan
from dxprivacy.errors import BudgetExceeded, DxError
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.ledger_budget import used_by_attribute
from dxprivacy.ledger.leftover import Leftover
from dxprivacy.output.pages.page import used_rows
from dxprivacy.output.text.ledger_text import between_lines, ledger_lines, ledger_to_dict
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import SumCost
from dxprivacy.wording import percent, plain
from ledger.spendable import require_spendable

PANEL = """title = "Panel"
dataset = "panel"
[people]
key = "id"
max_rows = 3
[attributes.union]
values = ["yes", "no"]
epsilon = 1.0
[attributes.year]
integers = [1980, 1987]
epsilon = inf
per = 1
[attributes.job]
values = ["a", "b", "c"]
epsilon = 0.5
"""
QUERIES = (
    *("count people", "count people by a", "count people by b", "count people by a, b", "count people where a=x"),
    *("count", "count by a", "count by b", "count by a, b", "count by b, c", "sum a", "count where b=x", "count by c"),
)


def random_policy(rng):
    """One to three attributes, some public, of people or of records, with or without a presence of their own."""
    presence = f"epsilon_presence = {rng.randint(3, 60) / 10}\n" if rng.random() < 0.5 else ""
    people = f'[people]\nkey = "who"\nmax_rows = {rng.choice([1, 2, 2, 3, 5])}\n'
    if rng.random() < 0.3:  # records that come and go
        presence, people = (
            f'neighbors = "add-remove"\nepsilon_presence = {rng.randint(3, 60) / 10}\nmax_records = 99\n',
            "",
        )
    text = f'title = "T"\ndataset = "t"\n{presence}{people}'
    for name in ("a", "b", "c")[: rng.choice([1, 2, 2, 3])]:
        kind = "equal" if name == "a" and rng.random() < 0.3 else rng.choice(["equal", "own", "line", "public"])
        epsilon, other = rng.randint(1, 30) / 10, rng.randint(1, 30) / 10
        given = {
            "equal": f'values = ["x", "y", "z"]\nepsilon = {epsilon}\n',
            "own": f'values = ["x", "y"]\nepsilon = {{ x = {epsilon}, y = {other} }}\n',
            "line": f"integers = [0, {rng.randint(1, 5)}]\nepsilon = {epsilon}\nper = 1\n",
            "public": 'values = ["x", "y", "z"]\nepsilon = inf\n',
        }["equal" if kind == "public" and name == "a" else kind]
        text += f"[attributes.{name}]\n{given}"
    return dx.Policy.parse(text)


def fill(ledger, rng):
    """Reserve one to five random plans, as far as they fit."""
    for k in range(rng.randint(1, 5)):
        make = dx.plan if rng.random() < 0.7 else standard_plan
        try:
            plan = make(rng.choice(QUERIES), ledger.metric, n_records=9, budget=Fraction(rng.randint(1, 5), 10))
            ledger.reserve(plan.cost, plan.queries, request=f"r{k}")
        except DxError:
            continue


def check_ledger(path, rng):
    """What is shown as left fits exactly, nothing spent exceeds the worst case, and all views show the same."""
    policy = random_policy(rng)
    metric, universe = policy.metric, policy.universe
    with Ledger.open(path, policy, new_ledger=True) as ledger:
        fill(ledger, rng)
        spent, each, worst = ledger.spent, universe.rows_each, ledger.worst_case()
        if not spent.costs:
            return 0
        leftover = Leftover(spent, metric)
        assert leftover.bound.exact
        tried = 0
        for i in {*rng.sample(range(universe.size), min(2, universe.size)), universe.absent}:
            tried += require_spendable(spent, metric, lambda a, b: ledger.remaining(a, b) / each, i)
        for _ in range(5):
            i, j = rng.sample(range(universe.cells), 2)
            told = ledger.between(i, j)
            assert told.spent <= worst * (1 + 1e-9)
            assert told.spent <= told.charged * (1 + 1e-9) <= told.allowed * (1 + 1e-8)
            assert told.left == ledger.remaining(i, j) <= told.allowed - told.charged + 1e-9
            assert told.factor == pytest.approx(math.exp(told.spent))
        check_attributes(ledger, universe)
        check_worst_pairs(ledger, universe, rng)
    return tried


def check_worst_pairs(ledger, universe, rng, most=60):
    """No pair along an attribute, and no record beside its absence, has a smaller part left than is shown."""
    shown = {
        name: pairs[0].left if pairs else 1.0 for name, pairs in used_by_attribute(ledger.spent, ledger.metric).items()
    }
    for axis, name in enumerate(universe.names):
        stride, n = universe.strides[axis], universe.shape[axis]
        every = [(i, i + k * stride) for i in range(universe.cells) for k in range(1, n - i // stride % n)]
        for i, j in rng.sample(every, min(most, len(every))):
            told = ledger.between(i, j)
            if 0 < told.allowed < math.inf:
                assert shown[name] <= told.left / told.allowed + 1e-9, (name, i, j)
    if universe.absent is not None:
        for i in rng.sample(range(universe.cells), min(most, universe.cells)):
            told = ledger.between(i, universe.absent)
            assert shown["presence"] <= told.left / told.allowed + 1e-9, i


def check_attributes(ledger, universe):
    """Terminal output, page and JSON have the numbers of `--between` for the pairs that they name."""
    found = used_by_attribute(ledger.spent, ledger.metric)
    shown, page = ledger_to_dict(ledger)["used_by_attribute"], used_rows(None, ledger.spent, ledger.metric)[1]
    lines = [plain(line).split() for line in ledger_lines(ledger)]
    for (name, pairs), row in zip(found.items(), page, strict=True):
        left = pairs[0].left if pairs else 1.0
        assert row[2] == percent(left)
        assert any(line[:1] == [name] and " ".join(line).find(percent(left)) > 0 for line in lines)
        if not pairs:
            assert shown[name] == {"used": 0.0, "left": 1.0}
            continue
        assert shown[name]["left"] == left
        i, j = pairs[0].pair
        one, two = (universe.record(c) if c != universe.absent else {} for c in (i, j))
        assert bool(two) is (name != "presence")
        if two:
            differ = [n for n in one if one[n] != two[n]]
            assert differ == [name]
            told = ledger.between({n: one[n] for n in differ}, {n: two[n] for n in differ})
        else:
            told = ledger.between(i, j)
        assert pairs[0].allowed == pytest.approx(told.allowed)
        assert left == pytest.approx(told.left / told.allowed, abs=1e-9)


@pytest.mark.parametrize("seed", mostly_slow(range(20), slice(0, None, 5)))
def test_what_is_shown_as_left_can_be_spent_and_no_more(seed, tmp_path):
    check_ledger(tmp_path / "l.db", random.Random(seed))


@pytest.mark.soak
def test_what_is_shown_as_left_can_be_spent_and_no_more_in_300_ledgers(tmp_path):
    assert sum(check_ledger(tmp_path / f"{seed}.db", random.Random(seed)) for seed in range(20, 320)) > 300


@pytest.fixture
def session(tmp_path):
    rng = random.Random(1)
    rows = [(k, rng.choice(["yes", "no"]), rng.randint(1980, 1987), rng.choice("abc")) for k in range(40)] * 3
    frame = pandas.DataFrame(rows, columns=["id", "union", "year", "job"])
    with dx.Session(dx.Policy.parse(PANEL), frame, ledger=tmp_path / "l.db", new_ledger=True) as opened:
        yield opened


def test_a_count_of_people_is_not_spent_more_than_once_on_a_public_attribute(session):
    session.release(session.plan("count people by union", budget="30%"))
    told = session.ledger.between({"year": 1980}, {"year": 1981})
    assert told.allowed == 3  # twice the largest ε, by way of being absent
    assert told.spent == pytest.approx(session.ledger.worst_case()) == pytest.approx(0.3)
    assert told.charged == pytest.approx(0.9)
    assert told.left == pytest.approx(2.1)
    first, second, third = between_lines(told)
    assert first == "  allowed 3 · spent 0.3 (entry 1) · left 2.1"
    assert second.endswith("by at most a factor 1.35.")
    assert third.startswith("  0.9 counts as used")


def test_a_public_attribute_that_no_query_names_shows_its_own_pair(session):
    """The pair shown for `year` was a pair of `union`: the closest pair along `year` was a record and its absence."""
    session.release(session.plan("count people by union", budget="30%"))
    found = used_by_attribute(session.ledger.spent, session.ledger.metric)["year"][0]
    one, two = map(session.ledger.universe.record, found.pair)
    assert [name for name in one if one[name] != two[name]] == ["year"]
    told = session.ledger.between({"year": one["year"]}, {"year": two["year"]})
    assert (found.charged, found.allowed) == (pytest.approx(told.charged), told.allowed)
    assert found.left == pytest.approx(told.left / told.allowed)


def test_an_attribute_shows_its_own_pair_and_what_detours_over_absence_leave(session):
    budgets = {"count people by union": "30%", "count by year": "20%", "count": "20%", "count by year, union": "11%"}
    for query, budget in (budgets | {"sum year": "11%", "count where union=yes": "11%"}).items():
        session.release(session.plan(query, budget=budget), request=query, anyway=True)
    found = used_by_attribute(session.ledger.spent, session.ledger.metric)
    records = [session.ledger.universe.record(c) for c in found["year"][0].pair]
    assert [n for n in records[0] if records[0][n] != records[1][n]] == ["year"]
    assert found["year"][0].left == pytest.approx(found["presence"][0].left, rel=1e-2)
    assert found["union"][0].left < 1 - found["union"][0].fraction  # two ways of presence have less left
    told = session.ledger.between({"union": "yes"}, {"union": "no"})
    assert (told.left / told.allowed, told.by_way_of) == (pytest.approx(found["union"][0].left), "being absent")


def test_a_refusal_names_what_is_left_as_between_does(session):
    for query in ("count", "count by year"):
        session.release(session.plan(query, budget="40%"), request=query)
    with pytest.raises(BudgetExceeded) as refused:
        session.release(session.plan("count by union", budget="100%"), request="more")
    rest, allowed = re.search(r"has ([\d.]+) left of ([\d.]+);", str(refused.value)).groups()
    told = session.ledger.between({"union": "yes", "year": 1980, "job": "a"}, {})
    assert (float(allowed), float(rest)) == (told.allowed, pytest.approx(told.left, rel=1e-2))


def test_an_adoption_that_does_not_fit_speaks_of_whole_people(session):
    session.release(session.plan("count by union", budget="60%"))
    stricter = dx.Policy.parse(PANEL.replace("epsilon = 1.0", "epsilon = 0.5"))
    with pytest.raises(BudgetExceeded, match=r"yes – no: spent 0\.6 \(entry 1\), the new policy allows 0\.5"):
        session.ledger.adopt(stricter)
    adopted = session.ledger.adopt(dx.Policy.parse(PANEL.replace("epsilon = 1.0", "epsilon = 0.8")), dry_run=True)
    assert adopted.worst_before == adopted.worst_after == session.ledger.worst_case()


def test_the_worst_case_of_an_entry_is_the_same_in_every_view(session):
    for query in ("count people by union", "count by year"):
        session.release(session.plan(query, budget="20%"), request=query, anyway=True)
    shown = ledger_to_dict(session.ledger)
    assert sum(entry["worst_case_epsilon"] for entry in shown["entries"]) == pytest.approx(shown["worst_case_epsilon"])
    assert json.loads(json.dumps(shown)) == shown


def test_where_the_ledger_decides_by_a_bound_the_bound_is_shown(session, monkeypatch):
    for job in "ab":
        session.release(session.plan(f"count where union=yes and job={job}", budget="30%"), request=job)
    for limit in ("MAX_PAIRS", "_CONSTANT_COLUMNS", "_FEW_PAIRS"):
        monkeypatch.setattr(f"dxprivacy.privacy.search.generating_pairs.{limit}", 0)
    for limit in ("_FEWEST", "_WORK"):
        monkeypatch.setattr(f"dxprivacy.ledger.ledger_budget.{limit}", 0)
    spent, metric = session.ledger.spent, session.ledger.metric
    bound = max_ratio(spent, metric)
    assert not bound.exact  # no record is in both counts
    same = {"job": "a", "year": 1980}
    told = session.ledger.between({"union": "yes", **same}, {"union": "no", **same})
    assert told.left is None
    assert told.bound == float(bound.upper)
    assert told.between[0] == pytest.approx(told.allowed * (1 - float(bound.upper)))
    assert "the ledger decides by an upper bound" in between_lines(told)[0]
    assert session.ledger.remaining(0, metric.universe.strides[0]) == pytest.approx(told.between[0])
    for used in used_by_attribute(SumCost(metric.universe, spent.costs), metric).values():
        assert all(u.left <= 1 - float(bound.upper) + 1e-9 for u in used[:1])


def test_the_public_number_of_people_says_whom_it_includes(session):
    from dxprivacy.cli.options import number_words

    release = session.release(session.plan("count people by union", budget="30%"))
    words = "41 people (public, one of them for all rows without a key); how many rows is private"
    assert number_words(release) == words
    assert "(41, one of them for all rows without a key) is treated as public" in str(release.deployment())


@pytest.mark.parametrize(("no_key", "whose"), [("one", "without a key"), ("own", "with an unusable key")])
def test_the_public_number_of_people_names_the_rows_of_the_additional_person(no_key, whose, tmp_path):
    from dxprivacy.cli.options import number_words

    text = f'''title = "T"
dataset = "t"
[people]
key = "who"
max_rows = 2
no_key = "{no_key}"
[attributes.sex]
values = ["F", "M"]
epsilon = 1'''
    people = pandas.DataFrame({"who": ["a", "a", "b"], "sex": ["F", "M", "M"]})
    with dx.Session(dx.Policy.parse(text), people, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(session.plan("count by sex"), anyway=True)
    assert number_words(release) == f"3 people (public, one of them for all rows {whose}); how many rows is private"
    assert f"(3, one of them for all rows {whose}) is treated as public" in str(release.deployment())


def test_a_public_attribute_has_nothing_that_could_be_used_up(tmp_path, monkeypatch):
    """Where a ledger decides by a bound, it has less left of every pair with an end to its ε, and of no other."""
    values = {"a": '["x", "y"]\nepsilon = 1', "b": '["x", "y", "z"]\nepsilon = 1', "c": '["x", "y"]\nepsilon = inf'}
    text = "".join(f"[attributes.{name}]\nvalues = {given}\n" for name, given in values.items())
    policy = dx.Policy.parse(f'title = "T"\ndataset = "t"\n{text}')
    with Ledger.open(tmp_path / "l.db", policy, new_ledger=True) as ledger:
        for b in "xy":
            plan = standard_plan([f"count where a=x and b={b}"], policy.metric, n_records=99, budget="30%")
            ledger.reserve(plan.cost, plan.queries, request=b)
        for limit in ("MAX_PAIRS", "_CONSTANT_COLUMNS", "_FEW_PAIRS"):
            monkeypatch.setattr(f"dxprivacy.privacy.search.generating_pairs.{limit}", 0)
        for limit in ("_FEWEST", "_WORK"):
            monkeypatch.setattr(f"dxprivacy.ledger.ledger_budget.{limit}", 0)
        found = used_by_attribute(ledger.spent, policy.metric)
    assert [found[name][0].left for name in "ab"] == pytest.approx([0.4, 0.4])
    assert found["c"] == []
