"""Files of every kind that 0.2.0.dev0 wrote are read, verified and repeated; its screens stay the same to the letter.

`python -m trust.test_files_of_0_2_0_dev` (with tests/ on the path) writes what the screens show now, for a change that
is meant: look at the difference before it is committed.
"""

import csv
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

import dxprivacy as dx
from dxprivacy.ledger import Ledger
from trust.forge import run

MADE = Path(__file__).parents[1] / "data" / "v0_2_0_dev"
SCREENS = MADE / "screens"
RELEASES = {"own": "11ce", "matrix": "2018", "auto": "f524", "biased": "cc15", "clinic": "5775"}
SURVEY = ("--data", "survey.csv", "--ledger", "survey.db")
SMALL = ("--data", "small.csv", "--ledger", "small.db")
ASKED = ("count by sex, age/5 within 40", "mean income by sex", "count where income=0..40", "mean elevation by state")
BOTH = ("count by job", "count by old")
SIMPLE = ("--method", "same-scale")  # whose scales are fractions: the same on every machine


def _policy(name):
    return "clinic" if name == "clinic" else "survey"


def _repeat(name):
    of = _policy(name)
    given = ("--data", f"{of}.csv", "--policy", f"{of}.toml", "--ledger", f"{of}.db")
    return ("release", f"plan-{name}.json", *given, "--out", "again")


CALLS = {
    **{f"check-{name}": ("check", f"{name}.toml") for name in ("survey", "clinic", "small")},
    "check-json": ("check", "survey.toml", "--json"),
    "check-diff": ("check", "survey.toml", "--diff", "looser.toml"),
    "plan-screen": ("plan", "survey.toml", *ASKED, "--rows", "300", *SIMPLE),
    "plan-share": ("plan", "survey.toml", *ASKED, "--rows", "300", "--share", "50%", *SIMPLE),
    "plan-json": ("plan", "survey.toml", *ASKED, "--rows", "300", *SIMPLE, "--json"),
    "plan-clinic": ("plan", "clinic.toml", "count", "mean pain.total", "count by sex", "--share", "20%", *SIMPLE),
    "choose-plan": ("choose", "survey.toml", "median age", "--rows", "300"),
    "synth-plan": ("synth", "small.toml", *BOTH, "--rows", "80", "--method", "smalldb", "--share", "30%"),
    **{f"repeat-{name}": _repeat(name) for name in RELEASES},
    "repeat-json": (*_repeat("own"), "--json"),
    "repeat-home": ("choose", "survey.toml", "most common home", *SURVEY, "--out", "again"),
    "repeat-median": ("choose", "survey.toml", "median age", "--flip", "--share", "5%", *SURVEY, "--out", "again"),
    "repeat-bins": ("choose", "survey.toml", "3 bins of age", "--share", "5%", *SURVEY, "--out", "again"),
    **{f"ledger-{n}": ("ledger", f"{n}.db", "--policy", f"{n}.toml") for n in ("survey", "clinic", "small")},
    "ledger-all": ("ledger", "small.db", "--all"),
    "ledger-json": ("ledger", "survey.db", "--json"),
    "ledger-between": ("ledger", "survey.db", "--between", "age=1", "age=4"),
    "ledger-receipt": ("ledger", "survey.db", "--receipt", "1"),
    **{f"verify-plan-{name}": ("verify", f"plan-{name}.json") for name in RELEASES},
    **{
        f"verify-release-{name}": ("verify", f"releases/release-{at}.json", "--ledger", f"{_policy(name)}.db")
        for name, at in RELEASES.items()
    },
}  # fmt: skip
PAGES = {
    "check-survey-2026.html": ("check", "survey.toml", "--html"),
    "plan-e7db.html": ("plan", "survey.toml", *ASKED, "--rows", "300", *SIMPLE, "--html"),
    "ledger-survey-2026.html": ("ledger", "survey.db", "--html"),
}


SYNTHESES = {
    "mwem": ("synth", "small.toml", *BOTH, "--method", "mwem", "--rounds", "2", "--share", "40%", *SMALL),
    "smalldb": ("synth", "small.toml", *BOTH, "--method", "smalldb", "--share", "30%", *SMALL),
}


def shown(call, folder):
    """What a command says, without the folder it ran in."""
    done = run([str(word) for word in call])
    return rounded(f"exit {done['returncode']}\n{done['stdout']}{done['stderr']}".replace(str(folder), "FOLDER"))


