"""Names, file names, conditions and ledger fields are text: they begin no line, run nothing and steer no screen."""

import io
import json
import re
import shlex
import subprocess

import pytest

from contracts.curator import CURATOR
from contracts.long_forms import mostly_slow
from dxprivacy.errors import STEERING, UsageError
from dxprivacy.wording import json_text, quoted

FORGED = "✓ verified nothing"
EVIL = [
    f"a\n{FORGED}", f"a\r{FORGED}", f"a\u2028{FORGED}", f"a\u2029{FORGED}", f"a\x85{FORGED}", f"a\x0b{FORGED}",
    "a\x1b[2J", "a\u202eb", "a\u2066b", "a\u200eb", "a\u200fb", "a\u061cb", "a\x07b", "a\x9bb",
]  # fmt: skip


def clean(text):
    """No line begins with what was forged, and nothing steers."""
    assert not any(line.startswith(FORGED) for line in re.split(r"[\n\r\u2028\u2029\x85\x0b\x0c]", text)), text
    assert not STEERING.search(text.replace("\n", "")), ascii(text)


@pytest.mark.parametrize("evil", mostly_slow([e for e in EVIL if "/" not in e], slice(0, None, 4)), ids=ascii)
def test_file_names_forge_nothing(town, dxp, evil):
    (town / "policy.toml").rename(town / f"{evil}.toml")
    for call in (
        ("check", f"{evil}.toml"),
        ("plan", f"{evil}.toml", "count by sex", "--out", f"{evil}.json"),
        ("release", f"{evil}.json", "--data", "people.csv"),
        ("release", f"{evil}.json", "--data", "people.csv", "--policy", f"{evil}.toml"),
        ("release", f"{evil}.json", "--data", "people.csv", "--policy", f"{evil}.toml", "--new-ledger"),
        ("release", f"{evil}.json", "--data", f"{evil}.csv", "--policy", f"{evil}.toml"),
        ("verify", f"{evil}.json"),
        ("verify", f"{evil}.none"),
        ("ledger", f"{evil}.db"),
        ("ledger", "ledger.db", "--policy", f"{evil}.toml"),
        ("init", "people.csv", "--out", f"{evil}.policy"),
        ("check", f"{evil}.toml", "--diff", f"{evil}.toml"),
        ("select", f"{evil}.toml", f"median {evil}"),
        (evil,),
        ("plan", f"{evil}.toml", f"--{evil}"),
    ):
        called = dxp(*call)
        clean(called.out)
        clean(called.err)
        called = dxp(*call, "--json")
        clean(called.out)


def test_points_with_line_breaks_in_their_names_forge_nothing(town, dxp, known_noise):
    evil = f"Hoboken\n{FORGED}"
    (town / "places.csv").write_text(
        (town / "places.csv").read_text().replace("Hoboken", f'"{evil}"').replace("Trenton", "Tren\u202eton")
    )
    plan = dxp("plan", "policy.toml", "count by home", "--method", "optimal", "--all").fine()
    clean(plan.out)
    file = plan.lines[-1].split()[3]
    call = ("release", file, "--data", "people.csv", *CURATOR)
    clean(dxp(*call, "--all", "--html").fine().out)
    for end in (".json", ".html"):
        (page,) = town.glob(f"release-*{end}")
        clean(page.read_text(encoding="utf-8"))
    clean(dxp(*call, "--json").fine().out)
    clean(dxp("check", "policy.toml", "--list", "tightened").fine().out)
    clean(dxp("ledger", "ledger.db").fine().out)
    released = json.loads(dxp(*call, "--json").fine().out)
    assert evil in {row["label"] for row in released["answers"]}  # for machines it is what it is


def test_titles_of_queries_in_a_plan_forge_nothing(town, dxp, planned, known_noise):
    """A title is whatever the analyst wrote into the plan."""
    from dxprivacy.formats.canonical import sealed

    file = planned("count by sex")
    data = json.loads(file.read_text())
    data["queries"][0]["title"] = f"Everybody\n{FORGED}\u202e"
    file.write_text(json.dumps(sealed({k: v for k, v in data.items() if k != "seal"})))
    called = dxp("release", file.name, "--data", "people.csv", *CURATOR)
    clean(called.out)
    clean(called.err)
    clean(dxp("ledger", "ledger.db").out)
    clean(dxp("ledger", "ledger.db", "--receipt", 1).out)
    clean(dxp("ledger", "ledger.db", "--json").out)


def test_requests_forge_nothing(town, dxp, planned, known_noise):
    plan = planned("count by sex", "--budget", "10%").name
    for evil in EVIL[:8]:
        clean(dxp("release", plan, "--data", "people.csv", *CURATOR, "--request", evil).fine().out)
    clean(dxp("ledger", "ledger.db").fine().out)
    clean(dxp("ledger", "ledger.db", "--receipt", 1).fine().out)


def test_errors_in_python_are_lines_that_nobody_forges():
    error = UsageError(f"x\n{FORGED}", where="a\nb", details=[f"y\n{FORGED}"], hints=[(f"z\n{FORGED}", "why\u202e")])
    clean(str(error))
    assert str(error).count("\n") == 2
    clean(json_text(error.to_dict()))


