"""Plan files that nobody planned: refused at once and in little memory, before anything is spent."""

import json
import tracemalloc

import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError
from dxprivacy.formats.canonical import sealed
from dxprivacy.mechanisms.linear import plan as plans

POLICY = """
title = "Crafted"
dataset = "crafted"
[attributes.town]
values = ["Ahaus", "Bonn", "Celle"]
epsilon = 1
"""


@pytest.fixture
def session(tmp_path):
    (tmp_path / "people.csv").write_text("town\nAhaus\nBonn\n" * 5)
    with dx.Session(
        dx.Policy.parse(POLICY), tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as opened:
        yield opened


@pytest.fixture
def crafted(session, tmp_path):
    """Loads and releases a plan file that was changed by somebody who knows how seals are made."""

    def release(change, asked=None):
        data = session.plan(asked or dx.matrix([[1, 0, 1, 0]]), budget="10%", method="same-scale").to_dict()
        data.pop("seal")
        change(data)
        (tmp_path / "plan.json").write_text(json.dumps(sealed(data)))
        return session.release(session.load_plan(tmp_path / "plan.json"))

    return release


def set_in_query(key, value):
    return lambda data: data["queries"][0].update({key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("factor", str(10**306)),
        ("factor", "9" * 300),
        ("factor", "0"),
        ("factor", "-1"),
        ("factor", f"1/{10**160}"),
        ("bias", "9" * 400),
        ("bias", "-1"),
        ("bias", "1e5"),
    ],
)
def test_a_factor_or_bias_that_no_plan_has_is_refused_before_anything_is_spent(session, crafted, key, value):
    with pytest.raises(DxError, match="damaged"):
        crafted(set_in_query(key, value))
    assert session.ledger.entries() == []


@pytest.mark.parametrize("budget", ["1e-400000000", "0.5", " 1/2", "1_0/20", 0.1])
def test_a_share_is_read_as_a_fraction_and_as_nothing_else(session, crafted, budget):
    with pytest.raises(DxError, match="damaged"):
        crafted(lambda data: data.update(budget=budget))
    assert session.ledger.entries() == []


EMPTY = {"rows": [], "columns": [], "entries": [], "factor": "1", "bias": "0", "labels": []}
STEPS = {"ask": "steps", "of": "town", "rows": [], "values": [], "jumps": [], "factor": "1"}
SHAPES = {
    "asked": lambda data: data.update(queries=[{"ask": "matrix", "shape": [100_000_000, 4], **EMPTY}]),
    "counted": lambda data: data.update(
        measured={"how": "least squares", "queries": [{"ask": "matrix", "shape": [100_000_000, 4], **EMPTY}]}
    ),
    "steps": lambda data: data.update(
        measured={"how": "least squares", "queries": [{**STEPS, "shape": [50_000_000, 1]}]}
    ),
    "a row of many": lambda data: data.update(
        queries=[{"ask": "row", "row": 0, "of": {"ask": "matrix", "shape": [100_000_000, 4], **EMPTY}}]
    ),
}


@pytest.mark.parametrize("change", SHAPES.values(), ids=SHAPES)
def test_rows_that_exist_in_a_shape_alone_take_no_memory(crafted, change):
    tracemalloc.start()
    with pytest.raises(DxError, match="damaged"):
        crafted(change)
    assert tracemalloc.get_traced_memory()[1] < 200_000_000
    tracemalloc.stop()


def test_a_plan_of_too_many_queries_is_refused_by_their_number(session, crafted, monkeypatch):
    with pytest.raises(DxError, match="10,001 queries; it can hold 10,000"):
        crafted(lambda data: data.update(queries=data["queries"] * 10_001))
    monkeypatch.setattr(plans, "MOST_QUERIES", 2)
    assert session.plan("count", "count by town", budget="10%")
    with pytest.raises(DxError, match="3 queries; it can hold 2"):
        session.plan("count", "count by town", "count where town=Bonn", budget="10%")


def test_counts_far_beyond_all_are_rehearsed_before_anything_is_spent(session, monkeypatch):
    """What fails for some noise only would fail after the cost was reserved."""
    plan = session.plan("count by town", budget="10%", method="same-scale")
    real, seen = type(plan).interval, []

    def interval(self, answer, rows, records):
        seen.append(rows[answer.rows[0]])
        if abs(rows[answer.rows[0]]) > 50 * max(plan.scales):
            raise OverflowError
        return real(self, answer, rows, records)

    monkeypatch.setattr(type(plan), "interval", interval)
    with pytest.raises(OverflowError):
        session.release(plan, anyway=True)
    assert session.ledger.entries() == []
    monkeypatch.undo()
    assert session.release(plan, anyway=True)


def test_a_fraction_in_a_ledger_or_a_metric_has_no_exponent():
    from dxprivacy.metrics.stored_metrics import metric_from_spec
    from dxprivacy.universe.universe import Universe

    universe = Universe.listed("ab")
    for spec in ({"kind": "constant", "epsilon": "1e400000000"}, {"kind": "line", "range": [0, 1], "per_unit": "1e9"}):
        with pytest.raises(DxError, match="damaged"):
            metric_from_spec(spec, universe)
