"""Examples that have a page: every command of it runs, and so do their programs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from contracts.long_forms import mostly_slow
from dxprivacy.cli import dxp

ROOT = Path(__file__).parents[2]
PEOPLE = ("flights", "health", "spreadsheet")


def commands(name: str) -> list[list[str]]:
    page = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)
    return [shlex.split(line) for line in block.strip().splitlines()]


def run(words: list[str], folder: Path) -> str:
    program = {"python": [sys.executable], "dxp": [str(Path(sys.executable).with_name("dxp"))]}[words[0]]
    env = os.environ | {"NO_COLOR": "1", "COLUMNS": "200"}
    done = subprocess.run([*program, *words[1:]], cwd=folder, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [*PEOPLE, "places"])
def test_every_command_of_an_example_is_understood(name, monkeypatch):
    """The short form of the tests below: commands and their options exist."""
    monkeypatch.chdir(ROOT / "examples" / name)
    for program, *words in commands(name):
        if program == "python":
            assert Path(words[0]).is_file()
            continue
        with click.Context(dxp) as context:
            command = dxp.get_command(context, words[0])
            assert command is not None
            command.make_context(words[0], words[1:], parent=context)


@pytest.mark.slow
@pytest.mark.parametrize("name", PEOPLE)
def test_every_command_of_an_example_runs(name, tmp_path):
    folder = tmp_path / name
    shutil.copytree(ROOT / "examples" / name, folder)
    said = {tuple(words[:2]): run(words, folder) for words in commands(name)}
    assert "one person replaced, with all their rows" in said["dxp", "check"]
    assert "people (public, one of them for all rows without a key); how many rows is private" in said["dxp", "release"]
    assert list(folder.glob("release-*.csv"))


@pytest.mark.parametrize("name", mostly_slow(PEOPLE, ["spreadsheet"]))
def test_the_program_of_an_example_says_what_is_protected(name, tmp_path):
    said = run(["python", str(ROOT / "examples" / name / "run.py")], tmp_path)
    assert "What is protected:" in said
    assert "for a whole person" in said


@pytest.mark.slow
def test_maps_of_places(tmp_path):
    folder = tmp_path / "places"
    shutil.copytree(ROOT / "examples" / "places", folder)
    said = {tuple(words[:2]): run(words, folder) for words in commands("places")}
    assert "density home width 10 every 10, all 1600" in said["dxp", "plan"]
    assert list(folder.glob("release-*.html"))
    told = run(["python", str(folder / "run.py"), "--write", "drawn"], folder)
    assert float(re.findall(r"with the true counts: ([0-9.]+)", told)[0]) >= 0.88  # 0.91, with fresh noise
    assert "count by state blur 40 km" in told
    assert {path.name for path in (folder / "drawn").iterdir()} >= {"homes.png", "residents.png", "residents.geojson"}
