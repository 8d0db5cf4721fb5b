"""New versions of a policy: past costs follow the people, exactly, or the version is refused with the reason."""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn
from contracts.methods import standard_plan
from dxprivacy.errors import DxError, LedgerError, PolicyError
from dxprivacy.ledger import Entry, Ledger
from dxprivacy.ledger.policy_versions import Version
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics import attribute_metrics
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost
from dxprivacy.queries.asking import matrix
from dxprivacy.universe.attribute_matching import Recoding
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from ledger.upgrade_cases import AGE, PLACES, REGION, SEX, Case, plain, policy
from ledger.upgrade_oracle import Carried, preimages, worst

# -- values ------------------------------------------------------------------------------------------------------------


def test_splitting_a_value_carries_where_the_policy_says_what_it_was(tmp_path):
    new = 'values = ["A1", "A2", "B"]\nepsilon = 1\nwas = { A1 = "A", A2 = "A" }'
    case = Case(tmp_path, plain(tmp_path), plain(tmp_path, region=new), "count by region", "table region by age")
    adoption = case.carries()
    assert F(3, 8) <= adoption.used < F(2, 5)  # a quarter by region, and at least an eighth beside it by age
    with Ledger.open(case.path, case.new, new_ledger=True) as ledger:
        assert ledger.between({"region": "A1"}, {"region": "A2"}).spent == 0
        assert ledger.between({"region": "A1"}, {"region": "B"}).spent == pytest.approx(float(adoption.used))


def test_splitting_a_value_without_saying_so_is_refused_if_it_was_asked_about(tmp_path):
    new = plain(tmp_path, region='values = ["A1", "A2", "B"]\nepsilon = 1')
    case = Case(tmp_path, plain(tmp_path), new, "count by age", "count by region")
    case.told_apart("region A and other are both “other” now", "entry 2 separated", 'was = { NEW = "A" }')


def test_splitting_a_value_that_nobody_asked_about_carries(tmp_path):
    new = plain(tmp_path, region='values = ["A1", "A2", "B"]\nepsilon = 1')
    Case(tmp_path, plain(tmp_path), new, "count by age", "count where region=B").carries()


def test_merging_values_that_were_told_apart_is_refused(tmp_path):
    new = plain(tmp_path, region='values = ["AB"]\nepsilon = 1\nwas = { AB = ["A", "B"] }')
    case = Case(tmp_path, plain(tmp_path), new, "count by region", "count by age", "table region by age")
    case.told_apart("region A and B are both “AB” now", "entries 1, 3 separated them by up to ε 0.25")


def test_merging_values_that_were_never_told_apart_carries(tmp_path):
    old = plain(tmp_path, region='values = ["A", "B", "C"]\nepsilon = 1')
    new = plain(tmp_path, region='values = ["AB", "C"]\nepsilon = 1\nwas = { AB = ["A", "B"] }')
    both = dx.table("age", where={"region": ["A", "B"]})
    Case(tmp_path, old, new, "count where region=C", both).carries()


def test_reordering_values_and_attributes_changes_nothing_for_anybody(tmp_path):
    new = policy(tmp_path, age=AGE, region='values = ["B", "A"]\nepsilon = 1')
    queries = ("count by region", "mean age by region", "prefixes age", matrix([[k * k % 7 for k in range(18)]]))
    adoption = Case(tmp_path, plain(tmp_path), new, *queries, budget="20%").carries()
    assert adoption.worst_before == pytest.approx(adoption.worst_after)


def test_swapped_codes_are_followed_though_the_distances_are_the_same(tmp_path):
    old = plain(tmp_path, region='values = ["A", "B", "C"]\nepsilon = 1')
    new = plain(tmp_path, region='values = ["A", "B", "C"]\nepsilon = 1\nwas = { A = "B", B = "A" }')
    assert old.digest == new.digest
    case = Case(tmp_path, old, new, "count where region=A")
    with pytest.raises(LedgerError, match="another version"):
        Ledger.open(case.path, new, new_ledger=True)
    case.carries()
    with Ledger.open(case.path, new, new_ledger=True) as ledger:
        assert ledger.between({"region": "A"}, {"region": "C"}).spent == 0
        assert ledger.between({"region": "B"}, {"region": "C"}).spent > 0


