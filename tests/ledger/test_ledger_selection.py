"""Selections in the ledger: kept, read back, added up, refused; and runs of many steps on the screen."""

import itertools
import json
import re
import sqlite3
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.ledger import Entry, Ledger
from dxprivacy.ledger.ledger_budget import round_budget
from dxprivacy.ledger.receipt import receipt, receipt_lines
from dxprivacy.output.text.ledger_text import between_lines, ledger_lines, ledger_to_dict
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, RowsCost, SelectionCost, SumCost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.queries.strategy_rows import Picked, pick
from ledger.upgrade_cases import plain

ASKED = gather("count by sex", "count by age/3", "ranges age/3")


def people():
    policy = dx.Policy.parse(
        'dataset = "p"\ntitle = "P"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
        "[attributes.age]\nintegers = [0, 8]\nepsilon = 0.5\nper = 1\n"
    )
    return policy.metric


def run(ledger, d, steps, *, scale=64.0, name="synth-7f3a"):
    """As an adaptive mechanism does: choose a row, measure it, again and again; what that cost."""
    whole = ASKED.on(d.universe)
    spent: list[RowsCost] = []
    for k in range(steps):
        chosen = SelectionCost(whole, [scale] * whole.rows)
        row = pick(ASKED, (3 * k) % whole.rows, d.universe)
        measured = LaplaceCost(row.on(d.universe), [scale])
        for cost, asked, what in ((chosen, ASKED, "select"), (measured, Stack((row,)), "measure")):
            request = f"{name} {what} {k + 1}"
            assert isinstance(ledger.reserve(cost, asked, request=request), Entry)
            ledger.finish(request, json.dumps({"outcome": k}))
            spent.append(cost)
    return spent


def test_choices_are_read_back_exactly_and_kept_short(tmp_path):
    d = people()
    whole = ASKED.on(d.universe)
    costs = [
        SelectionCost(whole, [4.0] * whole.rows),
        SelectionCost(whole, 20.0 + np.arange(whole.rows)),
        SelectionCost(Picked(ASKED.queries[1], 2).on(d.universe), [9.5]),
    ]
    asked = [ASKED, ASKED, Stack((Picked(ASKED.queries[1], 2),))]
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for k, (cost, queries) in enumerate(zip(costs, asked, strict=True)):
            assert ledger.reserve(cost, queries, request=str(k)).number == k + 1
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for entry, cost in zip(ledger.entries(), costs, strict=True):
            assert isinstance(entry.cost, SelectionCost)
            assert entry.budget == round_budget(F(max_ratio(cost, d).upper))
            for i, j in itertools.combinations(range(d.universe.size), 2):
                assert entry.cost.exact(i, j) == cost.exact(i, j)
        assert ledger.entries()[0].title == "selection among count by sex + count by age/3 + ranges age/3"
        assert ledger.entries()[2].title == "selection among row 3 of count by age/3"
        ledger.verify()
    contents = [json.loads(text) for (text,) in _contents(tmp_path / "l.db")]
    assert [(len(c["scales"]), c.get("alike")) for c in contents] == [(1, True), (whole.rows, None), (1, True)]


def _contents(path):
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT content FROM journal WHERE kind = 'reserve' ORDER BY seq").fetchall()
    database.close()
    return found


def test_the_same_rows_and_scales_as_noise_are_another_body_and_another_cost(tmp_path):
    """A selection must never stand for noisy answers: these lose more."""
    d = people()
    workload = gather("count by sex").on(d.universe)
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        ledger.reserve(SelectionCost(workload, [4.0, 4.0]), gather("count by sex"), request="a")
        ledger.finish("a", "chosen")
        assert ledger.reserve(SelectionCost(workload, [4.0, 4.0]), gather("count by sex"), request="a") == "chosen"
        with pytest.raises(LedgerError, match="another plan"):
            ledger.reserve(LaplaceCost(workload, [4.0, 4.0]), gather("count by sex"), request="a")
        ledger.reserve(LaplaceCost(workload, [4.0, 4.0]), gather("count by sex"), request="b")
        budgets = [e.budget for e in ledger.entries()]
        assert budgets == [F(1, 4), F(1, 2)]


def test_choices_and_answers_fill_the_budget_together_pair_by_pair_and_no_further(tmp_path):
    d = people()
    by_sex, by_age = gather("count by sex"), gather("count by age/3")
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        ledger.reserve(SelectionCost(by_sex.on(d.universe), [2.0, 2.0]), by_sex, request="a")
        ledger.reserve(LaplaceCost(by_sex.on(d.universe), [4.0, 4.0]), by_sex, request="b")
        assert sum(e.budget for e in ledger.entries()) == 1
        with pytest.raises(BudgetExceeded, match="M – F has 0 left"):
            ledger.reserve(SelectionCost(by_sex.on(d.universe), [99.0, 99.0]), by_sex, request="c")
        ledger.reserve(SelectionCost(by_age.on(d.universe), [4.0] * 3), by_age, request="d")  # another pair
        told = ledger.between({"sex": "M"}, {"sex": "F"})
        assert (told.spent, told.left, told.entries) == (1.0, 0.0, (1, 2))
        assert ledger.most_exhausted(1)[0].fraction == pytest.approx(1.0)
        assert ledger.worst_case() == pytest.approx(1.25)


