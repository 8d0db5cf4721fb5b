"""New versions of a policy: past costs follow the people, exactly, or the version is refused with the reason."""

import itertools
import subprocess
import sys
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, DxError, LedgerError, PolicyError, UsageError
from dxprivacy.ledger import Entry, Ledger
from dxprivacy.ledger import adoption as adoption_module
from dxprivacy.ledger.versions import Version
from dxprivacy.model import metrics
from dxprivacy.model.attributes import Integers, Values
from dxprivacy.model.metrics import AttributeSum, alone
from dxprivacy.model.questions import matrix
from dxprivacy.model.reading import Recoding
from dxprivacy.model.universe import Universe
from dxprivacy.planning import make_plan
from ledger.upgrade_oracle import Carried, preimages, worst

REGION = 'values = ["A", "B"]\nepsilon = 1'
AGE = "integers = [0, 4]\nepsilon = 0.5\nper = 1"
SEX = 'values = ["M", "F"]\nepsilon = 2'
PLACES = "id,x,y,zone\n1,0,0,n\n2,3,4,n\n3,6,8,s\n"


def policy(folder, *, combine="sum", version="", before="", dataset="people", **attributes):
    recodes = any("was" in body for body in attributes.values())
    version = version or ("2" if recodes else "1")
    text = f'title = "People"\ndataset = "{dataset}"\nversion = "{version}"\n'
    text += f'was_version = "{before or int(version) - 1}"\n' if recodes else ""
    text += "".join(f"[attributes.{name}]\n{body}\n" for name, body in attributes.items())
    return dx.Policy.parse(text + f'[combine]\nhow = "{combine}"\n', folder=folder)


def spend(path, version, *questions, share="25%"):
    """Reserve each question under its own name; what was reserved, as the planner gave it."""
    costs = []
    with Ledger.open(path, version) as ledger:
        for k, question in enumerate(questions):
            plan = make_plan(question, version.metric, rows=50, share=share)
            name = f"{version.version}/{k}"
            assert isinstance(ledger.reserve(plan.cost, plan.questions, request=name), Entry)
            ledger.finish(name, f'{{"release": "{name}"}}')
            costs.append(plan.cost)
    return costs


class Case:
    """An old policy with some questions answered, and a new one to be adopted."""

    def __init__(self, folder, old, new, *questions, share="25%"):
        self.path, self.old, self.new = folder / "ledger.db", old, new
        self.costs = spend(self.path, old, *questions, share=share)
        found = preimages(old.universe, new.universe, new.recoded)
        self.truth = [Carried(cost, found) for cost in self.costs]

    def carries(self):
        """Adopt it, and compare every cost with brute force over all pairs and all preimages."""
        assert not any(t.separated() for t in self.truth)
        with Ledger.open(self.path, self.old) as ledger:
            dry = ledger.adopt(self.new, dry_run=True)
            assert dry.written is None
            assert ledger.universe == self.old.universe
            adoption = ledger.adopt(self.new)
            assert adoption.written is not None
            assert (dry.used, dry.worst_after) == (adoption.used, adoption.worst_after)
            self._compare(ledger, adoption)
        with Ledger.open(self.path, self.new) as ledger:
            self._compare(ledger, adoption)
            ledger.verify()
        assert Ledger.adopting(self.path, self.new).written is None  # again: nothing to do
        return adoption

    def _compare(self, ledger, adoption):
        entries, metric = ledger.entries(), self.new.metric
        assert [e.number for e in entries] == list(range(1, len(self.costs) + 1))
        for entry, truth in zip(entries, self.truth, strict=True):
            for i, j in itertools.combinations(range(metric.universe.size), 2):
                assert entry.cost.exact(i, j) == truth.exact(i, j)
            share = worst([truth], metric)
            assert share <= entry.share <= share * (1 + metric.slack) + F(1, 1 << 59)
        used = worst(self.truth, metric)
        assert used <= adoption.used <= used * (1 + metric.slack)

    def refused(self, error, *words):
        """It is refused for good reason, says so, and leaves the ledger as it was."""
        with Ledger.open(self.path, self.old) as ledger:
            rows = ledger.verify()
            for dry_run in (True, False):
                with pytest.raises(error) as caught:
                    ledger.adopt(self.new, dry_run=dry_run)
                for word in words:
                    assert word in str(caught.value), str(caught.value)
                assert caught.value.hints
            assert ledger.verify() == rows
            assert len(ledger.versions) == 1

    def told_apart(self, *words):
        assert any(t.separated() for t in self.truth)
        self.refused(LedgerError, "told apart", "nothing was changed", *words)

    def overspent(self, *words):
        assert not any(t.separated() for t in self.truth)
        assert worst(self.truth, self.new.metric) > 1
        self.refused(BudgetExceeded, "allows less than was spent", "nothing was changed", *words)


