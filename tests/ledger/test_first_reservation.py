"""A ledger file comes into being with its first reservation, and follows the policy of that reservation."""

import subprocess
import sys

import pytest

import dxprivacy as dx
from contracts.long_forms import slow
from contracts.methods import standard_plan
from contracts.unused_ledger import unused_ledger
from dxprivacy.errors import BudgetExceeded, LedgerError, UsageError
from dxprivacy.ledger import Entry, Ledger
from dxprivacy.ledger import ledger as ledger_module
from dxprivacy.ledger.adoption import stored_policy
from dxprivacy.ledger.journal import Journal
from dxprivacy.output.text.ledger_text import ledger_lines, ledger_to_dict

TEXT = """
title = "People"
dataset = "people"
[attributes.sex]
values = ["M", "F"]
epsilon = {}
{}
"""
ADD_REMOVE = 'neighbors = "add-remove"\nmax_records = 100\nepsilon_presence = 1.0\n'
BAD, GOOD = dx.Policy.parse(TEXT.format(0.001, "")), dx.Policy.parse(TEXT.format(1, ""))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def files(path):
    return sorted(file.name for file in path.parent.iterdir())


def reserve(ledger, policy, request="a", budget="50%"):
    plan = standard_plan("count by sex", policy.metric, budget=budget)
    return ledger.reserve(plan.cost, plan.queries, request=request)


def kinds(path):
    with Journal.read(path) as journal:
        return [row.kind for row in journal.rows()]


def test_nothing_is_made_before_the_first_reservation(path):
    with Ledger.open(path, GOOD, new_ledger=True) as ledger:
        assert ledger.is_new
        assert (ledger.entries(), ledger.versions, ledger.spent.costs) == ([], [], ())
        assert (ledger.verify(), ledger.worst_case(), ledger.remaining(0, 1)) == (0, 0, 1)
        ledger.verify_on_disk()
        assert ledger.most_exhausted() == []
        assert ledger.between({"sex": "M"}, {"sex": "F"}).spent == 0
        assert "nothing released yet" in "\n".join(ledger_lines(ledger))
        assert ledger_to_dict(ledger)["policy_versions"] == []
        assert repr(ledger) == "Ledger('ledger.db', not made yet)"
        assert "ledger.db" in ledger._repr_mimebundle_()["text/html"]
        with pytest.raises(LedgerError, match="never reserved"):
            ledger.finish("a", "{}")
        with pytest.raises(LedgerError, match="nothing to carry over"):
            ledger.adopt(BAD)
        assert files(path) == []
        assert isinstance(reserve(ledger, GOOD), Entry)
        assert ledger.verify() == 3
        assert len(ledger.versions) == 1
    assert kinds(path) == ["open", "policy", "reserve"]
    assert stored_policy(path).digest == GOOD.digest


def test_a_first_cost_that_is_refused_makes_no_file(path):
    plan = standard_plan("count by sex", GOOD.metric, budget="100%")
    with Ledger.open(path, BAD, new_ledger=True) as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve(plan.cost, plan.queries, request="a")
    assert files(path) == []
    unused_ledger(path, GOOD).close()
    with Ledger.open(path, BAD) as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve(plan.cost, plan.queries, request="a")
    assert kinds(path) == ["open", "policy"]  # nor does it record a policy


def test_a_refused_first_release_leaves_no_ledger_to_a_corrected_policy(path):
    """A beginner corrects the policy, and is not told of another version."""
    data = path.parent / "people.csv"
    data.write_text("sex\n" + "M\nF\n" * 200)
    with dx.Session(BAD, data, ledger=path, new_ledger=True) as session:
        plan = session.plan("count by sex")
        with pytest.raises(UsageError, match="uninformative"):
            session.release(plan)
    assert files(path) == ["people.csv"]
    with dx.Session(GOOD, data, ledger=path, new_ledger=True) as session:
        session.release(session.plan("count by sex", budget="50%"))
    assert kinds(path) == ["open", "policy", "reserve", "finish"]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.format(1, ""),
        ADD_REMOVE + TEXT.format(1, ""),
        TEXT.format(1, "[attributes.age]\nintegers = [0, 3]\nepsilon = 1\nper = 1"),
    ],
)
def test_a_ledger_without_reservations_takes_another_policy(path, text):
    """Nothing was released under the first one: another unit, looser distances and other attributes are all fine."""
    unused_ledger(path, BAD).close()
    before = path.read_bytes()
    policy = dx.Policy.parse(text)
    with Ledger.open(path, policy) as ledger:
        assert not ledger.is_new
        assert ledger.entries() == []
        assert path.read_bytes() == before  # to look at it records nothing
        reserve(ledger, policy)
        assert len(ledger.entries()) == 1
        assert ledger.verify() == 4
    assert kinds(path) == ["open", "policy", "policy", "reserve"]
    assert stored_policy(path).digest == policy.digest
    with Ledger.open(path, policy) as ledger:
        assert len(ledger.entries()) == 1
    with pytest.raises(LedgerError, match="older version"):
        Ledger.open(path, BAD)


def test_a_ledger_without_reservations_stays_with_its_dataset(path):
    unused_ledger(path, BAD).close()
    with pytest.raises(LedgerError, match="belongs to dataset “people”, not “others”"):
        Ledger.open(path, dx.Policy.parse(TEXT.format(1, "").replace('"people"', '"others"')))