def test_a_cost_that_the_queries_do_not_describe_is_refused(tmp_path):
    d = people()
    row, other = (Picked(ASKED.queries[0], k) for k in range(2))
    cost = LaplaceCost(row.on(d.universe), [9.0])
    with (
        Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger,
        pytest.raises(LedgerError, match="do not describe"),
    ):
        ledger.reserve(cost, Stack((other,)), request="a")


class _Other(SelectionCost):
    """A loss of which the formats know nothing."""


def test_a_cost_of_another_kind_is_refused_before_anything_is_written(tmp_path):
    d = people()
    workload = gather("count by sex").on(d.universe)
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        with pytest.raises(LedgerError, match="cannot store"):
            ledger.reserve(_Other(workload, [1.0, 1.0]), gather("count by sex"), request="a")
        assert not ledger.entries()


@pytest.mark.parametrize(
    "edit",
    [
        {"alike": False},
        {"alike": 1},
        {"scales": []},
        {"scales": ["0x1p+2", "0x1p+2"]},
        {"kind": "laplace"},
        {"kind": "selections"},
        {"kind": ["selection"]},
    ],
    ids=str,
)
def test_a_damaged_entry_is_refused(tmp_path, edit):
    d = people()
    by_sex = gather("count by sex")
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        ledger.reserve(SelectionCost(by_sex.on(d.universe), [4.0, 4.0]), by_sex, request="a")
        good = json.loads(_contents(tmp_path / "l.db")[0][0])
        ledger._journal.reserve("b", "0" * 64, json.dumps({**good, **edit}), lambda rows: None)
        with pytest.raises(LedgerError, match="does not know"):
            ledger.entries()


def test_a_run_of_many_steps_is_one_line_and_every_step_on_request(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        by_sex = gather("count by sex")
        ledger.reserve(LaplaceCost(by_sex.on(d.universe), [64.0] * 2), by_sex, request="0123456789abcdef")
        spent = run(ledger, d, 5)
        again = [f"0123456789abcdef take {k}" for k in range(5)]  # the same plan answered anew: five releases
        for request in again:
            ledger.reserve(LaplaceCost(by_sex.on(d.universe), [640.0] * 2), by_sex, request=request)
        page = _text(ledger_lines(ledger))
        (line,) = [line for line in page.splitlines() if "steps" in line and "synthetic" in line]
        rows = ASKED.on(d.universe).rows
        assert re.search(rf"2–11 .* synthetic data from {rows} answers · 10 steps", line)
        used = max_ratio(SumCost(d.universe, spent), d).upper
        assert f"{float(used) * 100:.3g} %" in line
        assert "7 releases in 16 steps" in page
        assert "--all shows every step" in page
        assert page.count("count by sex") == 6
        every = _text(ledger_lines(ledger, every=True))
        assert every.count("selection among") == 5
        assert every.count("row ") == 5
        assert "--all" not in every
        data = ledger_to_dict(ledger)
        assert [e["kind"] for e in data["entries"]][:4] == ["laplace", "selection", "laplace", "selection"]
        assert len(data["entries"]) == 16
        assert json.dumps(data)
        lines = between_lines(ledger.between({"sex": "M"}, {"sex": "F"}))
        assert "entries 1, 2, 3," not in lines[0]


def test_few_steps_are_shown_one_by_one(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        run(ledger, d, 1)
        page = _text(ledger_lines(ledger))
        assert "2 releases ·" in page
        assert "selection among count by sex" in page


def _text(lines):
    return re.sub("⟦.*?⟧", "", "\n".join(lines))


def test_a_receipt_says_that_something_was_chosen(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        run(ledger, d, 1)
    made = receipt(tmp_path / "l.db", 1)
    assert made.released == tuple(f"selection among {q}" for q in ASKED.queries)
    assert made.worst_case_epsilon == pytest.approx(1 / 64)
    assert "selection among ranges age/3" in _text(receipt_lines(made, "l.db"))


def test_equal_costs_are_one_object_also_after_a_new_version(tmp_path):
    old, new = plain(tmp_path), plain(tmp_path, age="integers = [0, 4]\nepsilon = 0.75\nper = 1")
    asked = gather("count by region", "count by age")
    workload = asked.on(old.metric.universe)
    with Ledger.open(tmp_path / "ledger.db", old, new_ledger=True) as ledger:
        for k in range(6):
            ledger.reserve(SelectionCost(workload, [20.0] * workload.rows), asked, request=f"synth-1 select {k}")
        before = ledger.entries()[0].budget
        adoption = ledger.adopt(new, looser=True)
        entries = ledger.entries()
        assert len({id(e.cost) for e in entries}) == 1
        ratio = max_ratio(entries[0].cost, new.metric).upper
        assert entries[0].budget == round_budget(F(ratio)) <= before
        assert adoption.used == max_ratio(ledger.spent, new.metric).upper == 6 * ratio
        ledger.verify()


def test_many_steps_reserve_without_binding_or_certifying_again(tmp_path, monkeypatch):
    """What a step costs besides the disk must not grow with the number of answers it chooses from."""
    import dxprivacy.ledger.history as history
    import dxprivacy.ledger.ledger as ledger_module

    calls = []
    for module, name in ((history, "rows_of"), (ledger_module, "certified_budget")):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, real=real, name=name: (calls.append(name), real(*a))[1])
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        run(ledger, d, 1)
        calls.clear()
        whole = ASKED.on(d.universe)
        for k in range(3):
            cost = SelectionCost(whole, [64.0] * whole.rows)
            ledger.reserve(cost, ASKED, request=f"synth-7f3a select {k + 2}")
        assert not calls
