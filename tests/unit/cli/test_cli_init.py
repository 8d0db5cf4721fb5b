"""`dxp init`: a policy to fill in, from the schema alone."""

import json
import tomllib
from datetime import date

import pytest

import dxprivacy as dx
from contracts.curator import CURATOR
from dxprivacy.errors import PolicyError
from dxprivacy.policy.skeleton import skeleton
from dxprivacy.wording import UNPRINTABLE


@pytest.fixture
def parquet(town):
    import pandas as pd

    frame = pd.DataFrame(
        {
            "age": [1, 2],
            'se"x': ["secret-1", "secret-2"],
            "ok": [True, False],
            "day": [date(2026, 1, 1)] * 2,
            "größe": [1.5, 2],
        }
    )
    frame["day"] = pd.to_datetime(frame["day"]).dt.date
    frame.to_parquet(town / "mixed.parquet")
    return town


def test_every_column_gets_its_place_and_no_row_is_read(parquet, dxp):
    called = dxp("init", "mixed.parquet", "--out", "new.toml").fine()
    text = (parquet / "new.toml").read_text()
    assert "5 columns" in called.out
    assert "no row was read" in called.out
    assert '# [attributes.age]\n# integers = ["…", "…"]' in text
    assert 'column = "se\\"x"' in text
    assert "# values = [true, false]" in text
    assert '# [attributes.day]\n# dates = ["…", "…"]' in text
    assert '# numbers = ["…", "…"]' in text
    assert "secret" not in text + called.out


def test_the_filled_in_skeleton_is_a_policy(parquet, dxp):
    dxp("init", "mixed.parquet", "--out", "new.toml").fine()
    text = (parquet / "new.toml").read_text()
    with pytest.raises(PolicyError, match="at least one attribute"):
        dx.Policy.load(parquet / "new.toml")
    filled = "\n".join(
        line.removeprefix("# ") for line in text.splitlines() if not line.startswith(("# How", "# docs", "# column “"))
    )
    steps = [  # what is open, in the order in which a person is told of it, and what they write
        ('integers = ["…", "…"]', "integers = [0, 120]"),
        ('per = "…"                         # per = 10', "per = 10 #"),
        ('values = ["…", "…"]', 'values = ["a", "b"]'),
        ('dates = ["…", "…"]', 'dates = ["2026-01-01", "2026-12-31"]'),
        ('per = "…"                         # per = "7 days"', 'per = "7 days" #'),
        ('numbers = ["…", "…"]', "numbers = [0, 1000]"),
        ('step = "…"', "step = 10"),
        ('per = "…"                         # per = 100', "per = 100 #"),
    ]
    for still_open, written in steps:
        with pytest.raises(PolicyError, match=f"{still_open.split(' ')[0]} is not filled in yet"):
            dx.Policy.parse(filled)
        assert still_open in filled
        filled = filled.replace(still_open, written, 1)
    policy = dx.Policy.parse(filled)
    assert policy.universe.names == ("age", "se_x", "ok", "day", "größe")
    assert [a.kind for a in policy.universe.attributes] == ["integers", "values", "values", "dates", "numbers"]
    assert policy.universe.attributes[1].column == 'se"x'


def test_a_csv_header_and_json(town, dxp):
    data = json.loads(dxp("init", "people.csv", "--json").fine().out)
    assert {"column", "type"} == set(data[0])


def test_where_a_file_has_no_types_its_policy_says_that_numbers_and_dates_exist(town, dxp):
    dxp("init", "people.csv", "--out", "new.toml").fine()
    text = (town / "new.toml").read_text()
    told = "# The data has no types, so every column has values; for numbers: integers = [0, 120], per = 10"
    assert told in text
    with pytest.raises(PolicyError, match="at least one attribute"):
        dx.Policy.load(town / "new.toml")
    head, _, age = text.partition("# [attributes.age]\n# ")
    with pytest.raises(PolicyError, match="values is not filled in yet"):
        dx.Policy.parse(f"{head}[attributes.age]\n{age}")
    filled = age.replace('values = ["…", "…"]', "integers = [0, 120]\nper = 10\nepsilon = 1", 1)
    assert dx.Policy.parse(f"{head}[attributes.age]\n{filled}").universe.attributes[0].kind == "integers"
    dxp("init", "people.csv", *(f"--public={c}" for c in ("sex", "age", "home", "note")), "--out", "all.toml").fine()
    assert told not in (town / "all.toml").read_text()


