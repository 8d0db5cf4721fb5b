"""What every mechanism must fulfil: proof and cost agree, nothing is drawn unpaid, what was kept comes back.

`planned` is made for `metric` and for as many records as `counts` sums up to; the universe is small enough to look at
all pairs in fractions.
"""

import dataclasses
import itertools
import json
from fractions import Fraction

import pytest

from dxprivacy.errors import DxError, LedgerError, NotCertified
from dxprivacy.histogram import Histogram
from dxprivacy.ledger import Ledger
from dxprivacy.mechanisms.planned import Planned
from dxprivacy.mechanisms.sampling import SystemNoise
from dxprivacy.mechanisms.spending import Unrecorded
from dxprivacy.privacy.costs import SumCost
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.session.recorded_steps import Recorded

REHEARSAL = LedgerReference("ledger.db", 1, "2000-01-01T00:00:00.000+00:00", "x", 1.0)


class Paying(Unrecorded):
    """Spends within the budget, and writes down what happens, in order."""

    def __init__(self, planned):
        super().__init__(planned.metric, planned.budget)
        self.happened, self.costs = [], []

    def step(self, cost, queries, name, act, *, asked=None):
        def noted(ledger_reference):
            self.happened.append("reserved")
            self.costs.append(cost)
            return act(ledger_reference)

        return super().step(cost, queries, name, noted, asked=asked)


class Drawing(SystemNoise):
    """Real noise that writes down when it is drawn."""

    def __init__(self, happened):
        self.happened = happened

    def laplace(self, scales):
        self.happened.append("drawn")
        return super().laplace(scales)

    def together(self, family):
        self.happened.append("drawn")
        return super().together(family)

    def select(self, scores, scales, *, flip=False):
        self.happened.append("drawn")
        return super().select(scores, scales, flip=flip)

    def entropy(self, count):
        self.happened.append("drawn")
        return super().entropy(count)


class Never:
    """Neither noise nor data may be asked for."""

    def _fail(self, *_, **__):
        raise AssertionError("drawn, though it was answered before or must not be")

    laplace = together = select = entropy = __call__ = _fail


class Refusing:
    """A ledger without budget."""

    def step(self, cost, queries, name, act, *, asked=None):
        raise LedgerError("nothing is left")


class Crashing(SystemNoise):
    """The machine stops at the first draw."""

    def laplace(self, *_, **__):
        raise KeyboardInterrupt

    together = select = entropy = laplace


class Keeping:
    """Hands back a text as what was kept."""

    def __init__(self, text):
        self.text = text

    def step(self, cost, queries, name, act, *, asked=None):
        return self.text


def check_mechanism(planned: Planned, counts, tmp_path) -> None:
    histogram = Histogram.of(planned.metric.universe, counts)
    _is_a_value(planned)
    _the_certificate_is_that_of_what_is_spent(planned, histogram)
    _nothing_is_counted_or_drawn_before_it_is_reserved(planned, histogram)
    _refused_from_public_numbers_only(planned, histogram)
    _kept_in_a_ledger_and_returned(planned, histogram, tmp_path / "kept.db")
    _a_crash_costs_budget_and_nothing_else(planned, histogram, tmp_path / "crash.db")
    _what_was_kept_is_not_believed(planned)


def _is_a_value(planned) -> None:
    assert len(planned.request) == 64
    assert planned.request.startswith(planned.name)
    assert 0 < planned.granted <= planned.budget <= 1
    assert json.loads(json.dumps(planned.payload()))
    assert planned.entry_name("") != planned.entry_name("again")
    with pytest.raises(dataclasses.FrozenInstanceError):
        planned.budget = Fraction(1)
    assert str(planned)


