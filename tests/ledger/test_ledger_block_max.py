"""Tables that were noised together in a ledger: read back, added up with others, carried to new versions, refused."""

import itertools
import json
import sqlite3
from fractions import Fraction as F

import pytest

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.ledger_budget import round_budget
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import BlockMaxCost, LaplaceCost, SelectionCost
from dxprivacy.queries.asking import gather
from ledger.upgrade_cases import plain

ASKED = gather("count by sex", "count by town")


def people():
    values = [dx.Values(name=n, values=v, has_other=False) for n, v in (("sex", ("M", "F")), ("town", tuple("ABC")))]
    return dx.metrics.constant(dx.Universe(values), 1)


def test_a_cost_is_read_back_as_what_it_is(tmp_path):
    d = people()
    rows = ASKED.on(d.universe)
    costs = [BlockMaxCost(rows, [4.0] * 5), BlockMaxCost(rows, [8.0, 8.0, 5.0, 5.0, 5.0])]
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for k, cost in enumerate(costs):
            ledger.reserve(cost, ASKED, request=str(k))
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for entry, cost in zip(ledger.entries(), costs, strict=True):
            assert type(entry.cost) is BlockMaxCost
            assert entry.title == "count by sex + count by town"
            assert entry.budget == round_budget(F(max_ratio(cost, d).upper))
            for i, j in itertools.combinations(range(d.universe.size), 2):
                assert entry.cost.exact(i, j) == cost.exact(i, j)
        ledger.verify()
    with sqlite3.connect(tmp_path / "l.db") as database:
        found = database.execute("SELECT content FROM journal WHERE kind = 'reserve' ORDER BY seq").fetchall()
    database.close()
    contents = [json.loads(text) for (text,) in found]
    assert [(c["kind"], len(c["scales"]), c.get("alike")) for c in contents] == [
        ("block-max", 1, True),
        ("block-max", 5, None),
    ]


@pytest.mark.parametrize("other", [LaplaceCost, SelectionCost])
def test_the_same_rows_and_scales_of_another_kind_are_another_request(tmp_path, other):
    """Noise of each row by itself loses more, and a selection is something else: neither may stand for the other."""
    d = people()
    rows = ASKED.on(d.universe)
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        ledger.reserve(BlockMaxCost(rows, [9.0] * 5), ASKED, request="a")
        ledger.finish("a", "kept")
        assert ledger.reserve(BlockMaxCost(rows, [9.0] * 5), ASKED, request="a") == "kept"
        with pytest.raises(LedgerError):
            ledger.reserve(other(rows, [9.0] * 5), ASKED, request="a")


def test_costs_of_several_releases_add_up_on_every_pair(tmp_path):
    """Largest losses of different entries add; beside a sum the two that meet on a pair decide."""
    d = people()
    rows, towns = ASKED.on(d.universe), gather("count by town")
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        ledger.reserve(BlockMaxCost(rows, [2.0, 2.0, 4.0, 4.0, 4.0]), ASKED, request="a")
        ledger.reserve(BlockMaxCost(rows, [4.0] * 5), ASKED, request="b")
        i, j, k = d.universe.index([{"sex": s, "town": t} for s, t in (("M", "A"), ("F", "A"), ("M", "B"))]).tolist()
        assert ledger.spent.exact(i, j) == F(3, 4)
        assert ledger.spent.exact(i, k) == F(1, 2)
        assert ledger.spent.exact(j, k) == F(3, 4)
        with pytest.raises(BudgetExceeded):
            ledger.reserve(BlockMaxCost(rows, [3.9] * 5), ASKED, request="c")
        with pytest.raises(BudgetExceeded):  # two rows of a table move where two records differ
            ledger.reserve(LaplaceCost(towns.on(d.universe), [7.9] * 3), towns, request="d")
        ledger.reserve(LaplaceCost(towns.on(d.universe), [8.0] * 3), towns, request="e")
        assert max_ratio(ledger.spent, d).upper == 1
        ledger.verify()


def test_it_is_carried_to_a_new_version_as_what_it_is(tmp_path):
    old, new = plain(tmp_path), plain(tmp_path, age="integers = [0, 4]\nepsilon = 0.75\nper = 1")
    asked = gather("count by region", "count by age")
    rows = asked.on(old.metric.universe)
    with Ledger.open(tmp_path / "ledger.db", old, new_ledger=True) as ledger:
        ledger.reserve(BlockMaxCost(rows, [20.0] * rows.rows), asked, request="a")
        adoption = ledger.adopt(new, looser=True)
        (entry,) = ledger.entries()
        assert type(entry.cost) is BlockMaxCost
        assert adoption.used == max_ratio(entry.cost, new.metric).upper
        ledger.verify()
