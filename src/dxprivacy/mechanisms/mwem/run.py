"""MWEM under a policy (Algorithm 2 of the paper, corrected): select the worst answer, measure it, learn from it.

The data enters in two places, both after a cost was reserved: in the integer answers z = A x, computed once, exactly,
inside the first step; and with the noise. A round has the public synthetic histogram y, so its answers v = rint(A y)
are public:

    select    k with probability ~ exp(|z_k - v_k| / (2 c_k))     loss max_k |A_ki - A_kj| / c_k
    measure   z_k + discrete Laplace of scale s_k                 loss |A_ki - A_kj| / s_k
    learn     multiplicative weights, several passes              post-processing

Scores are integers that change by at most |A_ki - A_kj|; nothing is rounded after the data enters.
"""

import json
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dxprivacy.errors import LedgerError, UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.mwem.mwem_facts import MwemFacts
from dxprivacy.mechanisms.mwem.weights import Weights
from dxprivacy.mechanisms.planned import Count, Progress
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.mechanisms.spending import Spending, StepCost, read_kept
from dxprivacy.mechanisms.synthesis.synthetic_data import Measurement, Synthetic
from dxprivacy.privacy.costs import LaplaceCost, SumCost
from dxprivacy.queries.asked import Stack
from dxprivacy.releases.guarantee import LedgerReference

PASSES = 100  # over all past measurements, after each round


class _Truth:
    """The exact integer answers, computed when the first reserved step asks for them; never displayed."""

    def __init__(self, plan: MwemFacts, histogram: Count) -> None:
        self._plan, self._histogram = plan, histogram

    @cached_property
    def answers(self) -> Ints:
        """The true answers z = A x."""
        counted = self._histogram()
        if counted.universe != self._plan.metric.universe:
            raise UsageError("the histogram is over another universe than the plan")
        if counted.total != self._plan.records:
            raise UsageError("the plan was made for another number of records, which is public")
        return self._plan.workload.answer(counted)

    def __repr__(self) -> str:
        return "hidden"


def run_mwem(
    plan: MwemFacts,
    histogram: Count,
    spend: Spending,
    noise: Noise,
    *,
    progress: Progress | None = None,
) -> Synthetic:
    """Execute a plan: `spend` reserves every step before anything is drawn from the data.

    `histogram` is called inside the first step, after its cost was reserved.
    """
    plan.certificate.require(at_most=plan.part)  # Thm 7: every step within its part, 2T of them within the budget.
    truth, costs = _Truth(plan, histogram), list[StepCost]()
    cells = plan.metric.universe.cells
    weights = Weights(np.ones(cells) if plan.start is None else plan.start, float(plan.records))
    found = _public_rows(plan, truth, spend, weights, costs)
    open_rows = np.zeros(plan.workload.rows, dtype=bool)
    open_rows[plan.candidates] = True
    total = np.zeros(cells if plan.averaged else 0)
    reach = float(plan.workload.largest) * plan.records
    for turn in range(1, plan.rounds + 1):
        if progress is not None:
            progress(turn, plan.rounds)
        if plan.averaged:
            total += weights.y
        public = np.rint(np.clip(plan.projection.answers(weights.y), -reach, reach)).astype(np.int64)
        rows = np.flatnonzero(open_rows)

        def choose(_: LedgerReference, rows: Ints = rows, public: Ints = public) -> str:
            scores = np.abs(truth.answers[rows] - public[rows])
            return json.dumps({"row": int(rows[noise.select(scores, plan.selection_scales[rows])])})

        # Thm 3: needs |u(x) - u(x')| <= |A_ki - A_kj| for every row k; the plan's certificate bounds the largest.
        row = _whole(spend.step(plan.selection, plan.queries, f"round {turn} selection", choose), "row")
        if not 0 <= row < len(open_rows) or not open_rows[row]:
            raise LedgerError(f"the stored outcome of round {turn} names an answer that was not a candidate")
        cost = plan.measurement(row)

        def measure(_: LedgerReference, row: int = row, cost: LaplaceCost = cost) -> str:
            return json.dumps({"noisy": int(truth.answers[row]) + int(noise.laplace(cost.scales)[0])})

        noisy = _whole(spend.step(cost, Stack((plan.pick(row),)), f"round {turn} measurement", measure), "noisy")
        costs += [plan.selection, cost]
        open_rows[row] = plan.again
        found.append(Measurement(row, cost.workload.answers[0].label, noisy, float(plan.scales[row])))
        weights.learn(plan.projection.line(row), float(noisy))
        weights.sweep(plan.passes) if plan.passes else weights.step()
    return Synthetic(
        universe=plan.metric.universe,
        histogram=total / plan.rounds if plan.averaged else weights.y,
        queries=plan.queries,
        workload=plan.workload,
        records=plan.records,
        method="mwem",
        measurements=tuple(found),
        cost=SumCost(plan.metric.universe, costs),
        words=tuple(_words(plan, len(found))),
    )


def _public_rows(
    plan: MwemFacts, truth: _Truth, spend: Spending, weights: Weights, costs: list[StepCost]
) -> list[Measurement]:
    """Learn the rows that the policy leaves free, in one step that uses none of the budget."""
    rows = plan.public.tolist()
    if not rows:
        return []
    queries = Stack(tuple(plan.pick(row) for row in rows))
    cost = LaplaceCost(queries.on(plan.metric.universe), np.zeros(len(rows)))

    def exact(_: LedgerReference) -> str:
        return json.dumps({"exact": truth.answers[rows].tolist()})

    numbers = read_kept(spend.step(cost, queries, "public answers", exact), lambda text: json.loads(text)["exact"])
    costs.append(cost)
    labels = [answer.label for answer in cost.workload.answers]
    out = []
    for row, label, number in zip(rows, labels, numbers, strict=True):
        out.append(Measurement(row, label, int(number), 0.0))
        weights.learn(plan.projection.line(row), float(number))
    weights.sweep(max(plan.passes, PASSES))
    return out


def _whole(kept: str, field: str) -> int:
    """Parse an integer from the stored outcome of a step."""

    def number(text: str) -> int:
        found = json.loads(text)[field]
        if type(found) is not int:
            raise ValueError(field)
        return found

    return read_kept(kept, number)


def _words(plan: MwemFacts, measured: int) -> Sequence[str]:
    out = [
        f"{measured:,} answers measured in {plan.rounds:,} rounds; {'averaged' if plan.averaged else 'the last one'}"
    ]
    return [*out, *([str(plan.bound)] if plan.bound is not None else [])]