def test_a_file_with_types_needs_no_word_about_them(parquet, dxp):
    dxp("init", "mixed.parquet", "--out", "new.toml").fine()
    assert "has no types" not in (parquet / "new.toml").read_text()


def test_nothing_is_overwritten_unasked_and_missing_files_are_refused(town, dxp):
    before = (town / "policy.toml").read_text()
    called = dxp("init", "people.csv")
    assert called.code == 2
    assert "--overwrite" in called.err
    assert (town / "policy.toml").read_text() == before
    assert dxp("init", "nobody.csv", "--out", "x.toml").code == 6
    assert dxp("init", "people.csv", "--out", "no/where/x.toml").code == 2


def test_odd_names_cannot_break_out_of_the_skeleton():
    text = skeleton('a"\nb', "d\\", [('x"]\n[evil]', "text", ""), ("", "whole", ""), ("y", "", "lists\u2028")])
    assert "\n[evil]" not in text
    assert "not supported yet" in text


def test_characters_of_a_name_that_cannot_be_seen_are_told_and_not_passed_on():
    """No policy names such a column; a blank in place of the character would name another one, or none."""
    odd = ["a\tb", "c\x1b[31m", "d\x85", "\u202eevil", "fine", 'q"uoted\\']
    text = skeleton("t", "t", [(name, "text", "") for name in odd], key=["k\x07"])
    assert not UNPRINTABLE.search(text.replace("\n", ""))
    for told in (r"a\tb", r"c\u001b[31m", r"d\u0085", r"\u202eevil"):
        assert f"# column “{told}” has a character in its name that cannot be seen" in text
    assert text.count("# [attributes.") == 2
    bare = "\n".join(line.removeprefix("# ") for line in text[text.index("# [attributes.fine]") :].splitlines())
    assert tomllib.loads(bare)["attributes"]["q_uoted"]["column"] == 'q"uoted\\'
    assert r'key = "k\u0007"' in text


def test_values_of_public_columns_are_listed_marked_and_said_by_check(town, dxp):
    called = dxp("init", "people.csv", "--public", "sex", "--public", "age", "--out", "new.toml").fine()
    assert "rows were read for sex, age alone" in called.out
    assert "no row was read" not in called.out
    text = (town / "new.toml").read_text()
    assert '# values = ["F", "M"]\n# declared_public = true' in text
    assert "was read from the data" in text
    assert "Planted" not in text + called.out
    wanted = text[text.index("# [attributes.sex]") : text.index("# [attributes.home]")]
    head = text[: text.index("\n# [attributes")]
    (town / "new.toml").write_text(head + "\n" + "\n".join(line.removeprefix("# ") for line in wanted.splitlines()))
    page = dxp("check", "new.toml").fine()
    assert "! declared     declared public: the list of values of sex was read from the data" in page.out
    assert dx.Policy.load(town / "new.toml").declared_public == ("sex", "age")
    dxp("plan", "new.toml", "count by sex, age", "--out", "plan.json").fine()
    dxp("release", "plan.json", "--data", "people.csv", *CURATOR, "--policy", "new.toml", "--out", "out").fine()


def test_without_public_no_row_is_read_whatever_stands_in_it(town, dxp, monkeypatch):
    def refuse(*_):
        raise AssertionError("rows were read")

    for name in ("rows", "count", "distinct", "blocks"):
        monkeypatch.setattr(f"dxprivacy.engines.files.csv_lines.CsvFile.{name}", refuse)
    dxp("init", "people.csv", "--out", "new.toml").fine()
    assert dxp("init", "people.csv", "--public", "sex", "--out", "other.toml").code == 1  # the test can fail
    assert not (town / "other.toml").exists()


