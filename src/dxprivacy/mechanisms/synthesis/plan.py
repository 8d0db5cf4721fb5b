"""Plans for synthetic data: the method and its expected error, before anything is spent.

Every method is one entry of `_MAKERS`: its requirements and its planning function. `auto` simulates those that apply on
made-up tables, and takes the one with the least expected error.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.errors import DxError, QueryError, UsageError, did_you_mean
from dxprivacy.mechanisms.direct.plan import DirectFit, plan_direct
from dxprivacy.mechanisms.direct.run import require_room_to_fit
from dxprivacy.mechanisms.mwem.plan import USUAL_ROUNDS, MwemPlan, plan_mwem
from dxprivacy.mechanisms.planned import Progress, target
from dxprivacy.mechanisms.sampling import Noise
from dxprivacy.mechanisms.smalldb.plan import SmallDbPlan, make_smalldb
from dxprivacy.mechanisms.synthesis.histogram_answers import asked_universe
from dxprivacy.mechanisms.synthesis.synthetic_data import Synthetic
from dxprivacy.mechanisms.synthesis.tried_out import SMALL_CELLS, Expectation, Trial
from dxprivacy.metrics import Metric
from dxprivacy.optimize.deadline import Watch
from dxprivacy.policy import Policy
from dxprivacy.privacy.costs import Cost
from dxprivacy.privacy.repair import parse_budget, require_spent
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.universe.blocks import SoftTable
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import OneLine, digits, percent

_NO_BETTER = 0.995  # of the error of guessing uniformly; larger ones print as 100 %
TRIED_ROUNDS = ((40, 80), (10,))  # in addition to the default number


@dataclass(frozen=True, eq=False)
class SynthesisPlan(OneLine):
    """A plan for synthetic data; `made` is the certified plan of the method.

    >>> import dxprivacy as dx
    >>> dx.plan_synthesis([[1, 1, 0, 0], [0, 1, 1, 0]], dx.metrics.constant(4, 1), n_records=1000).method
    'direct'
    """

    method: str
    made: DirectFit | MwemPlan | SmallDbPlan
    expected: Expectation

    @property
    def name(self) -> str:
        """The name of the method's plan."""
        return self.made.name

    def in_short(self) -> str:
        return f"{self.method}, {self.made.in_short()}"

    def uninformative(self) -> str:
        """Return a warning if the records would be uninformative (no better than uniform or constant);
        otherwise empty.
        """
        error = self.expected.errors.get(self.method)
        if error is not None and error >= _NO_BETTER:
            even = "records spread evenly over all that is possible would be as good"
            return f"uninformative: {even} ({self.method})"
        return self.made.uninformative()

    def run(self, counts: object, *, noise: Noise | None = None, progress: Progress | None = None) -> Synthetic:
        """Execute on a histogram, without a ledger (for researchers)."""
        return self.made.by_hand(counts, noise=noise, progress=progress).synthetic

    def __str__(self) -> str:
        return f"{self.method}\n{self.expected}"


@dataclass(frozen=True, eq=False)
class _Task:
    """The planning problem with all options; each method uses those that it knows."""

    queries: Stack
    workload: Workload
    metric: Metric
    records: int | None
    budget: Fraction
    spent: Cost | None
    rounds: int | str | None
    passes: int | None
    start: object
    watch: Watch
    title: str
    dataset: str

    @cached_property
    def asked(self) -> Universe:
        """The attributes that are asked about."""
        return asked_universe(self.workload)

    @cached_property
    def trial(self) -> Trial | None:
        """Made-up tables of the public size; None if the size is private."""
        return self._trial(self.workload)

    @cached_property
    def trial_of_asked(self) -> Trial | None:
        """The same, over the attributes that are asked about."""
        return self.trial if self.asked is self.workload.universe else self._trial(self.queries.on(self.asked))

    def _trial(self, workload: Workload) -> Trial | None:
        if self.records is None:
            return None
        return Trial(workload, self.records, 3 if workload.universe.cells <= SMALL_CELLS else 2)


Planned = tuple[DirectFit | MwemPlan | SmallDbPlan, float | None, tuple[str, ...]]
"""A plan, its expected error as a fraction of that of guessing uniformly (None if not simulated), and notes."""


def _by_mwem(task: _Task) -> Planned:
    """MWEM; if the number of rounds is not given, the one that does best on the made-up tables."""

    def of(rounds: int | str | None) -> MwemPlan:
        return plan_mwem(
            task.queries, task.metric, n_records=-1 if task.records is None else task.records, rounds=rounds,
            budget=task.budget, spent=task.spent, passes=task.passes, start=task.start, dataset=task.dataset,
        )  # fmt: skip

    best = of(task.rounds)
    trial = task.trial
    if trial is None:
        return best, 1.0, ()
    error = trial.mwem(best, task.watch)
    if task.rounds is not None or best.rounds < USUAL_ROUNDS:
        return best, error, ()
    best = replace(best, why="best on made-up tables")
    for direction in TRIED_ROUNDS:  # twice as many as long as that helps, otherwise fewer
        for rounds in direction:
            if rounds > len(best.candidates) or task.watch.over:
                break
            other = of(rounds)
            found = trial.mwem(other, task.watch)
            if found >= error:
                break
            best, error = replace(other, why="best on made-up tables"), found
        if best.rounds != USUAL_ROUNDS:
            break
    return best, error, ()