def plain(folder, **more):
    return policy(folder, **{"region": REGION, "age": AGE, **more})


# -- values ------------------------------------------------------------------------------------------------------------


def test_splitting_a_value_carries_where_the_policy_says_what_it_was(tmp_path):
    new = 'values = ["A1", "A2", "B"]\nepsilon = 1\nwas = { A1 = "A", A2 = "A" }'
    case = Case(tmp_path, plain(tmp_path), plain(tmp_path, region=new), "count by region", "table region by age")
    adoption = case.carries()
    assert adoption.used == F(3, 8)
    with Ledger.open(case.path, case.new) as ledger:
        assert ledger.tell_apart({"region": "A1"}, {"region": "A2"}).spent == 0
        assert ledger.tell_apart({"region": "A1"}, {"region": "B"}).spent == pytest.approx(0.375)


def test_splitting_a_value_without_saying_so_is_refused_if_it_was_asked_about(tmp_path):
    new = plain(tmp_path, region='values = ["A1", "A2", "B"]\nepsilon = 1')
    case = Case(tmp_path, plain(tmp_path), new, "count by age", "count by region")
    case.told_apart("region A and other are both “other” now", "entry 2 told", 'was = { NEW = "A" }')


def test_splitting_a_value_that_nobody_asked_about_carries(tmp_path):
    new = plain(tmp_path, region='values = ["A1", "A2", "B"]\nepsilon = 1')
    Case(tmp_path, plain(tmp_path), new, "count by age", "count where region=B").carries()


def test_merging_values_that_were_told_apart_is_refused(tmp_path):
    new = plain(tmp_path, region='values = ["AB"]\nepsilon = 1\nwas = { AB = ["A", "B"] }')
    case = Case(tmp_path, plain(tmp_path), new, "count by region", "count by age", "table region by age")
    case.told_apart("region A and B are both “AB” now", "entries 1, 3 told them apart by up to ε 0.25")


def test_merging_values_that_were_never_told_apart_carries(tmp_path):
    old = plain(tmp_path, region='values = ["A", "B", "C"]\nepsilon = 1')
    new = plain(tmp_path, region='values = ["AB", "C"]\nepsilon = 1\nwas = { AB = ["A", "B"] }')
    both = dx.table("age", where={"region": ["A", "B"]})
    Case(tmp_path, old, new, "count where region=C", both).carries()


def test_reordering_values_and_attributes_changes_nothing_for_anybody(tmp_path):
    new = policy(tmp_path, age=AGE, region='values = ["B", "A"]\nepsilon = 1')
    questions = ("count by region", "mean age by region", "prefixes age", matrix([[k * k % 7 for k in range(18)]]))
    adoption = Case(tmp_path, plain(tmp_path), new, *questions, share="20%").carries()
    assert adoption.worst_before == pytest.approx(adoption.worst_after)


def test_swapped_codes_are_followed_though_the_distances_are_the_same(tmp_path):
    old = plain(tmp_path, region='values = ["A", "B", "C"]\nepsilon = 1')
    new = plain(tmp_path, region='values = ["A", "B", "C"]\nepsilon = 1\nwas = { A = "B", B = "A" }')
    assert old.digest == new.digest
    case = Case(tmp_path, old, new, "count where region=A")
    with pytest.raises(LedgerError, match="another version"):
        Ledger.open(case.path, new)
    case.carries()
    with Ledger.open(case.path, new) as ledger:
        assert ledger.tell_apart({"region": "A"}, {"region": "C"}).spent == 0
        assert ledger.tell_apart({"region": "B"}, {"region": "C"}).spent > 0


def test_a_value_that_went_nowhere_is_refused(tmp_path):
    new = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 1\nwas = { A = "B" }')
    Case(tmp_path, plain(tmp_path), new, "count by age").refused(PolicyError, "region A", "written as nothing")


# -- attributes --------------------------------------------------------------------------------------------------------


def test_an_added_attribute_is_free(tmp_path):
    case = Case(tmp_path, plain(tmp_path), plain(tmp_path, sex=SEX), "table region by age", "count by age")
    case.carries()
    with Ledger.open(case.path, case.new) as ledger:
        assert ledger.tell_apart({"sex": "M"}, {"sex": "F"}).left == 2
        plan = make_plan("table sex by region", case.new.metric, share="50%")
        assert isinstance(ledger.reserve(plan.cost, plan.questions, request="new"), Entry)
        ledger.verify()


def test_removing_an_attribute_that_was_asked_about_is_refused(tmp_path):
    case = Case(tmp_path, plain(tmp_path), policy(tmp_path, age=AGE), "count by age", "count by region")
    case.told_apart("region is gone: ", "entry 2 told them apart by up to", "keep [attributes.region]")


