"""Several versions of a policy in one ledger: chains, recodings, units, races and replays."""

import itertools
import subprocess
import sys

import pytest

from contracts.methods import standard_plan
from contracts.unused_ledger import unused_ledger
from dxprivacy import metrics
from dxprivacy.errors import BudgetExceeded, LedgerError, PolicyError, UsageError
from dxprivacy.ledger import Ledger
from dxprivacy.ledger import adoption as adoption_module
from ledger.upgrade_cases import AGE, SEX, Case, plain, policy, spend
from ledger.upgrade_oracle import Carried, preimages, worst

# -- chains, races, replays --------------------------------------------------------------------------------------------


def test_two_upgrades_in_a_row_compose(tmp_path):
    split = 'values = ["A1", "A2", "B"]\nepsilon = 1\nwas = { A1 = "A", A2 = "A" }'
    again = 'values = ["A1", "X", "Y", "B"]\nepsilon = 2\nwas = { X = "A2", Y = "A2" }'
    first, second, third = (
        plain(tmp_path),
        plain(tmp_path, region=split, version="2", sex=SEX),
        policy(tmp_path, sex=SEX, place='column = "region"\n' + again, age=AGE, version="3"),
    )
    path = tmp_path / "ledger.db"
    old = spend(path, first, "count by region", "table region by age", budget="15%")
    assert Ledger.adopting(path, second, looser=True).written
    newer = spend(path, second, "table region by sex", "count where region=A1", budget="15%")
    assert Ledger.adopting(path, third, looser=True).written
    newest = spend(path, third, "count by place", budget="15%")
    one = preimages(first.universe, second.universe, second.recoded)
    two = preimages(second.universe, third.universe, third.recoded)
    chain = {cell: set().union(*(one[b] for b in between)) for cell, between in two.items()}
    truth = [*(Carried(c, chain) for c in old), *(Carried(c, two) for c in newer)]
    truth += [Carried(c, {k: {k} for k in range(third.universe.size)}) for c in newest]
    with Ledger.open(path, third, new_ledger=True) as ledger:
        assert [e.policy for e in ledger.entries()] == [1, 1, 2, 2, 3]
        for entry, carried in zip(ledger.entries(), truth, strict=True):
            for i, j in itertools.combinations(range(third.universe.size), 2):
                assert entry.cost.exact(i, j) == carried.exact(i, j)
        assert worst(truth, third.metric) <= 1
        ledger.verify()
    with pytest.raises(LedgerError, match="older version of the policy: “People”, version 1"):
        Ledger.open(path, first, new_ledger=True)
    with pytest.raises(LedgerError, match="older version of the policy: “People”, version 2"):
        Ledger.open(path, second, new_ledger=True)


def test_going_back_to_an_older_version_is_a_version_of_its_own(tmp_path):
    first, second = plain(tmp_path), plain(tmp_path, sex=SEX)
    case = Case(tmp_path, first, second, "count by region")
    case.carries()
    assert Ledger.adopting(case.path, first, looser=True).written
    with Ledger.open(case.path, first, new_ledger=True) as ledger:
        assert len(ledger.versions) == 3
        assert ledger.entries()[0].cost.exact(0, 6) == case.costs[0].exact(0, 6)


def test_an_upgrade_of_an_unused_ledger_needs_nothing_to_fit(tmp_path):
    old, new = plain(tmp_path), policy(tmp_path, sex=SEX)
    unused_ledger(tmp_path / "l.db", old).close()
    adoption = Ledger.adopting(tmp_path / "l.db", new, looser=True)
    assert (adoption.used, adoption.entries, adoption.worst_after) == (0, (), 0)
    with Ledger.open(tmp_path / "l.db", new, new_ledger=True) as ledger:
        assert ledger.verify() == 3


def test_title_and_version_alone_need_no_adoption(tmp_path):
    old = plain(tmp_path)
    spend(tmp_path / "l.db", old, "count by region")
    with Ledger.open(tmp_path / "l.db", plain(tmp_path, version="99"), new_ledger=True) as ledger:
        assert ledger.adopt(plain(tmp_path, version="99"), looser=True).written is None


def test_another_dataset_is_never_adopted(tmp_path):
    spend(tmp_path / "l.db", plain(tmp_path), "count by region")
    other = plain(tmp_path, dataset="others")
    with pytest.raises(LedgerError, match="belongs to dataset “people”, not “others”"):
        Ledger.adopting(tmp_path / "l.db", other, looser=True)
    with (
        Ledger.open(tmp_path / "l.db", plain(tmp_path), new_ledger=True) as ledger,
        pytest.raises(LedgerError, match="others"),
    ):
        ledger.adopt(other, looser=True)
    with pytest.raises(LedgerError, match="no ledger here"):
        Ledger.adopting(tmp_path / "none.db", other, looser=True)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(UsageError):
        Ledger.adopting(tmp_path / "l.db", other.metric, looser=True)