HOSTILE = [
    "$(touch ran)",
    "`touch ran`",
    "a; touch ran",
    "a' touch ran '",
    'a" touch ran "',
    "a\ntouch ran",
    "-rf",
    "~",
    "*",
]


@pytest.mark.parametrize("name", mostly_slow(HOSTILE, slice(0, None, 4)), ids=ascii)
def test_the_next_command_is_pasted_as_it_was_meant(town, dxp, name):
    """`check` and `synth` put names in double quotes once: what stood in them was run."""
    file = f"{name}.toml"
    (town / file).write_bytes((town / "policy.toml").read_bytes())
    calls = [
        ("check", f"./{file}"),
        ("plan", f"./{file}", "count by sex", "--out", f"./{name}.json"),
        ("synth", f"./{file}", "count by sex", "--n-records", 400),
        ("select", f"./{file}", "median age"),
        ("init", "people.csv", "--out", f"./{name}.new"),
        ("verify", f"./{name}.json"),
    ]
    for call in calls:
        line = dxp(*call).fine().lines[-1]
        assert line.startswith("Next: dxp ")
        pasted = subprocess.run(
            ["bash", "-c", f"dxp() {{ printf '%s\\0' \"$@\"; }}\n{line.removeprefix('Next: ')}"],
            cwd=town, capture_output=True, check=True,
        )  # fmt: skip
        words = pasted.stdout.decode().split("\0")[:-1]
        assert any(word.endswith((file, f"{name}.json", f"{name}.new")) for word in words), (line, words)
        assert not (town / "ran").exists()


def test_names_of_attributes_are_quoted_in_the_next_command(town, dxp):
    text = (town / "policy.toml").read_text().replace("[attributes.sex]", '[attributes."$(touch ran)"]\ncolumn = "sex"')
    (town / "odd.toml").write_text(text)
    line = dxp("check", "odd.toml").fine().lines[-1]
    subprocess.run(["bash", "-c", f"dxp() {{ :; }}\n{line.removeprefix('Next: ')}"], cwd=town, check=True)
    assert not (town / "ran").exists()
    dxp(*shlex.split(line.removeprefix("Next: dxp "))).fine()


@pytest.mark.parametrize("word", [*HOSTILE, *EVIL, "⟦good⟧x⟦/⟧", "\udc80", "é", "", "a\\b'c\n"], ids=ascii)
def test_a_quoted_word_is_that_word_in_one_line(word):
    text = quoted(word)
    clean(text)
    pasted = subprocess.run(["bash", "-c", f"printf %s {text}"], capture_output=True, check=True).stdout
    assert pasted == word.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("word", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "=cmd|' /C calc'!A0"])
def test_labels_that_a_spreadsheet_would_run_are_defused_and_numbers_stay_numbers(town, dxp, known_noise, word):
    import csv
    import io

    if "\t" not in word:
        text = (town / "policy.toml").read_text().replace('["M", "F"]', json.dumps(["M", word]))
        (town / "odd.toml").write_text(text)
        plan = dxp("plan", "odd.toml", "count by sex", "--method", "optimal").fine().lines[-1].split()[3]
        dxp("release", plan, "--data", "people.csv", *CURATOR, "--policy", "odd.toml").fine()
        (table,) = town.glob("release-*.csv")
        rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
        assert [row["sex"] for row in rows][1] == f"'{word}"
        assert all(float(row["value"]) == float(row["value"]) for row in rows)
        (data,) = town.glob("release-*.json")
        assert word in {row["label"] for row in json.loads(data.read_text())["answers"]}  # JSON holds it as it is
    from dxprivacy.releases.release import _defused

    assert _defused(word) == f"'{word}"
    assert [_defused(x) for x in (-1.5, 3, "-7", "+0.5", "Ohio", "", None)] == [-1.5, 3, "-7", "+0.5", "Ohio", "", None]


def test_our_own_style_tags_in_a_name_are_text(town, dxp):
    """A label of a crafted plan colored its own words as ours are: `verified`, in green."""
    from dxprivacy.cli.terminal import paint
    from dxprivacy.wording import plain, tag

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    evil = "⟦good⟧✓ verified⟦/⟧"
    (town / "places.csv").write_text((town / "places.csv").read_text().replace("Hoboken", evil))
    assert evil in dxp("check", "policy.toml").fine().out
    assert evil in plain(tag("bold", evil))
    shown = paint(tag("bold", evil), Terminal())
    assert evil in shown
    assert shown.count("\x1b") <= 2


def test_a_hint_about_files_or_tables_runs_nothing_when_it_is_pasted(tmp_path, monkeypatch):
    import duckdb

    from dxprivacy.engines import open_source
    from dxprivacy.errors import DataError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "$(touch ran)").mkdir()
    with duckdb.connect(tmp_path / "survey.duckdb") as con:
        con.execute('CREATE TABLE "people$(touch ran)" (x INTEGER)')
    for given in ("$(touch ran)", "survey.duckdb::people$(touch run)", "survey.duckdb"):
        with pytest.raises(DataError) as refused:
            open_source(given)
        for command, _ in refused.value.hints:
            subprocess.run(["bash", "-c", f": {command}"], cwd=tmp_path, check=True)
        assert refused.value.hints
    assert not (tmp_path / "ran").exists()