def test_removing_an_attribute_that_nobody_asked_about_carries(tmp_path):
    questions = ("count by age", "mean age", matrix(np.tile(np.arange(6), (1, 3))))
    Case(tmp_path, plain(tmp_path), policy(tmp_path, age=AGE), *questions).carries()


def test_a_renamed_attribute_with_the_same_column_carries(tmp_path):
    new = policy(tmp_path, zone='column = "region"\n' + REGION, age=AGE)
    adoption = Case(tmp_path, plain(tmp_path), new, "table region by age").carries()
    assert [(m.old, m.new) for m in adoption.upgrade.matches] == [(0, 0), (1, 1)]


def test_a_renamed_column_carries_only_if_the_policy_says_so(tmp_path):
    told = policy(tmp_path, region='column = "code"\nwas_column = "region"\n' + REGION, age=AGE)
    untold = policy(tmp_path, region='column = "code"\n' + REGION, age=AGE)
    case = Case(tmp_path, plain(tmp_path), untold, "count by region", "table region by age")
    case.told_apart("region is gone", 'was_column = "region"')
    (tmp_path / "again").mkdir()
    Case(tmp_path / "again", plain(tmp_path), told, "count by region", "table region by age").carries()


def test_swapped_columns_are_followed(tmp_path):
    one, two = 'values = ["A", "B"]\nepsilon = 1', 'values = ["A", "B"]\nepsilon = 2'
    old = policy(tmp_path, p=one, q=two)
    new = policy(tmp_path, p='column = "q"\nwas_column = "p"\n' + one, q='column = "p"\nwas_column = "q"\n' + two)
    Case(tmp_path, old, new, "count by p", "count where q=A").carries()


def test_a_column_that_two_attributes_claim_is_refused(tmp_path):
    new = policy(tmp_path, region=REGION, zone='column = "z"\nwas_column = "region"\n' + REGION, age=AGE)
    Case(tmp_path, plain(tmp_path), new, "count by age").refused(PolicyError, "both say that they were column")


def test_two_attributes_may_read_one_column(tmp_path):
    old = policy(tmp_path, age=AGE, years='column = "age"\nvalues = ["0", "1"]\nepsilon = 1')
    new = policy(
        tmp_path,
        years='column = "age"\nvalues = ["1", "0"]\nepsilon = 1',
        age="integers = [0, 4]\nepsilon = 1\nper = 1",
    )
    case = Case(tmp_path, old, new, "table age by years", "count by years")
    case_adopts_at_least = Ledger.adopting(case.path, new)
    for entry, truth in zip(case_adopts_at_least.entries, case.truth, strict=True):
        for i, j in itertools.combinations(sorted(truth.found), 2):
            assert entry.cost.exact(i, j) >= truth.exact(i, j)


def test_a_change_of_kind_is_refused(tmp_path):
    new = plain(tmp_path, age='values = ["0", "1", "2", "3", "4"]\nepsilon = 1')
    Case(tmp_path, plain(tmp_path), new, "count by region").refused(
        PolicyError, "age was integers and is values now", "by its exact text"
    )


def test_values_may_become_points_as_both_are_read_by_their_text(tmp_path):
    (tmp_path / "places.csv").write_text(PLACES)
    old = policy(tmp_path, home='values = ["1", "2", "3"]\nepsilon = 1', age=AGE)
    new = policy(tmp_path, home='points = "places.csv"\nepsilon = 1\nper = 5', age=AGE)
    Case(tmp_path, old, new, "count by home", "table home by age").carries()


# -- integers ----------------------------------------------------------------------------------------------------------


def test_a_wider_range_of_integers_carries_as_new_values_were_other(tmp_path):
    new = plain(tmp_path, age="integers = [-2, 6]\nepsilon = 0.5\nper = 1")
    Case(tmp_path, plain(tmp_path), new, "count by age/2", "mean age by region", "ranges age", share="15%").carries()


def test_a_narrower_range_is_refused_if_the_ends_were_told_from_other(tmp_path):
    new = plain(tmp_path, age="integers = [1, 3]\nepsilon = 0.5\nper = 1")
    case = Case(tmp_path, plain(tmp_path), new, "count by age")
    case.told_apart("age 0 and", "are both “other” now", "entry 1")


def test_a_narrower_range_carries_if_only_the_middle_was_asked_about(tmp_path):
    new = plain(tmp_path, age="integers = [1, 3]\nepsilon = 0.5\nper = 1")
    Case(tmp_path, plain(tmp_path), new, "count where age=2", "count by region where age=1..3").carries()


# -- distances ---------------------------------------------------------------------------------------------------------