def test_an_unknown_version_is_told_how_to_be_adopted(tmp_path):
    spend(tmp_path / "l.db", plain(tmp_path), "count by region")
    with pytest.raises(LedgerError) as caught:
        Ledger.open(tmp_path / "l.db", plain(tmp_path, sex=SEX), new_ledger=True)
    assert "--policy NEW.toml --adopt" in str(caught.value)


def test_a_recoding_is_carried_out_once(tmp_path):
    split = 'values = ["A1", "A2", "B"]\nepsilon = 1\nwas = { A1 = "A", A2 = "A" }'
    Case(tmp_path, plain(tmp_path), plain(tmp_path, region=split), "count by region").carries()
    with pytest.raises(PolicyError, match="was speaks about version “1”, but the ledger follows version “2”"):
        Ledger.adopting(tmp_path / "ledger.db", plain(tmp_path, region=split, sex=SEX), looser=True)
    with pytest.raises(PolicyError, match="there was a version “1” before"):
        Ledger.adopting(tmp_path / "ledger.db", plain(tmp_path, region=split, version="1", before="2"), looser=True)
    typo = split.replace('"A"', '"a"')
    with pytest.raises(PolicyError, match="was names “a”, which the version before does not list"):
        Ledger.adopting(tmp_path / "ledger.db", plain(tmp_path, region=typo, version="3"), looser=True)


def test_a_swap_is_not_undone_by_going_back_to_an_older_file(tmp_path):
    """Past bug: version 2, version 3, then version 2 again swapped the costs of A and B twice more."""
    swapped = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 1\nwas = { A = "B", B = "A" }')
    path = tmp_path / "ledger.db"
    Case(tmp_path, plain(tmp_path), swapped, "count where region=A").carries()
    assert Ledger.adopting(path, plain(tmp_path, sex=SEX, version="3"), looser=True).written
    with pytest.raises(PolicyError, match="the ledger follows version “3”"):
        Ledger.adopting(path, swapped, looser=True)


def test_a_recoding_holds_for_every_attribute_that_reads_the_column(tmp_path):
    """Past bug: two attributes on one column, one of them with `was`: the costs of the recoded people were lost."""
    split = 'column = "region"\nvalues = ["A1", "A2", "B"]\nepsilon = 1\nwas = { A1 = "A", A2 = "A" }'
    both = plain(tmp_path, finer=split)
    path = tmp_path / "ledger.db"
    (cost,) = spend(path, plain(tmp_path), "count by region", budget="100%")
    truth = Carried(cost, preimages(plain(tmp_path).universe, both.universe, both.recoded))
    assert max(truth.exact(i, j) for i, j in itertools.combinations(sorted(truth.found), 2)) == 1
    with pytest.raises(
        LedgerError, match="were separated"
    ):  # `A` may be written still, and neither attribute tells all
        Ledger.adopting(path, both, looser=True)


def test_two_attributes_must_not_contradict_each_other_about_one_column(tmp_path):
    one = 'column = "region"\nvalues = ["A1", "B"]\nepsilon = 1\nwas = {{ A1 = "{}" }}'
    new = policy(tmp_path, p=one.format("A"), q=one.format("B"), age=AGE)
    spend(tmp_path / "l.db", plain(tmp_path), "count by region")
    with pytest.raises(PolicyError, match="say different things"):
        Ledger.adopting(tmp_path / "l.db", new, looser=True)


def test_only_a_weaker_unit_can_follow(tmp_path):
    old = plain(tmp_path)
    spend(tmp_path / "l.db", old, "count by region")
    unbounded = metrics.with_absent(old.metric, 1, max_records=1000)
    with pytest.raises(PolicyError, match="treated the number of records as public"):
        Ledger.adopting(tmp_path / "l.db", unbounded, dataset="people", looser=True)


