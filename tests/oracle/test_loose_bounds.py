"""Where contexts are too many a loss is only bounded: never below the truth, whatever else comes together with that.

All limits are forced to 0, so that small universes, whose truth is known in fractions, take the same way.
"""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn
from contracts.oracle_brute import brute
from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy import metrics
from dxprivacy.errors import BudgetExceeded
from dxprivacy.ledger import Ledger
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.certificate import certify
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.privacy.search import generating_pairs
from dxprivacy.privacy.search.max_ratio import largest_loss
from dxprivacy.queries.asking import count, gather


@contextmanager
def no_room():
    """As if every universe were too large to look at all contexts."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("MAX_PAIRS", "_CONSTANT_COLUMNS", "_FEW_PAIRS"):
            patch.setattr(generating_pairs, limit, 0)
        yield


def random_cost(rng, universe):
    workload = random_queries(rng, universe).on(universe)
    kind = LaplaceCost if rng.random() < 0.5 else SelectionCost
    return kind(workload, random_scales(rng, workload))


@drawn(st.randoms(use_true_random=False), fast=15, full=60)
def test_a_bound_with_absent_records_and_several_costs_is_not_below_the_truth(rng):
    base = random_metric(rng, axes=3, plain=True)
    while base.universe.size > 60:
        base = random_metric(rng, axes=3, plain=True)
    metric = base if base.universe.absent is not None else metrics.with_absent(base, 1, max_records=50)
    costs = [random_cost(rng, metric.universe) for _ in range(rng.randint(1, 3))]
    loss = costs[0] if len(costs) == 1 else SumCost(metric.universe, costs)
    with no_room():
        bound = max_ratio(loss, metric)
        certificate = certify(loss, metric)
    truth = brute(loss, metric)
    assert bound.upper >= truth >= bound.lower
    assert certificate.ratio == bound.upper


def two_tables():
    """Two tables of three values each, over two attributes, and a third that nobody asks about."""
    u = dx.Universe([dx.Values(name=n, values=tuple("xyz"), has_other=False) for n in "abc"])
    return metrics.with_absent(metrics.attributes(u, dict.fromkeys("abc", 10)), 1, max_records=100)


def test_the_presence_of_a_record_counts_in_every_part_of_a_choice():
    """A selection among two tables with different scales: the second one, with less noise, is what presence shows."""
    d = two_tables()
    workload = gather(dx.table("a", "b"), dx.table("b", "c")).on(d.universe)
    cost = SelectionCost(workload, np.repeat([10.0, 1.0], 9))
    beside = LaplaceCost(workload, np.full(18, 4.0))
    loss = SumCost(d.universe, [cost, beside])
    truth = brute(loss, d)
    assert truth == 1.5  # the second table's row, and one row of each table beside it
    with no_room():
        assert max_ratio(loss, d).upper >= truth


def test_the_largest_loss_where_it_can_only_be_bounded_is_not_below_any_pair():
    d = two_tables()
    workload = gather(dx.table("a", "b"), dx.table("b", "c")).on(d.universe)
    loss = LaplaceCost(workload, np.full(18, 2.0))
    truth = brute(loss, metrics.Constant(d.universe, 1))
    with no_room():
        assert largest_loss(loss)[0] >= truth
    everybody = LaplaceCost(count().on(d.universe), [4.0])  # nothing but presence shows in it
    assert largest_loss(everybody) == (pytest.approx(0.25), (0, d.universe.absent))


# -- the ledger --------------------------------------------------------------------------------------------------------


def people(epsilon):
    u = dx.Universe([dx.Values(name=n, values=("0", "1"), has_other=False) for n in "abc"])
    return metrics.attributes(u, {"a": epsilon, "b": 100, "c": 100})


def loose_cost(universe, scale, *values):
    """Counts in different contexts: no record is in two of them, but each takes its own worst context."""
    asked = gather(*(count(a="1", b=b) for b in values))
    return LaplaceCost(asked.on(universe), np.full(len(values), scale)), asked


def test_a_ledger_refuses_what_only_its_lower_bound_would_allow(tmp_path):
    d = people(1)
    (first, one), (second, two) = loose_cost(d.universe, 1.25, "0"), loose_cost(d.universe, 1.25, "1")
    with Ledger.open(tmp_path / "loose.db", d, dataset="p", new_ledger=True) as ledger, no_room():
        ledger.reserve(first, one, request="first")
        total = max_ratio(SumCost(d.universe, [first, second]), d)
        assert total.lower <= 1 < total.upper
        with pytest.raises(BudgetExceeded):
            ledger.reserve(second, two, request="second")
        assert len(ledger.entries()) == 1
    with Ledger.open(tmp_path / "tight.db", d, dataset="p", new_ledger=True) as ledger:  # with room to look it fits
        ledger.reserve(first, one, request="first")
        ledger.reserve(second, two, request="second")


def test_a_share_in_a_ledger_is_the_upper_bound(tmp_path):
    d = people(2)
    cost, asked = loose_cost(d.universe, 1.25, "0", "1")
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger, no_room():
        bound = max_ratio(cost, d)
        assert bound.lower < bound.upper
        assert ledger.reserve(cost, asked, request="r").budget >= bound.upper


def test_a_new_version_is_refused_where_only_the_lower_bound_fits(tmp_path):
    old, new = people(2), people("1.25")
    cost, asked = loose_cost(old.universe, 1.25, "0", "1")
    path = tmp_path / "l.db"
    with no_room(), Ledger.open(path, old, dataset="p", new_ledger=True) as ledger:
        ledger.reserve(cost, asked, request="r")
    with no_room():
        bound = max_ratio(cost, new)
        assert bound.lower <= 1 < bound.upper
        with pytest.raises(BudgetExceeded, match="bounded from above"):
            Ledger.adopting(path, new, dataset="p")
    assert Ledger.adopting(path, new, dataset="p").changed


def test_a_share_under_a_new_version_is_the_upper_bound(tmp_path):
    old, new = people(2), people("1.75")
    cost, asked = loose_cost(old.universe, 1.25, "0", "1")
    path = tmp_path / "l.db"
    with no_room(), Ledger.open(path, old, dataset="p", new_ledger=True) as ledger:
        ledger.reserve(cost, asked, request="r")
    with no_room():
        bound = max_ratio(cost, new)
        assert bound.lower < bound.upper <= 1
        (entry,) = Ledger.adopting(path, new, dataset="p").entries
        assert entry.budget >= bound.upper
    with Ledger.open(path, new, dataset="p", new_ledger=True) as ledger:
        assert ledger.entries()[0].budget >= bound.upper
