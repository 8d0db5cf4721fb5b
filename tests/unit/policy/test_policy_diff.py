"""Two policies compared: counts of pairs against brute force, and what the page says."""

import json
import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.mechanisms.linear.planning.method_comparison import errors_gained

HEAD = 'title = "T"\ndataset = "t"\n'


def policy(*bodies, tail="", head=HEAD, folder="."):
    named = (f"[attributes.{name}]\n{body}\n" for name, body in bodies)
    return dx.Policy.parse(head + "".join(named) + tail, folder=folder)


def brute(before, after, attribute=0):
    """Counts over all pairs of values that both list, one by one, in exact numbers."""
    a, b = (p.universe.attributes[attribute] for p in (before, after))
    d, e = (p.metric.by_attribute[attribute] for p in (before, after))
    shared = [a.label(k) for k in range(a.listed) if a.label(k) in {b.label(j) for j in range(b.listed)}]
    both = [
        (float(d.exact(a.find(u), a.find(v))), float(e.exact(b.find(u), b.find(v)))) for u, v in combinations(shared, 2)
    ]
    apart = [(x, y) for x, y in both if not math.isclose(x, y, rel_tol=1e-9)]
    looser, stricter = [p for p in apart if p[1] > p[0]], [p for p in apart if p[1] < p[0]]
    return {
        "pairs": len(both),
        "stricter": len(stricter),
        "looser": len(looser),
        "public": sum(math.isinf(y) for _, y in looser),
        "identical": sum(y == 0 for _, y in stricter),
    }


epsilons = st.sampled_from(["0", "0.5", "1", "1.5", "3", "inf"])
others = st.sampled_from(["", "other = { epsilon = 0.7 }\n", "other = { epsilon = inf }\n"])
values = st.lists(st.sampled_from("abcdef"), min_size=1, unique=True)


@st.composite
def attributes(draw):
    kind = draw(st.sampled_from(["one", "each", "integers", "capped"]))
    if kind in ("one", "each"):
        listed = draw(values)
        each = ", ".join(f"{v} = {draw(epsilons)}" for v in listed)
        epsilon = draw(epsilons) if kind == "one" else f"{{ {each} }}"
        return f"values = {json.dumps(listed)}\nepsilon = {epsilon}\n{draw(others)}"
    low = draw(st.integers(-3, 3))
    cap = f"max_epsilon = {draw(st.sampled_from(['1', '2']))}\n" if kind == "capped" else ""
    epsilon = draw(st.sampled_from(["0.5", "1"] if cap else ["0", "0.5", "1", "inf"]))
    ends = f"integers = [{low}, {low + draw(st.integers(0, 6))}]"
    return f"{ends}\nepsilon = {epsilon}\nper = {draw(st.sampled_from(['1', '3']))}\n{cap}{draw(others)}"


@settings(max_examples=150, deadline=None)
@given(attributes(), attributes())
def test_pairs_are_counted_as_one_by_one_would_count_them(first, second):
    before, after = policy(("x", first)), policy(("x", second))
    found = before.diff(after).attributes[0].listed
    counted = found.to_dict()
    assert {key: counted[key] for key in brute(before, after)} == brute(before, after)
    back = after.diff(before).attributes[0].listed
    assert (back.looser, back.stricter) == (found.stricter, found.looser)
    assert bool(found.loosened_most) == bool(found.looser)
    if found.loosened_most:
        u, v = found.loosened_most.pair.split(" – ")
        a = before.universe.attributes[0]
        assert found.loosened_most.before == pytest.approx(float(before.metric.exact(a.find(u), a.find(v))))


def test_the_most_changed_pair_is_by_factor_then_by_difference():
    ages = "integers = [0, 100]\nepsilon = {}\nper = 10"
    most = policy(("age", ages.format(1))).diff(policy(("age", ages.format(2)))).attributes[0].listed.most
    assert (most.pair, most.before, most.after) == ("0 – 100", 10.0, 20.0)
    each = "values = ['a', 'b', 'c']\nepsilon = { a = 1, b = %s, c = 2 }"
    most = policy(("x", each % "2")).diff(policy(("x", each % "0"))).attributes[0].listed.most
    assert (most.pair, most.after) == ("b – c", 0.0)