def test_a_larger_budget_leaves_more(tmp_path):
    new = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 4')
    case = Case(tmp_path, plain(tmp_path), new, "count by region", share="100%")
    assert case.carries().used == F(1, 4)
    with Ledger.open(case.path, new) as ledger:
        assert ledger.tell_apart({"region": "A"}, {"region": "B"}).left == pytest.approx(3)


def test_a_smaller_budget_fits_exactly_down_to_what_was_spent(tmp_path):
    old, half = plain(tmp_path), plain(tmp_path, region='values = ["A", "B"]\nepsilon = 0.5')
    assert Case(tmp_path, old, half, "count by region", share="50%").carries().used == 1


def test_a_smaller_budget_than_was_spent_is_refused_with_the_pair(tmp_path):
    new = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 0.4999')
    case = Case(tmp_path, plain(tmp_path), new, "count by age", "count by region", share="50%")
    case.overspent("A – B: spent 0.5 (entry 2), the new policy allows 0.5")


def test_a_budget_of_nothing_is_refused_if_the_values_were_told_apart(tmp_path):
    new = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 0')
    Case(tmp_path, plain(tmp_path), new, "count by region").overspent("the new policy allows 0")


def test_another_per_carries_if_it_fits_and_is_refused_if_not(tmp_path):
    wider = plain(tmp_path, age="integers = [0, 4]\nepsilon = 0.5\nper = 2")
    Case(tmp_path, plain(tmp_path), wider, "prefixes age", share="50%").carries()
    (tmp_path / "again").mkdir()
    wider = plain(tmp_path, age="integers = [0, 4]\nepsilon = 0.5\nper = 3")
    Case(tmp_path / "again", plain(tmp_path), wider, "prefixes age", share="50%").overspent("age ")


def test_another_distance_of_other_counts(tmp_path):
    near = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 1\nother = { epsilon = 0.1 }')
    case = Case(tmp_path, plain(tmp_path), near, "count by region", share="50%")
    case.overspent("other")
    (tmp_path / "again").mkdir()
    far = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 1\nother = { epsilon = 3 }')
    Case(tmp_path / "again", plain(tmp_path), far, "count by region", share="50%").carries()


def test_from_sum_to_max_counts_every_pair(tmp_path):
    new = plain(tmp_path, combine="max")
    Case(tmp_path, plain(tmp_path), new, "table region by age", share="25%").carries()
    (tmp_path / "again").mkdir()
    Case(tmp_path / "again", plain(tmp_path), new, "count by region", "count by age", share="90%").overspent(" – ")


# -- points ------------------------------------------------------------------------------------------------------------


HOME = 'points = "{}"\nepsilon = 1\nper = 5'


def places(folder, name, text):
    (folder / name).write_text(text)
    return policy(folder, home=HOME.format(name), age=AGE)


@pytest.mark.parametrize("factor", ["2", "0.01"])
def test_other_coordinates_of_points_count_and_their_old_properties_stay_asked(tmp_path, factor):
    moved = "id,x,y,zone\n" + f"3,{factor},0,s\n1,0,0,s\n2,0,{factor},n\n"
    questions = ("count by zone", "table home by age")
    case = Case(tmp_path, places(tmp_path, "a.csv", PLACES), places(tmp_path, "b.csv", moved), *questions)
    case.carries() if factor == "2" else case.overspent(" – 1: spent")


def test_an_added_place_was_other(tmp_path):
    new = places(tmp_path, "b.csv", PLACES + "4,0,9,s\n")
    Case(tmp_path, places(tmp_path, "a.csv", PLACES), new, "count by home", "count by zone").carries()


def test_a_dropped_place_is_refused_if_it_was_asked_about_and_carries_if_not(tmp_path):
    new = places(tmp_path, "b.csv", "id,x,y,zone\n1,0,0,n\n2,3,4,n\n")
    old = places(tmp_path, "a.csv", PLACES)
    Case(tmp_path, old, new, "count by zone").told_apart("home 3 and other are both “other” now")
    (tmp_path / "again").mkdir()
    Case(tmp_path / "again", old, new, "count where home=1").carries()