def rounded(text):
    """The last digits of floats depend on the machine, and on how narrow bounds are; and so do seals of new plans."""
    text = re.sub(r'"seal": "[0-9a-f]{64}"', '"seal": "…"', re.sub(r"[ \t]+\n", "\n", text))
    return re.sub(r"\d+\.\d{9,}(e-?\d+)?", lambda found: f"{float(found[0]):.9g}", text)


def without_pictures(page):
    """Pictures depend on the fonts that there are."""
    return re.sub(r"<svg.*?</svg>", "<svg/>", page, flags=re.DOTALL)


def prepared(folder):
    """A folder as that version left it."""
    shutil.copytree(MADE, folder, ignore=shutil.ignore_patterns("screens"))
    looser = (folder / "survey.toml").read_text().replace("epsilon = 0.5\nper = 2", "epsilon = 0.7\nper = 2")
    (folder / "looser.toml").write_text(looser)
    return folder


@pytest.fixture
def old(tmp_path, monkeypatch):
    folder = prepared(tmp_path / "old")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.setenv("COLUMNS", "100")
    return folder


@pytest.mark.parametrize("name", CALLS)
def test_a_screen_is_the_same_to_the_letter(old, name):
    assert shown(CALLS[name], old) == rounded((SCREENS / f"{name}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_the_same_to_the_letter(old, name):
    assert shown(PAGES[name], old).startswith("exit 0")
    page = without_pictures((old / name).read_text(encoding="utf-8"))
    assert page == (SCREENS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_repeated_at_no_cost_with_the_same_file(old, name):
    assert run(list(_repeat(name)))["returncode"] == 0
    again, before = (old / at / f"release-{RELEASES[name]}.json" for at in ("again", "releases"))
    assert json.loads(again.read_text()) == json.loads(before.read_text())
    assert _numbers(again.with_suffix(".csv")) == _numbers(before.with_suffix(".csv"))


def _numbers(table):
    """What a table says, however its columns are ordered, labels apart: columns have another order now."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = ("value", "low", "high")
    return [{k: float(v) if k in numbers else v for k, v in sorted(row.items()) if k != "label"} for row in rows]


@pytest.mark.parametrize("name", SYNTHESES)
def test_synthetic_records_are_made_again_from_the_ledger(old, name):
    done = run([*SYNTHESES[name], "--out", "again.csv"])
    assert done["returncode"] == 0, done["stderr"]
    assert "repeated" in done["stdout"]
    again, before = (json.loads((old / f"{stem}-report.json").read_text()) for stem in ("again", name))
    for report in (again, before):  # of pairs that are equally tight, another may be named than was then
        report["plan"].get("certificate", {}).pop("witness", None)
    for kept in ("format", "name", "method", "policy", "ledger", "plan", "software"):
        assert again[kept] == before[kept]
    assert again.get("measurements") == before.get("measurements")
    if name == "smalldb":  # whole numbers all the way
        assert (old / "again.csv").read_text() == (old / "smalldb.csv").read_text()


def test_the_release_behind_fitted_records_is_verified(old):
    assert run(["verify", "release-888a.json", "--ledger", "small.db"])["returncode"] == 0


@pytest.mark.parametrize("name", ["survey", "clinic", "small"])
def test_a_ledger_is_sound_and_pays_for_more(old, name):
    policy = dx.Policy.load(old / f"{name}.toml")
    with Ledger.open(old / f"{name}.db", policy) as ledger:
        entries = ledger.verify()
        assert entries > 2
    with dx.Session(policy, old / f"{name}.csv", ledger=old / f"{name}.db", new_ledger=True) as session:
        before = len(session.ledger.entries())
        session.release(session.plan("count by sex" if name != "small" else "count by job", share="1%"), anyway=True)
        assert len(session.ledger.entries()) == before + 1


if __name__ == "__main__":
    SCREENS.mkdir(exist_ok=True)
    os.environ["COLUMNS"] = "100"
    with tempfile.TemporaryDirectory() as place:
        for name, call in {**CALLS, **PAGES}.items():
            there = prepared(Path(place) / "old")
            os.chdir(there)
            text = shown(call, there)
            if name in PAGES:
                text = without_pictures((there / name).read_text(encoding="utf-8"))
            (SCREENS / (name if name in PAGES else f"{name}.txt")).write_text(text, encoding="utf-8")
            os.chdir(place)
            shutil.rmtree(there)
    sys.exit(0)