def test_public_values_in_json_and_their_errors(town, dxp):
    data = json.loads(dxp("init", "people.csv", "--public", "sex", "--json").fine().out)
    assert data[0] == {"column": "sex", "type": "untyped text", "values": ["F", "M"]}
    assert "values" not in data[1]
    called = dxp("init", "people.csv", "--public", "sxe", "--out", "new.toml")
    assert called.code == 6
    assert "did you mean this?" in called.err
    many = "id\n" + "".join(f"secret-{k}\n" for k in range(1001))
    (town / "many.csv").write_text(many)
    called = dxp("init", "many.csv", "--public", "id", "--out", "new.toml")
    assert called.code == 6
    assert "more than 1,000 different values" in called.err
    assert "secret" not in called.err
    assert not (town / "new.toml").exists()


def test_odd_public_values_cannot_break_out_of_the_skeleton():
    odd = ['a"]\n[evil', "b\\", "“c”", "d'", "#e"]
    text = skeleton("t", "d", [("x", "text", ""), ("n", "whole", "")], {"x": [*odd, "f" * 150], "n": [1, 2**70]})
    filled = "\n".join(line.removeprefix("# ") for line in text.splitlines()[3:])
    policy = dx.Policy.parse('title = "t"\n' + "\n".join(filled.splitlines()))
    assert policy.universe.attributes[0].values == ('a"] [evil', *odd[1:], "f" * 150)
    assert policy.universe.attributes[1].values == ("1", str(2**70))


@pytest.mark.parametrize("given", ['"yes"', "1", "[]"])
def test_declared_public_is_true_or_false_and_only_for_values(given):
    text = 'title = "t"\ndataset = "d"\n[attributes.x]\n{}\nepsilon = 1\nper = 1\ndeclared_public = {}\n'
    with pytest.raises(PolicyError, match="declared_public is true or false") as caught:
        dx.Policy.parse(text.format("values = [1, 2]", given).replace("per = 1\n", ""))
    assert caught.value.where == "policy.toml:6"
    with pytest.raises(PolicyError, match="unknown key “declared_public”"):
        dx.Policy.parse(text.format("integers = [1, 2]", "true"))


@pytest.mark.parametrize(
    "first",
    [
        "Ada,36,F", "36,Ada,F", "Ada,1815-12-10,F", "Ada,10.12.1815,F", "Ada,10:15,F", "name,age,", ",age,sex",
        "name,age,name", "name, ,sex", "true,age,sex", "N/A,age,sex", "1.5,age,sex", "-,age,sex", "ada@example.org,a,b",
        "Ada,+44 1,F", "name,.5,sex", "Ada,1e5,F", "x,50%,y", "2019,2020,2021", "name," + "x" * 400 + ",sex",
    ],
)  # fmt: skip
def test_a_first_line_that_cannot_be_a_header_is_refused_and_not_shown(first, tmp_path, monkeypatch, dxp):
    (tmp_path / "people.csv").write_text(f"{first}\nBob,40,M\n")
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--json"], ["--public", "sex"]):
        done = dxp("init", "people.csv", *more)
        assert done.code == 6
        assert "the first line is no header" in done.out + done.err
        for entry in ("Ada", "36", "1815", "ada@", "2019", "xxx"):
            assert entry not in done.out + done.err
    assert not (tmp_path / "policy.toml").exists()


def test_a_header_that_looks_like_a_record_can_be_declared_one(tmp_path, monkeypatch, dxp):
    (tmp_path / "people.csv").write_text("name,2019,2020\nAda,1,2\n")
    monkeypatch.chdir(tmp_path)
    assert dxp("init", "people.csv").code == 6
    assert dxp("init", "people.csv", "--header").code == 0
    assert "attributes.2019" in (tmp_path / "policy.toml").read_text()


@pytest.mark.parametrize("role", ["anna", 'o"dd \\ name', "Änna\\1"])
def test_the_role_of_a_server_is_declared_in_the_policy(parquet, dxp, role):
    dxp("init", "mixed.parquet", "--row-security-role", role, "--rows-are-records", "--out", "new.toml").fine()
    declared = tomllib.loads((parquet / "new.toml").read_text())
    assert (declared["row_security_role"], declared["rows_are_records"]) == (role, True)
    assert "file" not in declared


@pytest.mark.parametrize("role", ["", "a\nb", "x" * 64])
def test_a_role_that_no_server_can_have_is_refused(parquet, dxp, role):
    called = dxp("init", "mixed.parquet", "--row-security-role", role, "--out", "new.toml")
    assert called.code == 2
    assert "--row-security-role needs the name of a role" in called.err