@pytest.mark.parametrize("stopped_at", ["adopt", "reserve"])
def test_a_crash_while_the_ledger_is_made_costs_nothing(path, monkeypatch, stopped_at):
    def stop(*_):
        raise KeyboardInterrupt

    with Ledger.open(path, BAD, new_ledger=True) as ledger, monkeypatch.context() as patch:
        patch.setattr(Journal, stopped_at, stop)
        with pytest.raises(KeyboardInterrupt):
            reserve(ledger, BAD)
    assert kinds(path) == ["open", "policy"][: 1 if stopped_at == "adopt" else 2]
    with Ledger.open(path, GOOD) as ledger:
        reserve(ledger, GOOD, budget="100%")
        assert ledger.verify() == len(kinds(path))


def test_two_first_releases_at_once_under_one_policy_share_the_ledger(path):
    with Ledger.open(path, GOOD, new_ledger=True) as one, Ledger.open(path, GOOD, new_ledger=True) as two:
        assert two.entries() == []
        reserve(one, GOOD, "one", "60%")
        with pytest.raises(BudgetExceeded):
            reserve(two, GOOD, "two", "60%")
        reserve(two, GOOD, "two", "40%")
        assert len(one.entries()) == len(two.entries()) == 2
    assert kinds(path) == ["open", "policy", "reserve", "reserve"]


def test_two_first_releases_at_once_under_two_policies_cannot_both_reserve(path):
    with Ledger.open(path, GOOD, new_ledger=True) as one, Ledger.open(path, BAD, new_ledger=True) as two:
        reserve(one, GOOD)
        for call in (lambda: reserve(two, BAD, "b"), two.entries, two.verify):
            with pytest.raises(LedgerError, match="another version of the policy"):
                call()
    assert kinds(path) == ["open", "policy", "reserve"]


def test_a_reservation_under_another_policy_before_the_own_policy_row_is_noticed_in_the_lock(path, monkeypatch):
    with Ledger.open(path, GOOD, new_ledger=True) as one, Ledger.open(path, BAD, new_ledger=True) as two:
        decide, done = one._first_version, []

        def decide_late(policies, reserved):
            made = decide(policies, reserved)
            if not done:  # another process is faster after the decision, and before the lock is held
                done.append(reserve(two, BAD, "other"))
            return made

        monkeypatch.setattr(one, "_first_version", decide_late)
        with pytest.raises(LedgerError, match="another version of the policy"):
            reserve(one, GOOD)
        assert done
    assert kinds(path) == ["open", "policy", "reserve"]


@pytest.mark.parametrize("spends", [False, True])
def test_another_policy_between_the_own_policy_row_and_the_reservation_is_noticed_in_the_lock(
    path, monkeypatch, spends
):
    with Ledger.open(path, GOOD, new_ledger=True) as one, Ledger.open(path, BAD, new_ledger=True) as two:
        real, done = ledger_module.require_budget, []

        def budget_late(*given):
            real(*given)
            if one._journal is not None and not done:
                done.append(two)
                done.append(reserve(two, BAD, "other") if spends else two._started())

        monkeypatch.setattr(ledger_module, "require_budget", budget_late)
        with pytest.raises(LedgerError, match="version of the policy"):
            reserve(one, GOOD)
        assert len(done) == 2
    assert kinds(path) == ["open", "policy", "policy", *["reserve"] * spends]


RACER = """
import sys
import dxprivacy as dx
from dxprivacy.errors import LedgerError
from dxprivacy.ledger import Ledger
policy = dx.Policy.parse(sys.argv[3])
plan = dx.plan("count by sex", policy, budget="10%", method="same-scale")
with Ledger.open(sys.argv[1], policy, new_ledger=True) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        ledger.reserve(plan.cost, plan.queries, request=sys.argv[2])
        print("reserved", flush=True)
    except LedgerError as error:
        print("refused", error.what, flush=True)
"""


@pytest.mark.parametrize(("round_", "times"), [(0, 1), slow(0, 2), slow(1, 2)])
def test_processes_that_start_one_ledger_under_two_policies_end_with_one(path, round_, times):
    texts = [TEXT.format(1, ""), TEXT.format(2, "")] * times
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(path), str(k), text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for k, text in enumerate(texts)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    assert files(path) == []
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    ends = [racer.communicate(timeout=120)[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * len(racers)
    won = [texts[k] for k, end in enumerate(ends) if end == "reserved"]
    assert won, ends
    assert all("version of the policy" in end for end in ends if end != "reserved"), ends
    kept = stored_policy(path)
    assert {dx.Policy.parse(text).digest for text in won} == {kept.digest}
    with Ledger.open(path, kept) as ledger:
        ledger.verify()
        assert len(ledger.entries()) == len(won)


def test_places_where_no_ledger_can_be_made_are_refused_when_it_is_opened(path):
    for place, words in ((path.parent / "none" / "l.db", "no such file or directory"), (path, "a directory")):
        if place == path:
            path.mkdir()
        with pytest.raises(LedgerError, match=words):
            Ledger.open(place, GOOD, new_ledger=True)


def test_a_closed_ledger_makes_no_file(path):
    ledger = Ledger.open(path, GOOD, new_ledger=True)
    ledger.close()
    for call in (ledger.entries, lambda: reserve(ledger, GOOD)):
        with pytest.raises(LedgerError, match="closed"):
            call()
    assert files(path) == []
