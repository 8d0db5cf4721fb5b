"""A small town to run `dxp` on, and a way to call it in this process: the interpreter starts only once."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from contracts.nest_cases import foreseen
from dxprivacy.cli import main

POLICY = """
title = "A small town"
dataset = "town-1"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.age]
integers = [0, 9]
unit = "years"
epsilon = 0.5
per = 1
[attributes.home]
points = "places.csv"
epsilon = 1.0
per = "100 km"
units = { elevation = "m" }
"""
PLACES = """id,name,state,latitude,longitude,elevation
1,Hoboken,New Jersey,40.74399,-74.03236,9
2,New York City,New York,40.71427,-74.00597,10
3,Albany,New York,42.65258,-73.75623,45
4,Trenton,New Jersey,40.21705,-74.74294,15
"""
PEOPLE = "sex,age,home,note\n" + "".join(f"{'MF'[k % 2]},{k % 10},{k % 4 + 1},Planted-Person-{k}\n" for k in range(400))


@dataclass(frozen=True)
class Called:
    """What a call said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self):
        return self.out.splitlines()

    def fine(self):
        signs = ("planning …", "comparing …")  # of life, where the machine is busy
        told = [line for line in self.err.splitlines() if not line.startswith("! new ledger") and line not in signs]
        assert (self.code, told) == (0, []), self.err
        return self


class OffsetNoise:
    """Noise that is known and never 0: what it covers can be told from what it lets through."""

    step = 0  # from one row to the next

    def __init__(self, offset=977):
        self.offset = offset

    def laplace(self, scales):
        return np.where(scales > 0, self.offset + self.step * np.arange(len(scales)), 0).astype(np.int64)

    def together(self, family):
        return foreseen(family, self.offset, self.step)


@pytest.fixture
def town(tmp_path, monkeypatch):
    """A folder with a policy, its places and a CSV of people; we are in it."""
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "places.csv").write_text(PLACES, encoding="utf-8")
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def known_noise(monkeypatch):
    monkeypatch.setattr("dxprivacy.session.session.SystemNoise", OffsetNoise)
    return OffsetNoise()


@pytest.fixture
def dxp(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dxp", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return Called(left.value.code or 0, out, err)

    return call


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """One demo for all, in a process of its own as a user runs it: its folder, and what it said."""
    folder = tmp_path_factory.mktemp("tour")
    command = [Path(sys.executable).parent / "dxp", "demo", "--write", "my demo"]
    run = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
    assert (run.returncode, run.stderr) == (0, "")
    return folder, run.stdout


@pytest.fixture
def planned(town, dxp):
    """Plan queries, and give the plan's file."""

    def make(*queries):
        called = dxp("plan", "policy.toml", "--budget", "100%", *queries, "--method", "optimal").fine()
        return town / called.lines[-1].split()[3]

    return make
