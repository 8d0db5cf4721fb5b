"""Pages: text stays text, tables are tables, pictures do not disturb each other, and very long ones are cut aloud."""

import re

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.mechanisms.linear.release_answers import build_release
from dxprivacy.output.charts import check_page, ledger_page, plan_page, release_page
from dxprivacy.output.pages.page import ROWS, drawn, escaped, listed, page, section, table, verbatim, words
from dxprivacy.releases.guarantee import LedgerReference

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
    for part in (
        "Guarantee",
        "Who is protected from what",
        "Warnings",
        "tightened",
        policy.digest,
        "&lt;x&gt;",
    ):
        assert part in made
    assert "&lt;script&gt;comment" in made  # the file as it is


def test_a_page_about_a_plan_holds_the_whole_outline(policy):
    plan = dx.plan(
        ["count by sex within 9", "mean age"], policy.metric, n_records=100, budget="50%", title=policy.title
    )
    before = dx.plan("count where age=5..9", policy.metric, budget="25%")
    from dxprivacy.privacy.costs import SumCost

    spent = SumCost(policy.universe, [before.cost])
    made = plan_page(plan, policy=policy, spent=spent, ledger="<l>.db", command="dxp plan")
    assert "<script" not in made
    order = ["Errors", "What would meet", "Guarantee", "Why not better", "Trade-off against", "Budget before and after"]
    order += ["The policy", "How to"]
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
    why = made[made.index("<h2>Why not better") : made.index("<h2>Trade-off against")]
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


def released(policy, *queries, rows=100):
    plan = dx.plan(list(queries), policy.metric, n_records=rows)
    noisy = np.arange(plan.counted.rows, dtype=np.int64) + 50
    return build_release(plan, noisy, rows, LedgerReference("ledger.db", 1, "2026-01-01", "x", 1.0)), plan


def test_answers_come_before_the_guarantee_query_by_query_with_groups_in_columns(policy):
    release, plan = released(policy, "count by age", "mean age", "count by sex where age=5..9")
    made = release_page(release, plan)
    places = [made.index(f"<h2>{part}</h2>") for part in ("Answers", "Guarantee", "Why not better")]
    assert places == sorted(places)
    answers = made[places[0] : places[1]]
    assert re.findall("<h3>(.*?)</h3>", answers) == ["count by age", "count by sex where age=5..9"]
    heads = re.findall("<thead><tr>(.*?)</tr>", answers)
    assert [re.findall(">([^<]+)</th>", head)[0] for head in heads] == ["age", "query", "sex"]
    assert answers.count("<figure") == 3
    assert len(re.findall("<tr><td", answers)) == len(release.answers)


def test_a_two_way_table_is_a_shaded_crosstab_with_every_released_number(policy):
    release, plan = released(policy, "count by age/5, sex")
    made = release_page(release, plan)
    table = made[made.index('<table class="heat">') :]
    table = table[: table.index("</table>")]
    assert "age \\ sex" in table
    assert re.findall("<tr><th>(.*?)</th>", table) == ["age \\ sex", "0–4", "5–9"]
    cells = re.findall(r'<td class="r h(\d)">(\d+)</td>', table)
    assert sorted(int(value) for _, value in cells) == sorted(round(r.value) for r in release.answers)
    by_value = sorted(cells, key=lambda cell: int(cell[1]))
    assert [shade for shade, _ in by_value] == sorted(shade for shade, _ in cells)
    assert (by_value[0][0], by_value[-1][0]) == ("0", "5")
    assert "&lt;script&gt;x" in table  # a value of the policy, as text


def test_no_cell_but_a_code_may_break_inside_a_word_or_a_number(policy):
    release, plan = released(policy, "count by age", "mean age")
    for made in (release_page(release, plan, policy=policy), plan_page(plan, policy=policy), check_page(policy)):
        style = re.search("<style>(.*?)</style>", made, re.DOTALL)[1]
        rules = dict(re.findall(r"([^{}\n]+) \{([^{}]*)\}", style))
        breaking = {name for name, rule in rules.items() if "anywhere" in rule or "break-all" in rule}
        assert breaking == {"td.c", "pre"}
        assert "white-space: nowrap" in rules["td.r, td.n"]
        assert made.count("<table") == made.count('<div class="wide"><table')  # what is too wide is moved sideways
        assert 'style="' not in re.sub("<svg.*?</svg>", "", made, flags=re.DOTALL)  # the policy of the page forbids it


def test_very_many_tables_are_cut_and_the_rest_is_named(policy, monkeypatch):
    monkeypatch.setattr("dxprivacy.output.pages.answers_part.TABLES", 2)
    monkeypatch.setattr("dxprivacy.output.pages.answers_part.PICTURES", 1)
    release, plan = released(policy, "count by age", "count by sex", "prefixes age", "marginals 1")
    made = release_page(release, plan)
    assert f"3 more tables: in release-{release.name}.csv." in made
    answers = made[made.index("<h2>Answers") : made.index("<h2>Guarantee")]
    assert answers.count("<figure") == 1
    assert answers.count("<table") == 2


def test_a_number_with_an_exponent_stays_whole_wherever_it_stands():
    whole = '<span class="x">8.53e-08</span>'
    told = "at ε 8.53e-08, ± 95 %"
    for made in (words(told), listed([told]), table([told], [["1"]]), table(["a"], [[told]])):
        assert whole in made
        assert made.count("8.53e-08") == 1
    assert ".x { white-space: nowrap; }" in page("t", ["<p>x</p>"])