def test_a_value_that_went_nowhere_is_refused(tmp_path):
    new = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 1\nwas = { A = "B" }')
    Case(tmp_path, plain(tmp_path), new, "count by age").refused(PolicyError, "region A", "written as nothing")


# -- attributes --------------------------------------------------------------------------------------------------------


def test_an_added_attribute_is_free(tmp_path):
    case = Case(tmp_path, plain(tmp_path), plain(tmp_path, sex=SEX), "table region by age", "count by age")
    case.carries()
    with Ledger.open(case.path, case.new, new_ledger=True) as ledger:
        assert ledger.between({"sex": "M"}, {"sex": "F"}).left == 2
        plan = standard_plan("table sex by region", case.new.metric, budget="50%")
        assert isinstance(ledger.reserve(plan.cost, plan.queries, request="new"), Entry)
        ledger.verify()


def test_removing_an_attribute_that_was_asked_about_is_refused(tmp_path):
    case = Case(tmp_path, plain(tmp_path), policy(tmp_path, age=AGE), "count by age", "count by region")
    case.told_apart("region is gone: ", "entry 2 separated them by up to", "keep [attributes.region]")


def test_removing_an_attribute_that_nobody_asked_about_carries(tmp_path):
    queries = ("count by age", "mean age", matrix(np.tile(np.arange(6), (1, 3))))
    Case(tmp_path, plain(tmp_path), policy(tmp_path, age=AGE), *queries).carries()


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
    case_adopts_at_least = Ledger.adopting(case.path, new, looser=True)
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
    Case(tmp_path, plain(tmp_path), new, "count by age/2", "mean age by region", "ranges age", budget="15%").carries()


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
    case = Case(tmp_path, plain(tmp_path), new, "count by region", budget="100%")
    assert case.carries().used == F(1, 4)
    with Ledger.open(case.path, new, new_ledger=True) as ledger:
        assert ledger.between({"region": "A"}, {"region": "B"}).left == pytest.approx(3)


def test_a_smaller_budget_fits_exactly_down_to_what_was_spent(tmp_path):
    old, half = plain(tmp_path), plain(tmp_path, region='values = ["A", "B"]\nepsilon = 0.5')
    assert Case(tmp_path, old, half, "count by region", budget="50%").carries().used == 1


def test_a_smaller_budget_than_was_spent_is_refused_with_the_pair(tmp_path):
    new = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 0.4999')
    case = Case(tmp_path, plain(tmp_path), new, "count by age", "count by region", budget="50%")
    case.overspent("A – B: spent 0.5 (entry 2), the new policy allows 0.5")


def test_a_budget_of_nothing_is_refused_if_the_values_were_told_apart(tmp_path):
    new = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 0')
    Case(tmp_path, plain(tmp_path), new, "count by region").overspent("the new policy allows 0")


def test_another_per_carries_if_it_fits_and_is_refused_if_not(tmp_path):
    wider = plain(tmp_path, age="integers = [0, 4]\nepsilon = 0.5\nper = 2")
    Case(tmp_path, plain(tmp_path), wider, "prefixes age", budget="50%").carries()
    (tmp_path / "again").mkdir()
    wider = plain(tmp_path, age="integers = [0, 4]\nepsilon = 0.5\nper = 3")
    Case(tmp_path / "again", plain(tmp_path), wider, "prefixes age", budget="50%").overspent("age ")


def test_another_distance_of_other_counts(tmp_path):
    near = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 1\nother = { epsilon = 0.1 }')
    case = Case(tmp_path, plain(tmp_path), near, "count by region", budget="50%")
    case.overspent("other")
    (tmp_path / "again").mkdir()
    far = plain(tmp_path, region='values = ["A", "B"]\nepsilon = 1\nother = { epsilon = 3 }')
    Case(tmp_path / "again", plain(tmp_path), far, "count by region", budget="50%").carries()


