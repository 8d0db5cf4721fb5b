"""What a certificate was computed for cannot be changed behind its back, and nothing is counted unpaid."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dxprivacy as dx
from contracts.check_mechanism import Never
from dxprivacy.errors import BudgetExceeded, LedgerError, QueryError, UsageError
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.mechanisms.sampling import SystemNoise
from dxprivacy.mechanisms.selection.plan import make_selection
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.queries.asking import gather

POLICY = """
title = "Survey"
dataset = "survey"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.job]
values = ["a", "b", "c"]
epsilon = 2.0
"""


@pytest.fixture
def session(tmp_path):
    (tmp_path / "people.csv").write_text("sex,job\n" + "F,a\nM,b\nF,c\n" * 300)
    with dx.Session(
        dx.Policy.parse(POLICY), tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as opened:
        yield opened


def test_arrays_that_a_proof_rests_on_cannot_be_written_to(session):
    """A cost that was certified, and then got smaller scales, was released at the old price."""
    plan = session.plan("count by sex", "count by job", budget="20%", method="optimal")
    selection = session.plan_selection("most common sex")
    run = plan_mwem(["count by job"], session.policy.metric, n_records=900, rounds=2)
    ranges = gather([[1, 0, 2]]).on(dx.Universe.listed("abc"))
    held = [
        plan.cost.scales, selection.cost.scales, run.scales, run.selection_scales, selection.candidates.signs,
        selection.candidates.rows, selection.candidates.offsets, selection.candidates.starts,
    ]  # fmt: skip
    held += [block.matrix for block in ranges.blocks if hasattr(block, "matrix")]
    for array in held:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_a_cost_keeps_numbers_of_its_own():
    rows = gather([[1, 0]]).on(dx.Universe.listed("ab"))
    mine = np.array([2.0])
    cost = LaplaceCost(rows, mine)
    mine[0] = 1e-9
    assert cost.scales.tolist() == [2.0]


def test_scores_that_count_a_row_many_times_are_refused(session):
    selection = make_selection("most common sex", session.policy.metric, n_records=900)
    with pytest.raises(QueryError, match="once"):
        replace(selection.candidates, signs=selection.candidates.signs * 10_000)


@dataclass(frozen=True, eq=False, kw_only=True)
class Hasty(Plan):
    """Counts first, and pays nothing."""

    def run(self, count, noise, spend, *, progress=None):
        return count().counts.tolist()


def test_a_mechanism_that_counts_before_it_pays_gets_nothing(session):
    plan = session.plan("count by sex", budget="20%", method="same-scale")
    hasty = Hasty(**{name: getattr(plan, name) for name in plan.__dataclass_fields__})
    with pytest.raises(LedgerError, match="cost was reserved"):
        session.execute(hasty)
    assert session.ledger.entries() == []


def test_a_run_that_was_interrupted_is_not_taken_up_where_its_rest_does_not_fit(session, monkeypatch):
    plan = session.plan_synthesis("count by job", method="mwem", budget="60%", rounds=3)

    class Stops(SystemNoise):
        left = 2

        def select(self, scores, scales, *, flip=False):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().select(scores, scales, flip=flip)

    monkeypatch.setattr(session, "_noise", Stops())
    with pytest.raises(KeyboardInterrupt):
        session.synthesize(plan)
    assert not session.is_recorded(plan)  # half of it: doing it again would spend the rest
    monkeypatch.setattr(session, "_noise", SystemNoise())
    session.release(session.plan("count by job", budget="65%", method="same-scale", inside_ledger=True))
    before = len(session.ledger.entries())
    with pytest.raises(BudgetExceeded, match="nothing spent"):
        session.synthesize(plan)
    assert len(session.ledger.entries()) == before


@pytest.mark.parametrize("request_name", [" ", "\t", "\udcff", 5, None, b"x"])
@pytest.mark.parametrize("method", ["direct", "mwem"])
def test_names_of_requests_that_no_ledger_could_keep_are_refused_at_once(session, request_name, method):
    plan = session.plan_synthesis("count by job", method=method, rounds=2 if method == "mwem" else None)
    with pytest.raises(UsageError, match="request"):
        session.synthesize(plan, request=request_name)
    assert session.ledger.entries() == []


def test_where_noise_fails_no_name_holds_the_truth(session):
    plan = session.plan("count by sex", budget="20%", method="same-scale")
    session._noise = Never()
    with pytest.raises(AssertionError) as failed:
        session.release(plan)
    frame = failed.value.__traceback__
    while frame is not None:
        shown = repr({k: v for k, v in frame.tb_frame.f_locals.items() if isinstance(v, np.ndarray)})
        assert "600" not in shown
        frame = frame.tb_next
    assert json.dumps([e.request for e in session.ledger.entries()])
