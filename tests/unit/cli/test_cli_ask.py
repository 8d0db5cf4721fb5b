"""`dxp plan --queries`: queries in files, alone and beside queries in words."""

import json

from contracts.curator import CURATOR


def test_files_and_words_are_planned_together_and_files_may_be_several(town, dxp):
    (town / "one.toml").write_text('[[query]]\ncount = true\nby = "sex"\n')
    (town / "two.toml").write_text('[[query]]\ntitle = "How old"\nmean = "age"\nwithin = "1 years"\n')
    called = dxp(
        "plan",
        "policy.toml",
        "count by age",
        "--queries",
        "one.toml",
        "--queries",
        "two.toml",
        "--n-records",
        400,
        "--json",
    ).fine()
    asked = json.loads(called.out)["queries"]
    assert [q["ask"] for q in asked] == ["count", "count", "mean"]
    assert asked[2]["title"] == "How old"


def test_a_plan_from_a_file_is_the_plan_in_words_and_releases(town, dxp):
    (town / "one.toml").write_text('[[query]]\ntitle = "By sex"\ntext = "count by sex"\n')
    called = dxp("plan", "policy.toml", "--queries", "one.toml").fine()
    assert called.lines[0].split()[1] == dxp("plan", "policy.toml", "count by sex").fine().lines[0].split()[1]
    dxp("plan", "policy.toml", "--queries", "one.toml", "--out", "plan.json").fine()
    dxp("release", "plan.json", "--data", "people.csv", *CURATOR, "--out", "out").fine()
    (table,) = (town / "out").glob("*.csv")
    assert "By sex" in table.read_text()


def test_errors_in_a_file_have_their_line_even_where_only_the_policy_can_tell(town, dxp):
    (town / "bad.toml").write_text('[[query]]\ncount = true\n\n[[query]]\ncount = true\nby = "gender"\n')
    called = dxp("plan", "policy.toml", "--queries", "bad.toml")
    assert called.code == 4
    assert "bad.toml:5 · no attribute “gender”" in called.err
    missing = dxp("plan", "policy.toml", "--queries", "none.toml")
    assert (missing.code, "none.toml · no such file" in missing.err) == (4, True)
