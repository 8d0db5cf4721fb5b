"""Pages: text stays text, tables are tables, pictures do not disturb each other, and very long ones are cut aloud."""

import re

import pytest

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.plots import check_page, ledger_page, plan_page, release_page
from dxprivacy.plots.page import ROWS, drawn, escaped, listed, page, section, table, verbatim, words

NASTY = '<script>alert("1")</script> & ⟦body⟧ \u202e\x1b[0m'
POLICY = """
title = "<i>T</i> & ünïcode"
dataset = "d"
[attributes.sex]
values = ["<script>x</script>", "b & c", "東京"]
epsilon = { "<script>x</script>" = 2, "b & c" = 2, "東京" = 0.1 }   # <script>comment</script>
[attributes.age]
integers = [0, 9]
epsilon = 1
per = 1
"""


def test_text_stays_text_wherever_it_stands():
    made = page(
        NASTY,
        [section(NASTY, words(NASTY)), listed([NASTY]), table([NASTY], [[NASTY]]), verbatim(f"{NASTY}\n\tx")],
    )
    assert "<script" not in made
    assert not set("\u202e\x1b") & set(made)
    assert made.count("⟦body⟧") == 7  # as the text it is, in all seven places
    assert "\n\tx</pre>" in made
    assert escaped("a\nb") == "a�b"


def test_what_is_empty_leaves_no_trace():
    assert [section("x"), section("x", "", ""), words(""), listed([]), table(["a"], [])] == [""] * 5
    assert page("t", ["", "<p>x</p>"]).count("\n\n") == 0


def test_a_long_table_is_cut_and_says_where_the_rest_is():
    made = table(["n"], [[str(k)] for k in range(ROWS + 5)], "r", rest="in x.csv")
    assert made.count("<tr>") == ROWS + 1
    assert "5 more rows: in x.csv" in made
    assert '<td class="r">0</td>' in made


def test_pictures_on_one_page_share_no_names_inside():
    first, second = (dx.metrics.euclidean([[0, 0], [9, k], [4, 4]], epsilon_per_unit=1) for k in (3, 5))
    made = drawn(dx.plots.policy(first)) + drawn(dx.plots.policy(second))
    names = re.findall(r'\bid="([^"]*)"', made)
    assert names
    assert len(set(names)) == len(names)
    assert set(re.findall(r"url\(#([^)]*)\)", made)) <= set(names)


@pytest.fixture(scope="module")
def policy():
    return dx.Policy.parse(POLICY)


def test_a_page_about_a_policy_holds_its_picture_its_pairs_and_its_text(policy):
    made = check_page(policy, command="dxp check '<x>' --html")
    assert "<script" not in made
    assert made.count("<svg") == 1
    for part in ("Promise", "Who is protected from what", "To look at twice", "tightened", policy.digest, "&lt;x&gt;"):
        assert part in made
    assert "&lt;script&gt;comment" in made  # the file as it is


def test_a_page_about_a_plan_holds_the_whole_outline(policy):
    plan = dx.plan(["count by sex within 9", "mean age"], policy.metric, rows=100, share="50%", title=policy.title)
    before = dx.plan("count where age=5..9", policy.metric, share="25%")
    from dxprivacy.accounting.costs import SumCost

    spent = SumCost(policy.universe, [before.cost])
    made = plan_page(plan, policy=policy, spent=spent, ledger="<l>.db", command="dxp plan")
    assert "<script" not in made
    order = ["Promise", "Errors", "Why not better", "What one pays", "Budget before and after", "The policy", "How to"]
    places = [made.index(f"<h2>{part}") for part in order]
    assert places == sorted(places)
    assert made.count("<svg") == 3
    assert "1 release in &lt;l&gt;.db" in made
    assert "Nothing spent, no data read" in made
    assert plan.request in made
    assert "used before" in made
    alone = plan_page(plan)
    assert "used before" not in alone
    assert "The policy</h2>" not in alone


def test_three_pairs_say_why_each_once(policy):
    plan = dx.plan(["count by age", "count by sex"], policy.metric, method="optimal")
    made = plan_page(plan)
    why = made[made.index("<h2>Why not better") : made.index("<h2>What one pays")]
    told = re.findall("<li>(.*?)</li>", why)
    assert 1 <= len(told) <= 3
    assert len(set(told)) == len(told)
    assert all("Moving one person from" in sentence for sentence in told)


def test_a_plan_without_noise_has_a_page():
    made = plan_page(dx.plan([[1, 1, 1]], dx.metrics.constant(3, 1)))
    assert "No pair limits these answers" in made
    assert "exact" in made


@pytest.mark.parametrize("make", [check_page, plan_page, lambda x: ledger_page(x, x), lambda x: release_page(x, x)])
@pytest.mark.parametrize("thing", [None, 3, "policy.toml"])
def test_anything_else_has_no_page(make, thing):
    with pytest.raises(UsageError, match="is needed"):
        make(thing)