def test_values_attributes_settings_and_other_are_told():
    before = policy(("sex", "values = ['M', 'F']\nepsilon = 1"), ("age", "integers = [0, 9]\nepsilon = 1\nper = 1"))
    after = policy(
        ("age", 'integers = [2, 12]\nepsilon = 1\nper = 1\nother = { epsilon = 9, value = 4 }\nunit = "years"'),
        ("wave", "values = [1, 2]\nepsilon = inf"),
        head='title = "T"\ndataset = "elsewhere"\n',
        tail='[combine]\nhow = "max"\n',
    )
    page = before.diff(after)
    assert (page.added, page.removed) == (("wave",), ("sex",))
    (age,) = page.attributes
    assert (age.removed, age.added) == (("0..1",), ("10..12",))
    assert (age.other.looser, age.other.most.before, age.other.most.after) == (8, 4.5, 9.0)
    told = {s.what: (s.before, s.after) for s in page.settings}
    assert told["dataset"] == ("t", "elsewhere")
    assert told["combine"] == ("sum", "max")
    assert told["age: unit"] == ("", "years")
    assert told["age: other value"] == ("", "4")
    text = str(page)
    for words in ("! looser", "! dataset", "! stricter", "! removed", "! added", "! values", "ε 10 → ε 10, no limit"):
        assert words in text, words
    assert page.looser


def test_a_policy_against_itself_is_identical_whatever_its_title():
    one = policy(("sex", "values = ['M', 'F']\nepsilon = 1"))
    other = policy(("sex", "values = ['M', 'F']\nepsilon = 1"), head='title = "Draft"\ndataset = "t"\n')
    page = one.diff(other)
    assert page.identical
    assert not page.looser
    assert "✓ identical" in str(page)
    assert "T → Draft" in str(page)


def test_from_maximum_to_sum_is_looser_although_no_single_attribute_changed():
    bodies = [(n, "values = ['a', 'b']\nepsilon = 1") for n in ("x", "y")]
    page = policy(*bodies, tail='[combine]\nhow = "max"\n').diff(policy(*bodies))
    assert all(a.same for a in page.attributes)
    assert page.looser
    assert "now the sum" in " ".join(str(page).split())


def test_places_are_matched_by_their_id_and_compared_by_their_distance(tmp_path):
    (tmp_path / "a.csv").write_text("id,name,x,y\n1,Hoboken,0,0\n2,Albany,3,4\n3,Trenton,9,9\n")
    (tmp_path / "b.csv").write_text("id,name,x,y\n2,Albany City,6,8\n1,Hoboken,0,0\n")
    body = 'points = "{}"\nepsilon = 1\nper = 1'
    page = policy(("home", body.format("a.csv")), folder=tmp_path).diff(
        policy(("home", body.format("b.csv")), folder=tmp_path)
    )
    (home,) = page.attributes
    assert home.listed.most.to_dict() == {"pair": "Hoboken – Albany", "before": 5.0, "after": 10.0}
    assert home.removed == ("Trenton",)
    assert home.listed.pairs == 1


def test_millions_of_values_are_compared_without_walking_every_pair():
    body = "integers = [0, 3000000]\nepsilon = 1\nper = {}\nmax_epsilon = 3"
    (income,) = policy(("income", body.format(10))).diff(policy(("income", body.format(20)))).attributes
    n = 3_000_001
    assert income.listed.pairs == n * (n - 1) // 2
    # Beyond 60 both are capped; below, one step is worth half as much.
    assert income.listed.stricter == sum(n - k for k in range(1, 60))
    assert income.listed.looser == 0