def test_costs_on_presence_follow_to_another_presence_and_to_replacing(tmp_path):
    base = plain(tmp_path).metric
    old, more, less = (metrics.with_absent(base, p, max_records=1000) for p in (1, 2, "0.25"))
    plan = standard_plan(["count", "count by region"], old, budget="60%")
    with Ledger.open(tmp_path / "l.db", old, dataset="people", new_ledger=True) as ledger:
        ledger.reserve(plan.cost, plan.queries, request="x")
        told = ledger.between({"region": "A"}, {})
        assert told.spent == float(plan.cost.exact(0, old.universe.absent))
        assert told.allowed == 1
        assert told.left == pytest.approx(1 - told.spent)
    with pytest.raises(BudgetExceeded, match="allows less than was spent"):
        Ledger.adopting(tmp_path / "l.db", less, dataset="people", looser=True)
    for new in (more, base):
        Ledger.adopting(tmp_path / "l.db", new, dataset="people", looser=True)
        with Ledger.open(tmp_path / "l.db", new, dataset="people", new_ledger=True) as ledger:
            (entry,) = ledger.entries()
            for i, j in itertools.combinations(range(new.universe.size), 2):
                assert entry.cost.exact(i, j) == plan.cost.exact(i, j)


def test_stored_releases_are_replayed_after_an_upgrade_and_old_plans_spend_nothing(tmp_path):
    old, new = plain(tmp_path), plain(tmp_path, sex=SEX)
    case = Case(tmp_path, old, new, "count by region", "count by age")
    case.carries()
    with Ledger.open(case.path, new, new_ledger=True) as ledger:
        again = standard_plan("count by age", old.metric, n_records=50, budget="25%")
        assert ledger.reserve(again.cost, again.queries, request="1/1") == '{"release": "1/1"}'
        with pytest.raises(LedgerError, match="records of another version"):
            ledger.reserve(again.cost, again.queries, request="anew")
        assert len(ledger.entries()) == 2


def test_a_reservation_that_comes_in_between_is_carried_too(tmp_path, monkeypatch):
    old, new = plain(tmp_path), plain(tmp_path, sex=SEX)
    path = tmp_path / "l.db"
    spend(path, old, "count by region")
    propose, calls = adoption_module.propose, []

    def slow(*arguments):
        made = propose(*arguments)
        if not calls:
            calls.append(1)
            spend(path, plain(tmp_path, version="late"), "count by age")
        return made

    monkeypatch.setattr(adoption_module, "propose", slow)
    assert len(Ledger.adopting(path, new, looser=True).entries) == 2
    with Ledger.open(path, new, new_ledger=True) as ledger:
        assert [e.request for e in ledger.entries()] == ["1/0", "late/0"]
        ledger.verify()


def test_a_ledger_opened_before_an_upgrade_spends_nothing_after_it(tmp_path):
    old, new = plain(tmp_path), plain(tmp_path, sex=SEX)
    path = tmp_path / "l.db"
    plan = standard_plan("count by region", old.metric, budget="10%")
    with Ledger.open(path, old, new_ledger=True) as ledger:
        ledger.reserve(plan.cost, plan.queries, request="before")
        Ledger.adopting(path, new, looser=True)
        with pytest.raises(LedgerError, match="adopted meanwhile"):
            ledger.reserve(plan.cost, plan.queries, request="after")
        with pytest.raises(LedgerError, match="adopted meanwhile"):
            ledger.entries()
        ledger.finish("before", "{}")  # it was reserved in time, and carried
    with Ledger.open(path, new, new_ledger=True) as ledger:
        assert len(ledger.entries()) == 1


RACER = """
import sys
import dxprivacy as dx
from dxprivacy.errors import LedgerError
from dxprivacy.ledger import Ledger
from dxprivacy.mechanisms.linear.planning.planner import make_plan
old = dx.Policy.parse(sys.argv[3])
plan = make_plan("table region by age", old.metric, budget="0.2%")
with Ledger.open(sys.argv[1], old) as ledger:
    print("ready", flush=True)
    for k in range(200):
        try:
            ledger.reserve(plan.cost, plan.queries, request=f"{sys.argv[2]}-{k}")
            print("reserved", flush=True)
        except LedgerError as error:
            assert "adopted meanwhile" in str(error)
            break
"""


# Not made small: processes race.
def test_an_upgrade_amid_racing_reservations_loses_none_of_them(tmp_path):
    old, new, path = plain(tmp_path), plain(tmp_path, sex=SEX), tmp_path / "race.db"
    unused_ledger(path, old).close()
    command = [sys.executable, "-c", RACER, str(path)]
    racers = [subprocess.Popen([*command, str(k), old.file.text], stdout=subprocess.PIPE, text=True) for k in range(2)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    assert racers[0].stdout.readline() == "reserved\n"
    carried = Ledger.adopting(path, new, looser=True).entries
    reserved = 1 + sum(racer.stdout.read().count("reserved") for racer in racers)
    assert [racer.wait(timeout=120) for racer in racers] == [0, 0]
    for racer in racers:
        racer.stdout.close()
    with Ledger.open(path, new, new_ledger=True) as ledger:
        assert len(ledger.entries()) == len(carried) == reserved
        ledger.verify()