def _by_direct(task: _Task) -> Planned:
    """A fit to the answers of an ordinary plan."""
    require_room_to_fit(task.workload.universe, task.asked)
    plan = plan_direct(
        task.queries, task.metric, n_records=task.records, budget=task.budget, spent=task.spent,
        seconds=task.watch.seconds,
        title=task.title, dataset=task.dataset,
    )  # fmt: skip
    trial = task.trial_of_asked
    if trial is None:
        return DirectFit(plan), 0.0, ()
    error, converged = trial.direct(plan)
    return DirectFit(plan), error, () if converged else ("direct: the fit is not expected to converge",)


def _by_smalldb(task: _Task) -> Planned:
    """A small database, of the size with the least error bound among those that can be drawn."""
    plan = make_smalldb(
        task.queries, task.metric, n_records=task.records or 0, alpha=None, budget=task.budget, spent=task.spent,
        title=task.title, dataset=task.dataset,
    )  # fmt: skip
    return plan, None, ()


_MAKERS: dict[str, Callable[[_Task], Planned]] = {
    "direct": _by_direct,
    "mwem": _by_mwem,
    "smalldb": _by_smalldb,
}
METHODS = ("auto", *_MAKERS)
_TRIED = ("direct", "mwem")  # `auto` compares these; a small database is drawn only on request


def plan_synthesis(
    queries: Any,
    policy: Policy | Metric,
    *,
    n_records: int | None,
    method: str = "auto",
    budget: object = "100%",
    rounds: int | str | None = None,
    passes: int | None = None,
    start: object = None,
    spent: Cost | None = None,
    seconds: float | None = None,
    title: str = "",
    dataset: str = "",
) -> SynthesisPlan:
    """Plan synthetic data for these queries; spends nothing and reads no data.

    `n_records` is the public number of records, None if it is private. `auto` takes the method with the least expected
    error; `rounds`, `passes` and `start` are MWEM's. `spent` is what was released before (such as `ledger.spent`); the
    plan then fits next to it on every pair.

    >>> from dxprivacy import metrics
    >>> plan = plan_synthesis([[1, 1, 0, 0], [0, 1, 1, 0]], metrics.constant(4, 1), n_records=1000)
    >>> plan.method
    'direct'
    """
    if method not in METHODS:
        raise UsageError(f"no method “{method}”", hints=did_you_mean(str(method), METHODS) or list(METHODS))
    metric, title, dataset = target(policy, title, dataset)
    private = metric.universe.absent is not None
    if private:
        n_records = None
    elif n_records is None:
        raise UsageError("how many records are there? The number is public", hints=["records=20000"])
    elif isinstance(n_records, bool) or not isinstance(n_records, int) or n_records < 1:
        raise UsageError(f"records is {n_records!r}; at least one record is needed")
    asked = gather(queries)
    asked.require_honest(metric.universe)
    workload = asked.on(metric.universe)
    if any(isinstance(block, SoftTable) for block in workload.blocks):
        raise QueryError(
            "synthetic records are made from counts, sums and means, not from quantiles, densities or soft borders",
            hints=[
                ("histogram age/10", "records that follow it have about its quantiles"),
                ("dxp plan …", "answers these"),
            ],
        )
    if workload.proportional:
        raise QueryError(
            "synthetic records are rows and belong to no person: people cannot be counted in them",
            hints=[("count …", "counts rows"), ("dxp plan …", "answers about people, with noise")],
        )
    task = _Task(
        queries=asked,
        workload=workload,
        metric=metric,
        records=n_records,
        budget=parse_budget(budget),
        spent=require_spent(spent, metric),
        rounds=rounds,
        passes=passes,
        start=start,
        watch=Watch(seconds),
        title=title,
        dataset=dataset,
    )
    if method != "auto":
        made, error, told = _MAKERS[method](task)
        if isinstance(made, SmallDbPlan):
            bound = f"every answer within {digits(float(made.bounds.max()))}, {percent(1 - made.beta)} of the time"
            return SynthesisPlan(method, made, Expectation({}, (f"smalldb: {bound}",)))
        known = {} if task.records is None or error is None else {method: error}
        return SynthesisPlan(method, made, Expectation(known, told))
    return _best(task, private=private)


def _best(task: _Task, *, private: bool) -> SynthesisPlan:
    """The method with the least expected error; notes give the reason for each that does not apply."""
    if private:
        made, *_ = _by_direct(task)
        note = "direct: the number of records is private, and the other methods need it"
        return SynthesisPlan("direct", made, Expectation({}, (note,)))
    found: dict[str, Planned] = {}
    notes: list[str] = []
    refusal: DxError | None = None
    for name in _TRIED:
        try:
            found[name] = _MAKERS[name](task)
            notes += found[name][2]
        except DxError as error:
            refusal = refusal or error
            notes.append(f"{name} does not apply: {error.what}")
    if not found:
        raise refusal or UsageError("no method applies")
    expected = Expectation({name: e for name, (_, e, _) in found.items() if e is not None}, tuple(notes))
    return SynthesisPlan(expected.best, found[expected.best][0], expected)
