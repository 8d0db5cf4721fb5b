"""Two small surveys with every common kind of query, released for real; their plans, releases and ledgers as files.

In the first the number of records is public; in the second records may be added and removed.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import dxprivacy as dx

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
QUERIES = [
    "count by sex within 40",
    "sum age by sex where home=Hoboken|Albany",
    "mean elevation by state",
    "mean age",
    "prefixes age/3",
    "count",
    "count by age[0,3,5] where state='New York' and sex=F",
]
PEOPLE = "sex,age,home\n" + "".join(f"{'MF'[k % 2]},{k % 6},{1 + k % 3}\n" for k in range(200))

CLINIC = """
title = "Clinic"
dataset = "verify-2"
neighbors = "add-remove"
epsilon_presence = 0.5
max_records = 1000
[attributes.sex]
values = ["M", "F"]
epsilon = { M = 1.0, F = 0.5 }
between = "sum"
[attributes.visit]
dates = ["2026-01-30", "2026-02-03"]
epsilon = 0.5
per = "7 days"
[attributes.cost]
numbers = [0, 3000]
step = 1000
unit = "€"
outside = "clamp"
epsilon = 1.0
per = 1000
[attributes.pain]
columns = ["before", "after"]
integers = [0, 1]
epsilon = 1.0
per = 1
"""
ASKED = [
    "count",
    "mean cost",
    "count by visit/month, sex weight 2",
    replace(dx.count(visit=("2026-01-31", "2026-02-01")), title="Around the end of January"),
    "sum pain.total by sex",
    "prefixes cost/1000",
]
PATIENTS = "sex,visit,cost,before,after\n" + "".join(
    f"{'MF?'[k % 3]},2026-02-0{1 + k % 3},{900 * (k % 5)},{k % 2},{k // 2 % 2}\n" for k in range(150)
)


@dataclass(frozen=True)
class Files:
    """Where everything lies."""

    folder: Path
    plan: Path
    release: Path
    ledger: Path

    def read(self, kind: str) -> dict:
        return json.loads(getattr(self, kind).read_text(encoding="utf-8"))


def write_files(folder: Path, policy: str, people: str, before: str, queries: list, after: str) -> Files:
    """A policy, data, three releases, and the plan and release of the one in the middle."""
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    (folder / "places.csv").write_text(PLACES)
    (folder / "people.csv").write_text(people)
    with dx.Session(
        folder / "policy.toml", folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True
    ) as session:
        session.release(session.plan(before, budget="25%"), anyway=True)
        plan = session.plan(*queries, budget="50%")
        release = session.release(plan, anyway=True)
        session.release(session.plan(after, budget="10%"), anyway=True)
    plan.save(folder / "plan.json")
    release.save(folder / "release.json")
    return Files(folder, folder / "plan.json", folder / "release.json", folder / "ledger.db")


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Files:
    folder = tmp_path_factory.mktemp("verify")
    return write_files(folder, POLICY, PEOPLE, "count by state, sex", QUERIES, "count where age=3..5")


@pytest.fixture(scope="session")
def clinic(tmp_path_factory) -> Files:
    folder = tmp_path_factory.mktemp("clinic")
    return write_files(folder, CLINIC, PATIENTS, "count by sex", ASKED, "count where pain='1, 0'")
