"""Each example of the paper's introduction, Example 1, Blowfish section and Discussion: checked, planned and released.

Besides, every pair of its policy is compared with the formula in the paper, in its corrected form.
"""

import csv
import importlib.util
import itertools
import math
from datetime import date
from fractions import Fraction as F
from pathlib import Path

import pytest

import dxprivacy as dx

FOLDER = Path(__file__).parents[2] / "examples" / "paper"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/policy.toml"))


def load(name):
    return dx.Policy.load(FOLDER / name / "policy.toml")


def simulate(policy, target):
    spec = importlib.util.spec_from_file_location("simulate", FOLDER / "simulate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.simulate(policy, target, 500)


def test_every_example_of_the_paper_has_its_folder():
    assert NAMES == [
        "blowfish",
        "example-1",
        "features",
        "generalization",
        "heterogeneous",
        "individuals",
        "location",
        "secrets",
        "smooth",
        "social-network",
        "time-series",
        "unbounded",
    ]
    listed = (FOLDER / "README.md").read_text()
    assert all(f"`{name}`" in listed for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_checked_planned_and_released(name, tmp_path):
    policy = load(name)
    page = str(policy.check())
    assert page.startswith("✓ valid")
    data = tmp_path / "people.csv"
    simulate(policy, data)
    queries = dx.load_queries(FOLDER / name / "queries.toml")
    with dx.Session(policy, data, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        plan = session.plan(queries)
        assert plan.certificate.ratio <= 1
        release = session.release(plan, anyway=True)
        assert len(release.answers) == len(plan.workload.answers)
        assert all(r.low <= r.value <= r.high for r in release.answers)
        session.ledger.verify()
    assert release.records == (None if name == "unbounded" else 500)


def pairs(policy):
    """Pairs of possible records without `other`, as cells and as texts."""
    cells = [c for c in range(policy.universe.cells) if "other" not in policy.universe.record(c).values()]
    for i, j in itertools.combinations(cells, 2):
        yield policy.metric.exact(i, j), policy.universe.record(i), policy.universe.record(j)


def homes(name):
    with (FOLDER / name / "homes.csv").open() as file:
        return {row["id"]: (F(float(row["x"])), F(float(row["y"]))) for row in csv.DictReader(file)}


def close_to(value, square):
    """Whether a certified lower bound is that of a square root, to forty bits."""
    return value**2 <= square <= value**2 * (1 + F(1, 2**40))


def test_location_is_epsilon_times_euclidean_distance():
    at = homes("location")
    for d, a, b in pairs(load("location")):
        (x, y), (u, v) = at[a["home"]], at[b["home"]]
        assert close_to(d * 5, (x - u) ** 2 + (y - v) ** 2)


def test_features_add_their_epsilons_where_they_differ():
    epsilons = {"color": F("0.1"), "employed": F(1), "approved": F(3)}
    for d, a, b in pairs(load("features")):
        assert d == sum(e for feature, e in epsilons.items() if a[feature] != b[feature])


def test_example_1_adds_the_smaller_budget_of_two_values():
    budget = {"Y": F("0.1")}
    for d, a, b in pairs(load("example-1")):
        assert d == sum(min(budget.get(a[k], F(1)), budget.get(b[k], F(1))) for k in a if a[k] != b[k])


def test_heterogeneous_budgets_are_added_or_closed():
    both = {"citizen": F(2), "resident": F(2), "asylum": F("0.1")}
    closed = {frozenset(["none", "asthma"]): F("0.2")}
    for d, a, b in pairs(load("heterogeneous")):
        status = both[a["status"]] + both[b["status"]] if a["status"] != b["status"] else 0
        diagnoses = frozenset([a["diagnosis"], b["diagnosis"]])
        assert d == status + (closed.get(diagnoses, F("0.1")) if len(diagnoses) == 2 else 0)


def test_individuals_have_the_sum_of_their_budgets():
    own = {"ann": F("0.05"), "bob": F("0.5"), "cem": F("0.5"), "dee": F(1), "eve": F(1)}
    for d, a, b in pairs(load("individuals")):
        assert d == own[a["member"]] + own[b["member"]]


def test_blowfish_is_the_shortest_way_over_steps_within_the_threshold():
    """Printed, pairs beyond T are public; closed, they have the number of steps between them, at most over `other`."""
    at, policy = homes("blowfish"), load("blowfish")
    names = list(at)
    steps = {(a, b): F(0) if a == b else math.inf for a in names for b in names}
    for a, b in itertools.permutations(names, 2):
        if sum((p - q) ** 2 for p, q in zip(at[a], at[b], strict=True)) <= 16:
            steps[a, b] = F(1)
    for via, a, b in itertools.product(names, repeat=3):
        steps[a, b] = min(steps[a, b], steps[a, via] + steps[via, b])
    most = 2 * policy.metric.radius
    for d, a, b in pairs(policy):
        assert d == min(steps[a["home"], b["home"]], most)


def test_smooth_grows_in_proportion_beyond_the_threshold():
    at = homes("smooth")
    for d, a, b in pairs(load("smooth")):
        square = sum((p - q) ** 2 for p, q in zip(at[a["home"]], at[b["home"]], strict=True))
        assert d == 1 if square <= 16 else close_to(d * 4, square)


def test_generalized_dates_cost_epsilon_for_every_period():
    for d, a, b in itertools.islice(pairs(load("generalization")), 20_000):
        days = abs((date.fromisoformat(a["visit"]) - date.fromisoformat(b["visit"])).days)
        assert d == F(1, 2) * F(days, 7)


def test_time_series_are_as_far_apart_as_their_worst_hour():
    for d, a, b in itertools.islice(pairs(load("time-series")), 20_000):
        one, two = (list(map(int, x["power"].split(", "))) for x in (a, b))
        assert d == max(abs(u - v) for u, v in zip(one, two, strict=True))


def test_a_social_network_is_measured_along_its_tree():
    way = {("dee", "fay"): F("2.2"), ("ann", "bob"): F("0.1"), ("dee", "eve"): F(2), ("cem", "eve"): F("1.2")}
    found = {tuple(sorted((a["person"], b["person"]))): d for d, a, b in pairs(load("social-network"))}
    assert {pair: found[pair] for pair in way} == way


def test_secrets_are_closed_along_the_way():
    found = {tuple(sorted((a["rating"], b["rating"]))): d for d, a, b in pairs(load("secrets"))}
    assert found["1", "2"] == F(1, 2)
    assert found["1", "5"] == 1  # over “withdrawn”
