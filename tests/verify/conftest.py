"""One small survey with every common kind of question, released for real; its plan, release and ledger as files."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import dxprivacy as dx
from dxprivacy.session import write_plan

POLICY = """
title = "Überblick"
dataset = "verify-1"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.age]
integers = [0, 5]
unit = "years"
epsilon = 0.5
per = 2
[attributes.home]
points = "places.csv"
units = { elevation = "m" }
epsilon = 1.0
per = "100 km"
"""
PLACES = """id,name,state,latitude,longitude,elevation
1,Hoboken,New Jersey,40.74399,-74.03236,9
2,New York,New York,40.71427,-74.00597,10
3,Albany,New York,42.65258,-73.75623,45
"""
QUESTIONS = [
    "count by sex within 40",
    "sum age by sex where home=Hoboken|Albany",
    "mean elevation by state",
    "mean age",
    "prefixes age/3",
    "count",
    "count by age[0,3,5] where state='New York' and sex=F",
]


@dataclass(frozen=True)
class Files:
    """Where everything lies."""

    folder: Path
    plan: Path
    release: Path
    ledger: Path

    def read(self, kind: str) -> dict:
        return json.loads(getattr(self, kind).read_text(encoding="utf-8"))


def write_files(folder: Path) -> Files:
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    (folder / "places.csv").write_text(PLACES)
    rows = [f"{'MF'[k % 2]},{k % 6},{1 + k % 3}" for k in range(200)]
    (folder / "people.csv").write_text("sex,age,home\n" + "\n".join(rows) + "\n")
    with dx.Session(folder / "policy.toml", folder / "people.csv", ledger=folder / "ledger.db") as session:
        session.release(session.plan("count by state, sex", share="25%"))
        plan = session.plan(*QUESTIONS, share="50%")
        release = session.release(plan)
        session.release(session.plan("count where age=3..5", share="10%"))
    write_plan(plan, folder / "plan.json", folder / "policy.toml")
    release.save(folder / "release.json")
    return Files(folder, folder / "plan.json", folder / "release.json", folder / "ledger.db")


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Files:
    return write_files(tmp_path_factory.mktemp("verify"))