def test_the_error_of_tables_follows_the_distance():
    ages = "integers = [0, 100]\nepsilon = {}\nper = 10"
    sexes = "values = ['M', 'F']\nepsilon = {}"
    before = policy(("age", ages.format(1)), ("sex", sexes.format(0)))
    after = policy(("age", ages.format(2)), ("sex", sexes.format("inf")), tail='[combine]\nhow = "max"\n')
    gained = errors_gained(before.metric, after.metric)
    assert str(gained["age"]) == "± 60 → ± 30"
    assert str(gained["sex"]) == "no table → exact"
    assert gained["sex"].to_dict()["half_width_95"] == {"before": None, "after": [0, 0]}
    whole = dx.plan(dx.table("age"), before.metric)  # the whole policy says what the attribute alone says
    assert max(e.half_width for e in whole.errors) == gained["age"].before.most


def test_only_policies_are_compared():
    with pytest.raises(UsageError, match="not with a str"):
        policy(("sex", "values = ['M', 'F']\nepsilon = 1")).diff("policy.toml")


def absent(presence, *, how="sum", most=1000, sex="1"):
    head = (
        HEAD + f'neighbors = "add-remove"\nepsilon_presence = {presence}\nmax_records = {most}\n' if presence else HEAD
    )
    bodies = (("sex", f"values = ['M', 'F']\nepsilon = {sex}"), ("age", "integers = [0, 9]\nepsilon = 0.3\nper = 1"))
    return policy(*bodies, head=head, tail=f'[combine]\nhow = "{how}"\n')


def test_more_presence_is_looser_and_told_as_a_setting_and_in_the_pairs_it_capped():
    page = absent("0.1").diff(absent("10"))
    assert page.looser
    assert [vars(s) for s in page.settings] == [{"what": "presence", "before": "0.1", "after": "10"}]
    sex, age = page.attributes
    assert sex.listed.most.to_dict() == {"pair": "M – F", "before": 0.2, "after": 1.0}
    assert (age.listed.looser, age.listed.stricter) == (45, 0)
    assert "! looser" in str(page)
    assert "more distinguishable than before: ε 0.1 → 10" in " ".join(str(page).split())
    back = absent("10").diff(absent("0.1"))
    assert not back.looser
    assert "less distinguishable than before: ε 10 → 0.1" in " ".join(str(back).split())


def test_pairs_under_presence_are_counted_as_the_whole_metric_counts_them():
    before, after = absent("0.4"), absent("0.7")
    (_, age), u = before.diff(after).attributes, before.universe
    cells = u.index([{"sex": "M", "age": k} for k in range(10)]).tolist()
    both = [(before.metric.exact(i, j), after.metric.exact(i, j)) for i, j in combinations(cells, 2)]
    assert age.listed.looser == sum(y > x for x, y in both) > 0
    assert age.listed.pairs - age.listed.looser == sum(y == x for x, y in both) > 0


def test_from_maximum_to_sum_is_told_where_records_may_be_absent():
    page = absent("10", how="max").diff(absent("10"))
    assert [vars(s) for s in page.settings] == [{"what": "combine", "before": "max", "after": "sum"}]
    assert page.looser
    assert not absent("10").diff(absent("10", how="max")).looser


def test_whether_records_may_be_absent_has_a_direction():
    page = absent("10").diff(absent(""))
    assert page.looser
    told = {s.what: (s.before, s.after) for s in page.settings}
    assert told == {"neighbors": ("add-remove", "replace"), "presence": ("10", ""), "max records": ("1000", "")}
    assert "! looser       the number of records is public now" in str(page)
    back = absent("").diff(absent("10"))
    assert not back.looser
    assert "! stricter     presence in the data is protected now" in str(back)


def test_another_bound_on_the_number_of_records_is_told_and_neither_looser_nor_stricter():
    page = absent("10").diff(absent("10", most=2000))
    assert [vars(s) for s in page.settings] == [{"what": "max records", "before": "1000", "after": "2000"}]
    assert not page.looser
    assert not page.identical


def test_the_error_of_tables_is_planned_with_the_absent():
    before, after = absent("0.01"), absent("0.02")
    gained = errors_gained(before.metric, after.metric)
    for name, error in gained.items():
        for told, whole in ((error.before, before), (error.after, after)):
            widths = [e.half_width for e in dx.plan(dx.table(name), whole.metric).errors]
            assert (told.least, told.most) == (min(widths), max(widths))
    assert gained["sex"].before.most > 1.9 * gained["sex"].after.most
