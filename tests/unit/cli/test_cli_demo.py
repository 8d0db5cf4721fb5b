"""`dxp demo` as a new user meets it: its story, its files, its numbers."""

import json
import re

import pytest
from squeezing import squeezed


def test_the_demo_tells_its_story_with_both_baselines_and_the_price(demo):
    _, text = demo
    rows = squeezed(text)
    assert rows[0] == "20,000 simulated survey respondents in 906 US places; none of your files is read."
    assert "at most ε = 1 per 100 km" in rows[1]
    assert re.fullmatch(r"truth\* this policy standard DP, strictest noise ratio standard DP, ε 0\.\d+", rows[3])
    assert re.fullmatch(r"mean elevation of a home [\d.]+ m [\d.]+ m ± 1\.96 [−\d.,]+ m ± 104 53× ± 4\.\d+", rows[4])
    assert re.fullmatch(r"respondents in California [\d,]+ [\d,]+ ± 10 −?[\d,]+ ± 152 15× ± 8", rows[5])
    assert any(re.fullmatch(r"in New Jersey .* ± 1\d\d .* ± 152 0\.9\d?× ± 8", row) for row in rows)
    assert "0.008 for the mean and 0.0394 for the counts" in " ".join(text.split())
    assert any("± covers 95 % of the noise" in row for row in rows)
    assert any("Carol City and Milford" in row and "GeoNames" in row for row in rows)
    assert any(re.match(r"Avondale – Goodyear 0\.8 km 0\.008 0\.000\d+ 0\.\d+$", row) for row in rows)
    assert any(row.startswith("Honolulu – New Bedford 8,208 km 82.1 ") for row in rows)
    assert "is the worst-case ε of our release. Standard DP at" in text
    assert rows[-1] == "Next: dxp check 'my demo/policy.toml'"


def test_the_demo_writes_everything_a_curator_would_have(demo):
    folder = demo[0] / "my demo"
    names = {p.name for p in folder.iterdir()}
    assert {"policy.toml", "places.csv", "people.parquet", "ledger.db", "ledger.db.witness"} <= names
    assert sum(name.startswith("plan-") for name in names) == 1
    assert sum(name.startswith("release-") for name in names) == 2


def test_the_plan_of_the_demo_can_be_released_again_at_no_cost(demo, dxp, tmp_path):
    folder = demo[0] / "my demo"
    (plan,) = folder.glob("plan-*.json")
    by = ("--policy", folder / "policy.toml")
    called = dxp("release", plan, "--data", folder / "people.parquet", *by, "--out", tmp_path / "out").fine()
    assert called.lines[1].startswith("✓ repeated  entry 1 of ")
    (stored,) = folder.glob("release-*.json")
    assert json.loads((tmp_path / "out" / stored.name).read_text()) == json.loads(stored.read_text())


def test_a_demo_replaces_only_a_demo_and_never_anyones_ledger(demo, dxp, tmp_path):
    folder = demo[0] / "my demo"
    again = dxp("demo", "--write", folder)
    assert again.code == 2
    assert "holds a demo already" in again.err
    assert "--overwrite" in again.err
    (tmp_path / "ledger.db").write_text("years of work")
    for option in ([], ["--overwrite"]):
        refused = dxp("demo", "--write", tmp_path, *option)
        assert refused.code == 2
        assert "holds other files" in refused.err
    (tmp_path / "policy.toml").write_text('title = "T"\ndataset = "real"\n')
    assert dxp("demo", "--write", tmp_path, "--overwrite").code == 2
    assert (tmp_path / "ledger.db").read_text() == "years of work"


def test_a_demo_into_a_file_is_refused(dxp, tmp_path):
    (tmp_path / "file").write_text("")
    assert dxp("demo", "--write", tmp_path / "file").code == 2


@pytest.mark.slow  # short form: the first test of this file
def test_the_json_of_the_demo_has_the_numbers_of_the_screen(dxp, monkeypatch):
    data = json.loads(dxp("demo", "--json").fine().out)
    assert data["respondents"] == 20_000
    assert [a["standard_epsilon"] for a in data["answers"]][:2] == pytest.approx([0.008, 0.0394], rel=0.01)
    assert data["answers"][0]["worst_case_width"] == pytest.approx(4.01, rel=0.01)
    assert [a["label"] for a in data["answers"]] == ["mean elevation", "California", "Texas", "New Jersey"]
    assert data["answers"][0]["our_width"] == pytest.approx(2, rel=0.05)
    assert data["answers"][1]["standard_width"] == 152
    assert data["pairs"][-1]["pair"] == "Honolulu – New Bedford"
    assert data["folder"] is None