def test_targets_in_the_units_of_a_points_file_do_not_get_in_the_way(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,y,height\n1,0,0,10\n2,3,4,20\n")
    (tmp_path / "b.csv").write_text("id,x,y,height\n1,0,0,10\n2,3,4,20\n3,9,9,5\n")
    body = HOME + '\nunits = {{ height = "m" }}'
    old, new = (policy(tmp_path, home=body.format(n), age=AGE) for n in ("a.csv", "b.csv"))
    Case(tmp_path, old, new, "mean height within 2 m", "sum height by age").carries()


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
    old = spend(path, first, "count by region", "table region by age", share="15%")
    assert Ledger.adopting(path, second).written
    newer = spend(path, second, "table region by sex", "count where region=A1", share="15%")
    assert Ledger.adopting(path, third).written
    newest = spend(path, third, "count by place", share="15%")
    one = preimages(first.universe, second.universe, second.recoded)
    two = preimages(second.universe, third.universe, third.recoded)
    chain = {cell: set().union(*(one[b] for b in between)) for cell, between in two.items()}
    truth = [*(Carried(c, chain) for c in old), *(Carried(c, two) for c in newer)]
    truth += [Carried(c, {k: {k} for k in range(third.universe.size)}) for c in newest]
    with Ledger.open(path, third) as ledger:
        assert [e.policy for e in ledger.entries()] == [1, 1, 2, 2, 3]
        for entry, carried in zip(ledger.entries(), truth, strict=True):
            for i, j in itertools.combinations(range(third.universe.size), 2):
                assert entry.cost.exact(i, j) == carried.exact(i, j)
        assert worst(truth, third.metric) <= 1
        ledger.verify()
    with pytest.raises(LedgerError, match="older version of the policy: “People”, version 1"):
        Ledger.open(path, first)
    with pytest.raises(LedgerError, match="older version of the policy: “People”, version 2"):
        Ledger.open(path, second)


def test_going_back_to_an_older_version_is_a_version_of_its_own(tmp_path):
    first, second = plain(tmp_path), plain(tmp_path, sex=SEX)
    case = Case(tmp_path, first, second, "count by region")
    case.carries()
    assert Ledger.adopting(case.path, first).written
    with Ledger.open(case.path, first) as ledger:
        assert len(ledger.versions) == 3
        assert ledger.entries()[0].cost.exact(0, 6) == case.costs[0].exact(0, 6)


def test_an_upgrade_of_an_unused_ledger_needs_nothing_to_fit(tmp_path):
    old, new = plain(tmp_path), policy(tmp_path, sex=SEX)
    Ledger.open(tmp_path / "l.db", old).close()
    adoption = Ledger.adopting(tmp_path / "l.db", new)
    assert (adoption.used, adoption.entries, adoption.worst_after) == (0, (), 0)
    with Ledger.open(tmp_path / "l.db", new) as ledger:
        assert ledger.verify() == 3


def test_title_and_version_alone_need_no_adoption(tmp_path):
    old = plain(tmp_path)
    spend(tmp_path / "l.db", old, "count by region")
    with Ledger.open(tmp_path / "l.db", plain(tmp_path, version="99")) as ledger:
        assert ledger.adopt(plain(tmp_path, version="99")).written is None


def test_another_dataset_is_never_adopted(tmp_path):
    spend(tmp_path / "l.db", plain(tmp_path), "count by region")
    other = plain(tmp_path, dataset="others")
    with pytest.raises(LedgerError, match="belongs to dataset “people”, not “others”"):
        Ledger.adopting(tmp_path / "l.db", other)
    with Ledger.open(tmp_path / "l.db", plain(tmp_path)) as ledger, pytest.raises(LedgerError, match="others"):
        ledger.adopt(other)
    with pytest.raises(LedgerError, match="no such ledger"):
        Ledger.adopting(tmp_path / "none.db", other)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(UsageError):
        Ledger.adopting(tmp_path / "l.db", other.metric)


def test_an_unknown_version_is_told_how_to_be_adopted(tmp_path):
    spend(tmp_path / "l.db", plain(tmp_path), "count by region")
    with pytest.raises(LedgerError) as caught:
        Ledger.open(tmp_path / "l.db", plain(tmp_path, sex=SEX))
    assert "--policy NEW.toml --adopt" in str(caught.value)


def test_a_recoding_is_carried_out_once(tmp_path):
    split = 'values = ["A1", "A2", "B"]\nepsilon = 1\nwas = { A1 = "A", A2 = "A" }'
    Case(tmp_path, plain(tmp_path), plain(tmp_path, region=split), "count by region").carries()
    with pytest.raises(PolicyError, match="was speaks about version “1”, but the ledger follows version “2”"):
        Ledger.adopting(tmp_path / "ledger.db", plain(tmp_path, region=split, sex=SEX))
    with pytest.raises(PolicyError, match="there was a version “1” before"):
        Ledger.adopting(tmp_path / "ledger.db", plain(tmp_path, region=split, version="1", before="2"))
    typo = split.replace('"A"', '"a"')
    with pytest.raises(PolicyError, match="was names “a”, which the version before does not list"):
        Ledger.adopting(tmp_path / "ledger.db", plain(tmp_path, region=typo, version="3"))


def test_a_swap_is_not_undone_by_going_back_to_an_older_file(tmp_path):
    """Past bug: version 2, version 3, then version 2 again swapped the costs of A and B twice more."""
    swapped = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 1\nwas = { A = "B", B = "A" }')
    path = tmp_path / "ledger.db"
    Case(tmp_path, plain(tmp_path), swapped, "count where region=A").carries()
    assert Ledger.adopting(path, plain(tmp_path, sex=SEX, version="3")).written
    with pytest.raises(PolicyError, match="the ledger follows version “3”"):
        Ledger.adopting(path, swapped)


def test_a_recoding_holds_for_every_attribute_that_reads_the_column(tmp_path):
    """Past bug: two attributes on one column, one of them with `was`: the costs of the recoded people were lost."""
    split = 'column = "region"\nvalues = ["A1", "A2", "B"]\nepsilon = 1\nwas = { A1 = "A", A2 = "A" }'
    both = plain(tmp_path, finer=split)
    path = tmp_path / "ledger.db"
    (cost,) = spend(path, plain(tmp_path), "count by region", share="100%")
    truth = Carried(cost, preimages(plain(tmp_path).universe, both.universe, both.recoded))
    assert max(truth.exact(i, j) for i, j in itertools.combinations(sorted(truth.found), 2)) == 1
    with pytest.raises(LedgerError, match="told apart"):  # `A` may be written still, and neither attribute tells all
        Ledger.adopting(path, both)


def test_two_attributes_must_not_contradict_each_other_about_one_column(tmp_path):
    one = 'column = "region"\nvalues = ["A1", "B"]\nepsilon = 1\nwas = {{ A1 = "{}" }}'
    new = policy(tmp_path, p=one.format("A"), q=one.format("B"), age=AGE)
    spend(tmp_path / "l.db", plain(tmp_path), "count by region")
    with pytest.raises(PolicyError, match="say different things"):
        Ledger.adopting(tmp_path / "l.db", new)


CELLS = "numbers = [0, 4]\nstep = {}\nepsilon = 0.5\nper = 1"
DAYS = 'dates = ["2026-01-0{}", "2026-01-0{}"]\nepsilon = 0.5\nper = "1 day"'
SERIES = 'columns = ["jan", "feb"]\nintegers = [0, {}]\nepsilon = 0.5\nper = 1'


def test_finer_cells_of_numbers_are_carried(tmp_path):
    old, new = (policy(tmp_path, income=CELLS.format(step)) for step in (2, 1))
    Case(tmp_path, old, new, "count by income").carries()


def test_coarser_cells_that_were_told_apart_are_refused(tmp_path):
    old, new = (policy(tmp_path, income=CELLS.format(step)) for step in (1, 2))
    Case(tmp_path, old, new, "count by income").told_apart("income")


def test_coarser_cells_that_were_not_told_apart_are_carried(tmp_path):
    old, new = (policy(tmp_path, income=CELLS.format(step)) for step in (1, 2))
    Case(tmp_path, old, new, "count by income/2").carries()


def test_cells_that_do_not_nest_are_refused_where_they_were_told_apart(tmp_path):
    old = policy(tmp_path, income=CELLS.format(2))
    new = policy(tmp_path, income="numbers = [1, 5]\nstep = 2\nepsilon = 0.5\nper = 1")
    Case(tmp_path, old, new, "count by income").told_apart("income")


def test_clamping_numbers_that_counted_as_other_is_refused_where_they_were_told_apart(tmp_path):
    old = policy(tmp_path, income=CELLS.format(2))
    new = policy(tmp_path, income=CELLS.format(2) + '\noutside = "clamp"')
    Case(tmp_path, old, new, "count by income").told_apart("income")


def test_a_longer_range_of_days_is_carried(tmp_path):
    Case(
        tmp_path, policy(tmp_path, day=DAYS.format(2, 5)), policy(tmp_path, day=DAYS.format(1, 7)), "count by day"
    ).carries()


def test_a_shorter_range_of_days_is_refused_where_they_were_told_apart(tmp_path):
    Case(
        tmp_path, policy(tmp_path, day=DAYS.format(1, 7)), policy(tmp_path, day=DAYS.format(2, 7)), "count by day"
    ).told_apart("2026-01-01")


def test_another_time_zone_is_refused(tmp_path):
    zoned = DAYS.format(1, 5) + '\ntimezone = "Europe/Berlin"'
    case = Case(tmp_path, policy(tmp_path, day=DAYS.format(1, 5)), policy(tmp_path, day=zoned), "count by day")
    case.refused(PolicyError, "another time zone")


def test_another_format_is_refused(tmp_path):
    written = DAYS.format(1, 5) + '\nformat = "%d.%m.%Y"'
    case = Case(tmp_path, policy(tmp_path, day=DAYS.format(1, 5)), policy(tmp_path, day=written), "count by day")
    case.refused(PolicyError, "another format")


def test_a_longer_range_of_a_series_is_carried(tmp_path):
    old, new = (policy(tmp_path, use=SERIES.format(high)) for high in (1, 2))
    Case(tmp_path, old, new, "count by use.jan", "mean use.total").carries()


def test_a_shorter_range_of_a_series_is_refused_where_it_was_told_apart(tmp_path):
    old, new = (policy(tmp_path, use=SERIES.format(high)) for high in (2, 1))
    Case(tmp_path, old, new, "count by use.jan").told_apart("use")


def test_only_a_weaker_unit_can_follow(tmp_path):
    old = plain(tmp_path)
    spend(tmp_path / "l.db", old, "count by region")
    unbounded = metrics.with_absent(old.metric, 1, max_records=1000)
    with pytest.raises(PolicyError, match="treated the number of records as public"):
        Ledger.adopting(tmp_path / "l.db", unbounded, dataset="people")


def test_costs_on_presence_follow_to_another_presence_and_to_replacing(tmp_path):
    base = plain(tmp_path).metric
    old, more, less = (metrics.with_absent(base, p, max_records=1000) for p in (1, 2, "0.25"))
    plan = make_plan(["count", "count by region"], old, share="60%")
    with Ledger.open(tmp_path / "l.db", old, dataset="people") as ledger:
        ledger.reserve(plan.cost, plan.questions, request="x")
        told = ledger.tell_apart({"region": "A"}, {})
        assert told.spent == float(plan.cost.exact(0, old.universe.absent))
        assert told.allowed == 1
        assert told.left == pytest.approx(1 - told.spent)
    with pytest.raises(BudgetExceeded, match="allows less than was spent"):
        Ledger.adopting(tmp_path / "l.db", less, dataset="people")
    for new in (more, base):
        Ledger.adopting(tmp_path / "l.db", new, dataset="people")
        with Ledger.open(tmp_path / "l.db", new, dataset="people") as ledger:
            (entry,) = ledger.entries()
            for i, j in itertools.combinations(range(new.universe.size), 2):
                assert entry.cost.exact(i, j) == plan.cost.exact(i, j)


def test_stored_releases_are_replayed_after_an_upgrade_and_old_plans_spend_nothing(tmp_path):
    old, new = plain(tmp_path), plain(tmp_path, sex=SEX)
    case = Case(tmp_path, old, new, "count by region", "count by age")
    case.carries()
    with Ledger.open(case.path, new) as ledger:
        again = make_plan("count by age", old.metric, rows=50, share="25%")
        assert ledger.reserve(again.cost, again.questions, request="1/1") == '{"release": "1/1"}'
        with pytest.raises(LedgerError, match="records of another version"):
            ledger.reserve(again.cost, again.questions, request="anew")
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
    assert len(Ledger.adopting(path, new).entries) == 2
    with Ledger.open(path, new) as ledger:
        assert [e.request for e in ledger.entries()] == ["1/0", "late/0"]
        ledger.verify()


def test_a_ledger_opened_before_an_upgrade_spends_nothing_after_it(tmp_path):
    old, new = plain(tmp_path), plain(tmp_path, sex=SEX)
    path = tmp_path / "l.db"
    plan = make_plan("count by region", old.metric, share="10%")
    with Ledger.open(path, old) as ledger:
        ledger.reserve(plan.cost, plan.questions, request="before")
        Ledger.adopting(path, new)
        with pytest.raises(LedgerError, match="adopted meanwhile"):
            ledger.reserve(plan.cost, plan.questions, request="after")
        with pytest.raises(LedgerError, match="adopted meanwhile"):
            ledger.entries()
        ledger.finish("before", "{}")  # it was reserved in time, and carried
    with Ledger.open(path, new) as ledger:
        assert len(ledger.entries()) == 1


RACER = """
import sys
import dxprivacy as dx
from dxprivacy.errors import LedgerError
from dxprivacy.ledger import Ledger
from dxprivacy.planning import make_plan
old = dx.Policy.parse(sys.argv[3])
plan = make_plan("table region by age", old.metric, share="0.2%")
with Ledger.open(sys.argv[1], old) as ledger:
    print("ready", flush=True)
    for k in range(200):
        try:
            ledger.reserve(plan.cost, plan.questions, request=f"{sys.argv[2]}-{k}")
            print("reserved", flush=True)
        except LedgerError as error:
            assert "adopted meanwhile" in str(error)
            break
"""


def test_an_upgrade_amid_racing_reservations_loses_none_of_them(tmp_path):
    old, new, path = plain(tmp_path), plain(tmp_path, sex=SEX), tmp_path / "race.db"
    Ledger.open(path, old).close()
    command = [sys.executable, "-c", RACER, str(path)]
    racers = [subprocess.Popen([*command, str(k), old.file.text], stdout=subprocess.PIPE, text=True) for k in range(2)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    assert racers[0].stdout.readline() == "reserved\n"
    carried = Ledger.adopting(path, new).entries
    reserved = 1 + sum(racer.stdout.read().count("reserved") for racer in racers)
    assert [racer.wait(timeout=120) for racer in racers] == [0, 0]
    for racer in racers:
        racer.stdout.close()
    with Ledger.open(path, new) as ledger:
        assert len(ledger.entries()) == len(carried) == reserved
        ledger.verify()


# -- at random ---------------------------------------------------------------------------------------------------------


def random_policy(rng, before=None):
    """A small policy as a metric, or a changed one: values come and go, columns are renamed, attributes come and go."""
    attributes, parts, recoded = [], [], {}
    names = [f"a{k}" for k in range(rng.randint(1, 2))]
    if before is not None:
        names = [a.name for a in before.attributes if rng.random() < 0.9] or [before.attributes[0].name]
        names += ["new"] if rng.random() < 0.2 else []
        rng.shuffle(names)
    for name in names:
        old = next((a for a in before.attributes if a.name == name), None) if before is not None else None
        column = old.column if old else f"c{rng.randint(0, 99)}{name}"
        recoding = Recoding()
        if (old is None and rng.random() < 0.5) or isinstance(old, Integers):
            low, high = (old.low, old.high) if old else (0, rng.randint(0, 3))
            if old:
                low, high = low + rng.choice([-1, 0, 0, 1]), high + rng.choice([-1, 0, 0, 2])
            attribute = Integers(name=name, column=column, low=min(low, high), high=high)
        else:
            texts = list(old.values) if old else rng.sample("ABCD", rng.randint(1, 3))
            was = {}
            if old and rng.random() < 0.3 and len(texts) < 4:  # split
                text = rng.choice(texts)
                texts[texts.index(text) :][:1] = []
                texts = [t for t in texts if t != text] + [text + "1", text + "2"]
                was = {text + "1": (text,), text + "2": (text,)}
            elif old and rng.random() < 0.3 and len(texts) > 1:  # merge
                gone = rng.sample(texts, 2)
                texts = [t for t in texts if t not in gone] + ["".join(gone)]
                was = {"".join(gone): tuple(gone)}
            if old and rng.random() < 0.4:
                texts = [t for t in texts if rng.random() < 0.8 or t in was] or texts
            if old and rng.random() < 0.3 and "Z" not in texts:
                texts.append("Z")
            rng.shuffle(texts)
            renamed = ""
            if old and rng.random() < 0.2:
                renamed, column = column, column + "x"
            attribute = Values(name=name, column=column, values=tuple(texts))
            recoding = Recoding({k: v for k, v in was.items() if k in texts}, renamed)
        epsilon = F(rng.randint(1, 12), rng.choice([2, 3, 8]))
        other = F(rng.randint(1, 9), 4) if rng.random() < 0.3 else None
        universe = Universe([attribute])
        along = (
            alone.stepped(universe, attribute, epsilon, other)
            if attribute.kind == "integers"
            else alone.discrete(universe, epsilon, other)
        )
        attributes.append(attribute)
        parts.append(along)
        if recoding:
            recoded[name] = recoding
    metric = parts[0] if len(parts) == 1 else AttributeSum(Universe(attributes), parts)
    return Version(metric, version="1" if before is None else "2", recoded=recoded, was_version="1")


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_random_upgrades_carry_what_brute_force_carries_and_refuse_what_it_refuses(tmp_path_factory, rng):
    from contracts.random_models import random_questions

    path = tmp_path_factory.mktemp("upgrade") / "l.db"
    old = random_policy(rng)
    costs = []
    with Ledger.open(path, old, dataset="p") as ledger:
        for k in range(rng.randint(1, 2)):
            plan = make_plan(
                random_questions(rng, old.metric.universe), old.metric, rows=9, share=F(rng.randint(1, 4), 10)
            )
            ledger.reserve(plan.cost, plan.questions, request=str(k))
            costs.append(plan.cost)
    new = random_policy(rng, old.metric.universe)
    found = preimages(old.metric.universe, new.metric.universe, new.recoded)
    if set().union(*found.values()) != set(range(old.metric.universe.size)):
        with pytest.raises(PolicyError, match="written as nothing"):
            Ledger.adopting(path, new, dataset="p")
        return
    truth = [Carried(cost, found) for cost in costs]
    fits = not any(t.separated() for t in truth) and worst(truth, new.metric) <= 1
    try:
        Ledger.adopting(path, new, dataset="p")
    except DxError:
        assert not fits
        return
    assert fits
    with Ledger.open(path, new, dataset="p") as ledger:
        for entry, carried in zip(ledger.entries(), truth, strict=True):
            for i, j in itertools.combinations(range(new.metric.universe.size), 2):
                assert entry.cost.exact(i, j) == carried.exact(i, j)
            assert worst([carried], new.metric) <= entry.share
        ledger.verify()