def _the_certificate_is_that_of_what_is_spent(planned, histogram) -> None:
    """In fractions, over all pairs: every step within what the certificate says, all of them within the budget."""
    metric, spend = planned.metric, Paying(planned)
    planned.run(lambda: histogram, SystemNoise(), spend)
    n = metric.universe.size
    pairs = [p for p in itertools.combinations(range(n), 2) if metric.exact(*p) != float("inf")]
    largest = Fraction(0)
    for cost in spend.costs:
        for pair in pairs:
            part = Fraction(cost.exact(*pair))
            assert part <= planned.certificate.ratio * metric.exact(*pair)
            if metric.exact(*pair):
                largest = max(largest, part / Fraction(metric.exact(*pair)))
    assert largest <= planned.certificate.ratio <= planned.granted
    if planned.reserved is not None:
        assert [cost.identity for cost in spend.costs] == [planned.reserved.identity]
        assert largest * (1 + metric.slack) >= planned.certificate.ratio  # not merely a bound, on so few records
    whole = SumCost(metric.universe, spend.costs)
    for pair in pairs:
        assert whole.exact(*pair) <= planned.budget * Fraction(metric.exact(*pair))
        if planned.all_steps is not None:
            assert whole.exact(*pair) <= planned.all_steps.exact(*pair)


def _nothing_is_counted_or_drawn_before_it_is_reserved(planned, histogram) -> None:
    spend = Paying(planned)

    def count():
        spend.happened.append("counted")
        return histogram

    planned.run(count, Drawing(spend.happened), spend)
    assert spend.happened.count("counted") == 1
    assert spend.happened[0] == "reserved"
    with pytest.raises(LedgerError, match="nothing is left"):
        planned.run(Never(), Never(), Refusing())


def _refused_from_public_numbers_only(planned, histogram) -> None:
    planned.dry_run(histogram.total, REHEARSAL)  # no data is at hand
    if dataclasses.is_dataclass(planned) and planned.reserved is not None and hasattr(planned, "scales"):
        too_little = float(planned.certificate.ratio / planned.budget) * (1 - 1e-9)
        smaller = dataclasses.replace(planned, scales=tuple(s * too_little for s in planned.scales))
        with pytest.raises(NotCertified):
            smaller.run(Never(), Never(), Paying(planned))


def _kept_in_a_ledger_and_returned(planned, histogram, path) -> None:
    with Ledger.open(path, planned.metric, dataset="d", new_ledger=True) as ledger:
        first = planned.run(lambda: histogram, SystemNoise(), Recorded(ledger, planned.entry_name("")))
        spent = ledger.spent
        spend = Recorded(ledger, planned.entry_name(""))
        again = planned.run(Never(), Never(), spend)
        assert not spend.reserved
        assert _said(again) == _said(first)
        assert ledger.spent.costs == spent.costs or len(ledger.spent.costs) == len(spent.costs)
        assert len(spend.entries(in_steps=planned.in_steps)) == len(ledger.entries())
        ledger.verify()


def _a_crash_costs_budget_and_nothing_else(planned, histogram, path) -> None:
    with Ledger.open(path, planned.metric, dataset="d", new_ledger=True) as ledger:
        with pytest.raises(KeyboardInterrupt):
            planned.run(lambda: histogram, Crashing(), Recorded(ledger, planned.entry_name("")))
        reserved = len(ledger.entries())
        assert reserved
        with pytest.raises(LedgerError, match="never answered"):
            planned.run(lambda: histogram, Never(), Recorded(ledger, planned.entry_name("")))
        assert len(ledger.entries()) == reserved


def _what_was_kept_is_not_believed(planned) -> None:
    for text in ("", "{}", "[1]", "null", '{"row": "x"}', '{"cells": 3}'):
        with pytest.raises(DxError):
            planned.run(Never(), Never(), Keeping(text))


def _said(outcome) -> str:
    """All that an outcome says, as text."""
    for name in ("to_json", "to_dict"):
        if hasattr(outcome, name):
            return str(getattr(outcome, name)())
    made = getattr(outcome, "synthetic", None)
    return repr(outcome) if made is None else f"{made.histogram.tolist()} {list(outcome.released)} {outcome.facts}"
