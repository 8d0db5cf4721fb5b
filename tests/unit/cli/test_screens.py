"""What commands show stays the same to the letter.

`python -m test_screens` (in this folder, with tests/ on the path) writes what they show now, for a change that is
meant: look at the difference before it is committed.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from trust.forge import run

SCREENS = Path(__file__).parents[2] / "data" / "screens"
ASKED = ("count by sex, age/5 within 40", "mean income by sex", "count where income=0..40", "mean elevation by state")
BOTH = ("count by job", "count by old")
SIMPLE = ("--method", "same-scale")  # whose scales are fractions: the same on every machine


CALLS = {
    **{f"check-{name}": ("check", f"{name}.toml") for name in ("survey", "clinic", "small")},
    "check-json": ("check", "survey.toml", "--json"),
    "check-diff": ("check", "survey.toml", "--diff", "looser.toml"),
    "plan-screen": ("plan", "survey.toml", *ASKED, "--n-records", "300", *SIMPLE),
    "plan-budget": ("plan", "survey.toml", *ASKED, "--n-records", "300", "--budget", "50%", *SIMPLE),
    "plan-json": ("plan", "survey.toml", *ASKED, "--n-records", "300", *SIMPLE, "--json"),
    "plan-clinic": ("plan", "clinic.toml", "count", "mean pain.total", "count by sex", "--budget", "20%", *SIMPLE),
    "select-plan": ("select", "survey.toml", "median age", "--n-records", "300"),
    "synth-plan": ("synth", "small.toml", *BOTH, "--n-records", "80", "--method", "smalldb", "--budget", "30%"),
}  # fmt: skip
PAGES = {
    "check-survey-2026.html": ("check", "survey.toml", "--html"),
    "plan-a540.html": ("plan", "survey.toml", *ASKED, "--n-records", "300", *SIMPLE, "--html"),
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
    """A folder with the policies and their data."""
    shutil.copytree(SCREENS, folder, ignore=shutil.ignore_patterns("*.txt", "*.html"))
    looser = (folder / "survey.toml").read_text().replace("epsilon = 0.5\nper = 2", "epsilon = 0.7\nper = 2")
    (folder / "looser.toml").write_text(looser)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = prepared(tmp_path / "made")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.setenv("COLUMNS", "100")
    return folder


@pytest.mark.parametrize("name", CALLS)
def test_a_screen_is_the_same_to_the_letter(folder, name):
    assert shown(CALLS[name], folder) == rounded((SCREENS / f"{name}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_the_same_to_the_letter(folder, name):
    assert shown(PAGES[name], folder).startswith("exit 0")
    page = without_pictures((folder / name).read_text(encoding="utf-8"))
    assert page == (SCREENS / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    with tempfile.TemporaryDirectory() as place:
        for name, call in {**CALLS, **PAGES}.items():
            there = prepared(Path(place) / "made")
            os.chdir(there)
            text = shown(call, there)
            if name in PAGES:
                text = without_pictures((there / name).read_text(encoding="utf-8"))
            (SCREENS / (name if name in PAGES else f"{name}.txt")).write_text(text, encoding="utf-8")
            os.chdir(place)
            shutil.rmtree(there)
    sys.exit(0)
