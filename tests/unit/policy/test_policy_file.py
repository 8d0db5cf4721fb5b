"""Policies that are right: what the TOML of DESIGN.md means, what identifies it, and how `check` explains it."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from dxprivacy.output.text.check_text import check_lines
from dxprivacy.policy import Policy, check
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.wording import plain

PLACES = """id,name,state,latitude,longitude,elevation
1,Hoboken,New Jersey,40.74399,-74.03236,9
2,New York City,New York,40.71427,-74.00597,10
3,Honolulu,Hawaii,21.30694,-157.85833,18
4,New Bedford,Massachusetts,41.63622,-70.93421,34
"""
SURVEY = """
title = "Household survey 2026"
dataset = "household-2026"        # the ledger is bound to it
neighbors = "replace"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.status]
values = ["asylum", "citizen", "resident"]
epsilon = { asylum = 0.1, citizen = 2.0, resident = 2.0 }
[attributes.age]
column = "age_years"
integers = [0, 120]
unit = "years"
epsilon = 0.5
per = 10
[attributes.home]
points = "cities.csv"
epsilon = 1.0
per = "100 km"
units = { elevation = "m" }
[attributes.wave]
values = [1, 2]
epsilon = inf
[combine]
how = "sum"
"""


def one(body, folder="."):
    """A policy of one attribute called x."""
    return Policy.parse(f'title = "T"\ndataset = "d"\n[attributes.x]\n{body}\n', folder=folder)


def distance(policy, a, b):
    i, j = policy.universe.index([a, b]).tolist()
    return policy.metric.exact(i, j)


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "cities.csv").write_text(PLACES, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(SURVEY, encoding="utf-8")
    return Policy.load(tmp_path / "policy.toml")


BASE = {"sex": "M", "status": "citizen", "age": 30, "home": "1", "wave": 1}


# -- meaning -----------------------------------------------------------------------------------------------------------


def test_the_policy_of_the_design_compiles_to_its_attributes_and_distances(survey):
    assert (survey.title, survey.dataset, survey.version) == ("Household survey 2026", "household-2026", "1")
    assert survey.universe.names == ("sex", "status", "age", "home", "wave")
    assert [type(a) for a in survey.universe.attributes] == [Values, Values, Integers, Points, Values]
    assert survey.universe.shape == (3, 4, 122, 5, 3)  # `other` included
    assert distance(survey, BASE, BASE | {"sex": "F"}) == 1
    assert distance(survey, BASE, BASE | {"status": "asylum"}) == Fraction(1, 10)
    assert distance(survey, BASE, BASE | {"age": 31}) == Fraction(1, 20)
    assert distance(survey, BASE, BASE | {"wave": 2}) == math.inf
    assert float(distance(survey, BASE, BASE | {"home": "2"})) == pytest.approx(0.0398, abs=5e-4)


def test_attributes_add_up(survey):
    both = distance(survey, BASE, BASE | {"sex": "F", "age": 40})
    assert both == 1 + Fraction(1, 2)


def test_decimals_are_exact():
    assert distance(one('values = ["a", "b"]\nepsilon = 0.1'), {"x": "a"}, {"x": "b"}) == Fraction(1, 10)
    assert distance(one("integers = [0, 9]\nepsilon = 0.1\nper = 0.3"), {"x": 0}, {"x": 3}) == 1


def test_column_unit_and_name_are_kept_apart(survey):
    age = survey.universe.attributes[2]
    assert (age.name, age.column, age.unit) == ("age", "age_years", "years")
    assert survey.universe.attributes[0].column == "sex"


def test_other_columns_of_a_points_file_are_public_properties_with_units(survey):
    home = survey.universe.attributes[3]
    assert list(home.properties) == ["name", "state", "elevation"]
    assert home.properties["elevation"].unit == "m"
    assert home.properties["elevation"].numbers == (9, 10, 18, 34)
    assert home.label(0) == "Hoboken"


def test_a_values_own_budget_counts_the_smaller_one_and_is_closed():
    policy = one('values = ["Y", "N", "P"]\nepsilon = { Y = 0.1, N = 2.0, P = 2.0 }')
    assert distance(policy, {"x": "Y"}, {"x": "N"}) == Fraction(1, 10)
    assert distance(policy, {"x": "N"}, {"x": "P"}) == Fraction(1, 5)


def test_keys_of_a_values_own_budget_may_be_numbers_and_words_with_blanks():
    policy = one('values = [1, "two words", true]\nepsilon = { 1 = 0.5, "two words" = 1, true = 1 }')
    assert distance(policy, {"x": 1}, {"x": "two words"}) == Fraction(1, 2)


@pytest.mark.parametrize(("per", "km"), [("100 km", 100), ("100km", 100), ("500 m", 0.5), ("1 mile", 1.609344)])
def test_distances_take_kilometers_meters_and_miles(per, km, tmp_path):
    (tmp_path / "p.csv").write_text("id,lat,lon\na,0,0\nb,0,1\n")
    policy = one(f'points = "p.csv"\nepsilon = 1.0\nper = "{per}"', tmp_path)
    apart = 6371.0088 * math.pi / 180
    assert float(policy.metric.exact(0, 1)) == pytest.approx(apart / km, rel=1e-4)


def test_points_in_a_plane_are_measured_straight(tmp_path):
    (tmp_path / "p.csv").write_text("code,x,y,color\na,0,0,red\nb,3,4,blue\n")
    policy = one('points = "p.csv"\nepsilon = 0.5\nper = 10\nid = "code"', tmp_path)
    assert policy.metric.exact(0, 1) == Fraction(1, 4)
    assert policy.universe.attributes[0].ids == ("a", "b")


def test_the_id_column_can_be_named_and_defaults_to_id_or_the_first(tmp_path):
    (tmp_path / "p.csv").write_text("name,id,zip,x\na,7,08,0\nb,8,09,1\n")
    bodies = {"": ("7", "8"), 'id = "zip"': ("08", "09"), 'id = "name"': ("a", "b")}
    for line, ids in bodies.items():
        policy = one(f'points = "p.csv"\nepsilon = 1\nper = 1\n{line}', tmp_path)
        assert policy.universe.attributes[0].ids == ids
    (tmp_path / "q.csv").write_text("zip,x\n08,0\n09,1\n")
    assert one('points = "q.csv"\nepsilon = 1\nper = 1', tmp_path).universe.attributes[0].ids == ("08", "09")


def test_a_points_file_is_found_beside_the_policy_wherever_we_are(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "p.csv").write_text("id,x\na,0\nb,1\n")
    (tmp_path / "policy.toml").write_text(
        'title = "T"\ndataset = "d"\n[attributes.x]\npoints = "sub/p.csv"\nepsilon = 1\nper = 1\n'
    )
    monkeypatch.chdir("/")
    assert Policy.load(tmp_path / "policy.toml").universe.size == 3


def test_a_points_file_may_have_a_byte_order_mark_dos_lines_and_empty_lines(tmp_path):
    (tmp_path / "p.csv").write_bytes(b'\xef\xbb\xbfid,x,name\r\na,0,"Z\xc3\xbcrich, Kreis 1"\r\n\r\nb,1,Bern\r\n\r\n')
    attribute = one('points = "p.csv"\nepsilon = 1\nper = 1', tmp_path).universe.attributes[0]
    assert attribute.ids == ("a", "b")
    assert attribute.label(0) == "Zürich, Kreis 1"


@pytest.mark.parametrize("dress", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n")])
def test_a_policy_may_have_a_byte_order_mark_or_dos_lines(dress, tmp_path):
    text = 'title = "Zürich"\ndataset = "d"\n[attributes."größe"]\nvalues = ["groß", "klein"]\nepsilon = 1\n'
    (tmp_path / "policy.toml").write_bytes(dress(text).encode("utf-8"))
    policy = Policy.load(tmp_path / "policy.toml")
    assert policy.title == "Zürich"
    assert policy.digest == Policy.parse(text).digest


# -- other -------------------------------------------------------------------------------------------------------------


def test_other_is_one_more_value_by_default():
    assert distance(one('values = ["a", "b"]\nepsilon = 0.7'), {"x": "a"}, {"x": None}) == Fraction(7, 10)
    mixed = one('values = ["a", "b"]\nepsilon = { a = 0.1, b = 2 }')
    assert distance(mixed, {"x": "b"}, {"x": None}) == Fraction(1, 5)  # 2 at most, but 0.1 + 0.1 over a


def test_other_is_half_the_reach_away_from_ordered_values():
    policy = one("integers = [0, 120]\nepsilon = 0.5\nper = 10")
    assert distance(policy, {"x": 7}, {"x": "?"}) == 3
    assert distance(policy, {"x": 0}, {"x": 120}) == 6


def test_other_takes_an_epsilon_and_a_value_of_its_own():
    policy = one("integers = [0, 120]\nepsilon = 0.5\nper = 10\nother = { epsilon = 5, value = 40 }")
    assert distance(policy, {"x": 7}, {"x": "?"}) == 5
    attribute = policy.universe.attributes[0]
    assert attribute.values_in_sums(attribute.numbers)[-1] == 40


def test_a_close_other_caps_every_distance_and_check_says_so():
    policy = one("integers = [0, 120]\nepsilon = 0.5\nper = 10\nother = { epsilon = 0.4 }")
    assert distance(policy, {"x": 0}, {"x": 120}) == Fraction(4, 5)
    page = check(policy)
    assert page.tightened == (("0", "120", 6.0, 0.8),)
    assert "0 – 120: you wrote 6, the policy keeps 0.8. Each is 0.4 from other" in page.warnings[0].text
    assert "raise other to 3" in page.warnings[0].text


# -- what identifies a policy ------------------------------------------------------------------------------------------


def test_comments_blanks_titles_and_the_order_of_keys_do_not_change_the_digest(survey, tmp_path):
    dressed = SURVEY.replace("per = 10\n", "per   =  10   # years\n\n").replace("epsilon = 1.0", "epsilon = 1.00")
    dressed = dressed.replace("Household survey 2026", "Another title")
    dressed = dressed.replace('values = ["M", "F"]\nepsilon = 1.00', 'epsilon = 1\nvalues = [\n  "M",\n  "F",\n]')
    assert dressed != SURVEY
    assert Policy.parse(dressed, folder=tmp_path).digest == survey.digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["M", "F"]', '["M", "W"]'),
        ('["M", "F"]', '["F", "M"]'),
        ("epsilon = 1.0\n[attributes.status]", "epsilon = 1.01\n[attributes.status]"),
        ("asylum = 0.1", "asylum = 0.11"),
        ("[0, 120]", "[0, 121]"),
        ("[0, 120]", "[1, 120]"),
        ("per = 10", "per = 11"),
        ('per = "100 km"', 'per = "100 miles"'),
        ("[attributes.sex]", "[attributes.gender]"),
        ("epsilon = inf", "epsilon = 5"),
        ("per = 10", "per = 10\nother = { epsilon = 5 }"),
        ("per = 10", "per = 10\nother = { value = 5 }"),
        ('per = "100 km"', 'per = "100 km"\nmetric = "great-circle"\nother = { epsilon = 50 }'),
        ("[combine]", '[attributes.more]\nvalues = ["a"]\nepsilon = 1\n[combine]'),
    ],
)
def test_whatever_changes_a_distance_or_a_record_changes_the_digest(survey, tmp_path, old, new):
    assert SURVEY.count(old) >= 1
    assert Policy.parse(SURVEY.replace(old, new, 1), folder=tmp_path).digest != survey.digest


@pytest.mark.parametrize(("old", "new"), [("40.74399", "40.74398"), ("\n1,", "\n11,"), (",9\n", ",8\n")])
def test_the_contents_of_the_points_file_are_part_of_the_digest(survey, tmp_path, old, new):
    (tmp_path / "cities.csv").write_text(PLACES.replace(old, new, 1), encoding="utf-8")
    assert Policy.load(tmp_path / "policy.toml").digest != survey.digest


# -- check -------------------------------------------------------------------------------------------------------------


def test_check_shows_strictest_and_loosest_pair_of_each_attribute(survey):
    page = str(check(survey))
    rows = [" ".join(line.split()) for line in page.splitlines()]
    assert rows[0] == "✓ valid · Household survey 2026 · one record replaced, n public"
    assert rows[1] == "5,808 possible records = sex 2 × status 3 × age 121 × home 4 × wave 2"
    assert "sex M – F 1 M – F 1" in rows
    assert "status asylum – citizen 0.1 citizen – resident 0.2 !" in rows
    assert "age neighboring years 0.05 0 – 120 6" in rows
    assert "home Hoboken – New York City 0.0398 Honolulu – New Bedford 82.1" in rows
    assert "wave 1 – 2 ∞ ! public" in rows
    assert "Worst case in standard-DP terms: ε 89.3, over all releases ever; no limit on public differences." in rows


def test_the_columns_of_check_are_aligned(survey):
    lines = str(check(survey)).splitlines()
    head = next(line for line in lines if "strictest pair" in line)
    rows = lines[lines.index(head) + 1 :][:5]
    for title in ("strictest pair", "loosest pair"):
        at = head.index(title)
        assert all(row[at - 2 : at] == "  " for row in rows)
    assert all(line == line.rstrip() and len(line) <= 100 for line in lines)


def test_check_explains_what_was_tightened_by_its_detour(survey):
    notice = next(w for w in check(survey).warnings if w.kind == "tightened")
    assert notice.text == (
        "citizen – resident: you wrote 2, the policy keeps 0.2. Each is 0.1 from asylum, and 0.1 + 0.1 already links "
        "them. To keep 2, raise asylum to 1."
    )


def test_following_the_advice_on_a_tightened_pair_ends_the_tightening():
    policy = one('values = ["a", "b", "c"]\nepsilon = { a = 1, b = 2, c = 2 }')
    assert check(policy).tightened == ()


def test_check_warns_of_public_attributes_and_of_linked_ones(survey):
    notices = {w.kind: w.text for w in check(survey).warnings}
    assert notices["public"] == "wave: answers may reveal anyone’s wave exactly."
    told = "If wave, home or age predicts status in your data, answers about it hint at status."
    assert notices["correlation"].startswith(told)
    assert "ε 0.1 does not cover that" in notices["correlation"]


def test_check_names_identical_places_and_lists_them_on_request(tmp_path):
    (tmp_path / "p.csv").write_text("id,name,x\n1,Milford,0\n2,Milford (balance),0\n3,Derby,9\n")
    page = check(one('points = "p.csv"\nepsilon = 1\nper = 1', tmp_path))
    assert page.identical == (("Milford", "Milford (balance)"),)
    assert "1 pair of x shares its coordinates (ε 0): no query may separate them." in str(page)
    assert "  Milford – Milford (balance): ε 0" in [plain(line) for line in check_lines(page, "identical")]


def test_listing_what_is_not_there_says_none():
    page = check(one('values = ["a", "b"]\nepsilon = 1'))
    assert page.warnings == ()
    for kind in ("identical", "tightened", "public"):
        assert [plain(line) for line in check_lines(page, kind)][-2:] == [f"  {kind}", "  none"]


def test_listing_tightened_pairs_shows_all_of_them():
    policy = one('values = ["a", "b", "c", "d"]\nepsilon = { a = 0.1, b = 2, c = 3, d = 4 }')
    page = check(policy)
    assert len(page.tightened) == 3
    assert "2 more pairs: --list tightened" in str(page)
    listed = [plain(line) for line in check_lines(page, "tightened")]
    assert "  c – d: you wrote 3, the policy keeps 0.2" in listed


def test_a_policy_of_one_public_attribute_has_no_limit():
    page = str(check(one('values = ["a", "b"]\nepsilon = inf')))
    assert "Worst case in standard-DP terms: no limit: everything is public." in page


def test_a_public_other_is_pointed_out():
    page = check(one("integers = [0, 9]\nepsilon = 1\nper = 1\nother = { epsilon = inf }"))
    assert page.warnings[0].text == "x: answers may reveal exactly whether anyone’s x is missing or invalid."
    assert not page.rows[0].public


@pytest.mark.parametrize("body", ['values = ["a"]\nepsilon = 1', "integers = [5, 5]\nepsilon = 1\nper = 1"])
def test_an_attribute_of_one_value_is_told_apart_from_other_only(body):
    (row,) = check(one(body)).rows
    assert row.strictest.endswith(" – other")
    assert row.strictest_epsilon == row.loosest_epsilon == 1


def test_long_names_and_many_attributes_keep_the_page_readable():
    long = "The longest description of a category that any statistical office has ever put into a file"
    body = "".join(f'[attributes.a{k}]\nvalues = ["{long} {k}", "b"]\nepsilon = {k + 1}\n' for k in range(14))
    page = str(check(Policy.parse(f'title = "T"\ndataset = "d"\n{body}')))
    assert max(len(line) for line in page.splitlines()) <= 150
    assert all(f"a{k}" in page for k in range(14))


def test_the_json_of_check_has_the_same_numbers(survey):
    page = check(survey)
    data = json.loads(json.dumps(page.to_dict(), allow_nan=False))
    assert data["valid"] is True
    assert data["metric"] == survey.digest
    assert data["possible_records"] == 5808
    assert [a["strictest_epsilon"] for a in data["attributes"]][:3] == [1.0, 0.1, 0.05]
    assert data["attributes"][4]["loosest_epsilon"] is None
    assert data["worst_case_epsilon"] is None
    assert data["largest_finite_epsilon"] == pytest.approx(89.3, abs=0.1)
    assert data["tightened"] == [{"pair": ["citizen", "resident"], "written": 2.0, "kept": 0.2}]
    assert {w["kind"] for w in data["warnings"]} == {"tightened", "public", "correlation", "near"}


def test_policy_check_is_the_same_page(survey):
    assert str(survey.check()) == str(check(survey))


def test_the_policy_shipped_with_the_demo_checks_without_warnings():
    import dxprivacy.demo

    page = check(Policy.load(Path(dxprivacy.demo.__file__).parent / "policy.toml"))
    assert page.warnings == ()
    assert page.sizes == (("home", 906),)
    assert page.rows[0].strictest == "Avondale – Goodyear"