def test_from_sum_to_max_counts_every_pair(tmp_path):
    new = plain(tmp_path, combine="max")
    Case(tmp_path, plain(tmp_path), new, "table region by age", budget="25%").carries()
    (tmp_path / "again").mkdir()
    Case(tmp_path / "again", plain(tmp_path), new, "count by region", "count by age", budget="90%").overspent(" – ")


# -- points ------------------------------------------------------------------------------------------------------------


HOME = 'points = "{}"\nepsilon = 1\nper = 5'


def places(folder, name, text):
    (folder / name).write_text(text)
    return policy(folder, home=HOME.format(name), age=AGE)


@pytest.mark.parametrize("factor", ["2", "0.01"])
def test_other_coordinates_of_points_count_and_their_old_properties_stay_asked(tmp_path, factor):
    moved = "id,x,y,zone\n" + f"3,{factor},0,s\n1,0,0,s\n2,0,{factor},n\n"
    queries = ("count by zone", "table home by age")
    case = Case(tmp_path, places(tmp_path, "a.csv", PLACES), places(tmp_path, "b.csv", moved), *queries)
    case.carries() if factor == "2" else case.overspent(" – home 1: spent")


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


# -- numbers, dates, series -------------------------------------------------------------------------------------------


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
            attribute_metrics.stepped(universe, attribute, epsilon, other)
            if attribute.kind == "integers"
            else attribute_metrics.discrete(universe, epsilon, other)
        )
        attributes.append(attribute)
        parts.append(along)
        if recoding:
            recoded[name] = recoding
    metric = parts[0] if len(parts) == 1 else AttributeSum(Universe(attributes), parts)
    return Version(metric, version="1" if before is None else "2", recoded=recoded, was_version="1")


@drawn(st.randoms(use_true_random=False), fast=6, full=40, suppress=[HealthCheck.too_slow])
def test_random_upgrades_carry_what_brute_force_carries_and_refuse_what_it_refuses(tmp_path_factory, rng):
    check_random_upgrade(tmp_path_factory, rng)


@pytest.mark.soak
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_many_random_upgrades_carry_what_brute_force_carries(tmp_path_factory, rng):
    check_random_upgrade(tmp_path_factory, rng)


def check_random_upgrade(tmp_path_factory, rng):
    from contracts.random_models import random_queries

    path = tmp_path_factory.mktemp("upgrade") / "l.db"
    old = random_policy(rng)
    costs = []
    with Ledger.open(path, old, dataset="p", new_ledger=True) as ledger:
        for k in range(rng.randint(1, 2)):
            asked, budget = random_queries(rng, old.metric.universe), F(rng.randint(1, 4), 10)
            plan = make_plan(asked, old.metric, n_records=9, budget=budget, method=rng.choice(["fill", "same-scale"]))
            kind = rng.choice([LaplaceCost, SelectionCost])  # a selection with the same scales loses no more
            costs.append(kind(plan.workload, plan.scales))
            ledger.reserve(costs[-1], plan.queries, request=str(k))
    new = random_policy(rng, old.metric.universe)
    found = preimages(old.metric.universe, new.metric.universe, new.recoded)
    if set().union(*found.values()) != set(range(old.metric.universe.size)):
        with pytest.raises(PolicyError, match="written as nothing"):
            Ledger.adopting(path, new, dataset="p", looser=True)
        return
    truth = [Carried(cost, found) for cost in costs]
    fits = not any(t.separated() for t in truth) and worst(truth, new.metric) <= 1
    try:
        Ledger.adopting(path, new, dataset="p", looser=True)
    except DxError:
        assert not fits
        return
    assert fits
    with Ledger.open(path, new, dataset="p", new_ledger=True) as ledger:
        for entry, carried in zip(ledger.entries(), truth, strict=True):
            for i, j in itertools.combinations(range(new.metric.universe.size), 2):
                assert entry.cost.exact(i, j) == carried.exact(i, j)
            assert worst([carried], new.metric) <= entry.budget
        ledger.verify()
