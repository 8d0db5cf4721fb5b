"""`dxp init`: a policy to fill in, from the schema alone."""

import json
from datetime import date

import pytest

import dxprivacy as dx
from dxprivacy.errors import PolicyError
from dxprivacy.policy.skeleton import skeleton


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
    assert "# [attributes.age]\n# integers = [0, 100]" in text
    assert 'column = "se\\"x"' in text
    assert "# values = [true, false]" in text
    assert '# [attributes.day]\n# dates = ["2026-01-01", "2026-12-31"]' in text
    assert "# numbers = [0, 1000]" in text
    assert "secret" not in text + called.out


def test_the_filled_in_skeleton_is_a_policy(parquet, dxp):
    dxp("init", "mixed.parquet", "--out", "new.toml").fine()
    text = (parquet / "new.toml").read_text()
    with pytest.raises(PolicyError, match="at least one attribute"):
        dx.Policy.load(parquet / "new.toml")
    filled = "\n".join(
        line.removeprefix("# ") for line in text.splitlines() if not line.startswith(("# How", "# docs", "# column “"))
    )
    policy = dx.Policy.parse(filled.replace('"…", "…"', '"a", "b"'))
    assert policy.universe.names == ("age", "se_x", "ok", "day", "größe")
    assert [a.kind for a in policy.universe.attributes] == ["integers", "values", "values", "dates", "numbers"]
    assert policy.universe.attributes[1].column == 'se"x'


def test_a_csv_header_and_json(town, dxp):
    data = json.loads(dxp("init", "people.csv", "--json").fine().out)
    assert {"column", "type"} == set(data[0])


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
