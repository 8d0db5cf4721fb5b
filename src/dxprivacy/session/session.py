"""The whole path of a release, in a fixed order: policy, plan, ledger, count, noise, release."""

from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from dxprivacy.engines import open_data
from dxprivacy.engines.beside_people import key_columns
from dxprivacy.engines.fit import key_notes
from dxprivacy.engines.source import notice
from dxprivacy.errors import UsageError
from dxprivacy.formats.canonical import parse
from dxprivacy.formats.file_access import read_text
from dxprivacy.histogram import Histogram
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.journal import is_missing, no_ledger_yet
from dxprivacy.log import Log
from dxprivacy.mechanisms.linear.plan import Plan, load_plan
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.planned import Planned, Progress
from dxprivacy.mechanisms.sampling import Noise, SystemNoise
from dxprivacy.mechanisms.selection.plan import Selection, make_selection
from dxprivacy.mechanisms.selection.selection_release import SelectionRelease
from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan, plan_synthesis
from dxprivacy.policy import Policy
from dxprivacy.privacy.repair import USUAL_BUDGET
from dxprivacy.queries.kinds.quantiles import Quantiles
from dxprivacy.queries.selections import Pick
from dxprivacy.queries.sql import sql_queries
from dxprivacy.releases import Release
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.session.count_records import count as counted
from dxprivacy.session.count_records import period, public_rows, quantized
from dxprivacy.session.recorded_steps import Outcome, Recorded, require_budget
from dxprivacy.session.synthesizing import Synthesis, require_records, synthesis_of
from dxprivacy.wording import OneLine, numbered

T = TypeVar("T")
_LOG = Log("session")
_DRY_RUN = "2000-01-01T00:00:00.000+00:00"


class Session(OneLine):
    """A policy, its data and its ledger.

    Planning reads only the policy and the public number of records; releasing reserves its cost first.  The curator
    names policy and ledger; a plan cannot choose them.  A missing ledger is refused, unless `new_ledger` is True: then
    the first reservation creates it.  With a `quantize_time` ("1s", or "auto") answers leave at whole multiples of that
    period; `spill=False` keeps rows off the disk.

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"] * 100})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     release = session.release(session.plan("count by sex", budget="25%", method="same-scale"))
    >>> release
    Release('0baf', 2 answers, 400 records)
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        data: object,
        *,
        ledger: str | Path,
        new_ledger: bool = False,
        noise: Noise | None = None,
        quantize_time: str | float | None = None,
        spill: bool = True,
    ) -> None:
        self.policy = policy if isinstance(policy, Policy) else Policy.load(policy)
        self._quantize_time = quantize_time
        period(quantize_time, self.policy.universe, 1)  # refuses an invalid period
        if not new_ledger and is_missing(ledger):
            hint = ("new_ledger=True", "starts one, if nothing was ever released from this data")
            raise no_ledger_yet(ledger, [hint])
        self.source = open_data(data, self.policy.universe, self.policy.people_data, spill=spill)
        self.source.check(self.policy.universe)
        if (people := self.policy.universe.people) is not None:  # `dxp check --data` shows the same notes
            for note in key_notes([column for column in key_columns(self.source, people) if column.inferred]):
                notice(note)
        self.ledger = Ledger.open(ledger, self.policy, new_ledger=new_ledger)
        self._noise: Noise = noise or SystemNoise()
        self._n_records: int | None = None

    def in_short(self) -> str:
        return f"{self.policy.title!r}, {self.source.name!r}, {self.ledger.path.name!r}"

    @property
    def n_records(self) -> int:
        """The public number of records; if it is private, the largest possible number."""
        universe = self.policy.universe
        if universe.max_records is not None:
            return universe.max_records
        if self._n_records is None:
            self._n_records = public_rows(self.source, universe)
        return self._n_records

    def pacing(self) -> AbstractContextManager[None]:
        """Return a context for reading data, which is left at whole multiples of the session's period."""
        return quantized(
            period(self._quantize_time, self.policy.universe, self.n_records)
            if self._quantize_time is not None
            else 0.0
        )

    def plan(
        self,
        *queries: Any,
        budget: object = USUAL_BUDGET,
        method: str = "auto",
        objective: str = "squared",
        n_records: int | None = None,
        inside_ledger: bool = False,
        seconds: float | None = None,
    ) -> Plan:
        """Plan queries: the noise of each answer.  Nothing is spent and no record is read.

        `budget` is the fraction of every pair's ε that may be used; the default is a tenth, so that the first plan
        leaves enough for others.
        `n_records` is for policies with a private number of records: the number to assume for means, by default the
        largest possible one.  For people with several rows, it is the assumed number of kept rows.
        `inside_ledger` plans within the remaining budget of every pair, so that the release fits next to all others.
        """
        if n_records is not None and self.policy.universe.absent is None:
            raise UsageError("the number of records is public, and taken from the data", hints=["leave n_records out"])
        return make_plan(
            list(queries),
            self.policy.metric,
            method=method,
            objective=objective,
            budget=budget,
            n_records=self.n_records if n_records is None else n_records,
            spent=self.ledger.spent if inside_ledger else None,
            seconds=seconds,
            title=self.policy.title,
            dataset=self.policy.dataset,
        )

    def sql(
        self,
        text: str,
        *,
        budget: object = USUAL_BUDGET,
        method: str = "auto",
        objective: str = "squared",
        n_records: int | None = None,
        inside_ledger: bool = False,
        seconds: float | None = None,
    ) -> Plan:
        """Plan the queries of a SELECT; nothing is spent and no record is read.

        `SELECT region, COUNT(*), AVG(income) FROM people WHERE age BETWEEN 18 AND 65 GROUP BY region`: FROM may have
        any name, because the data are those of the session.  Needs `pip install "dxprivacy[sql]"`.
        """
        asked = sql_queries(text, self.policy.universe)
        return self.plan(
            asked,
            budget=budget,
            method=method,
            objective=objective,
            n_records=n_records,
            inside_ledger=inside_ledger,
            seconds=seconds,
        )

    def execute(
        self, planned: Planned[T], *, request: str = "", anyway: bool = False, progress: Progress | None = None
    ) -> Outcome[T]:
        """Execute a planned mechanism: reserve, count, draw noise, store.  All spending goes through this method.

        Errors that follow from public numbers are raised before anything is spent.  Executing the same mechanism again
        returns the stored payload; a new `request` name executes it again, at its full cost.  Uninformative answers are
        refused, unless `anyway` is True.
        """
        self._require_mine(planned)
        planned.certificate.require(at_most=planned.granted)
        if not anyway:
            self._require_informative(planned, planned.uninformative(self.n_records), request)
        ledger, name = self.ledger, planned.entry_name(request)
        worst = ledger.worst_case(planned.reserved)
        planned.dry_run(self.n_records, LedgerReference(ledger.path.name, 1, _DRY_RUN, name, worst))
        ledger.verify_on_disk()
        spend = Recorded(ledger, name, self.pacing)
        reserved = spend.entries(in_steps=planned.in_steps)
        if not reserved:  # refuse data that changed since the session began, before anything is spent
            self.source.check(self.policy.universe)
        if planned.in_steps:
            require_budget(ledger, planned, len(reserved))
        count = spend.guarded(lambda: self._counted(planned))
        # Logged before counting and after the answer is stored, never in between, where timing would depend on data.
        _LOG.event("executing", plan=planned.name, request=name, source=self.source.name)
        made = planned.run(count, self._noise, spend, progress=progress)
        alone = spend.reserved and not planned.in_steps
        entries = tuple(spend.reserved) if alone else spend.entries(in_steps=planned.in_steps)
        what = "answered" if spend.reserved else "answered from the ledger, nothing spent"
        _LOG.event(what, plan=planned.name, entries=numbered(entries), ledger=ledger.path)
        return Outcome(made, not spend.reserved, entries)

    def _counted(self, planned: Planned[Any]) -> Histogram:
        universe = self.policy.universe
        histogram = counted(self.source, universe, planned.asks, self.n_records, planned.asks_people)
        if universe.max_records is None:
            self._n_records = histogram.public_records  # a table of a server may have changed since they were counted
        return histogram

    def _require_mine(self, planned: Planned[Any]) -> None:
        what, again = planned.told
        if planned.metric.digest != self.policy.digest or planned.dataset != self.policy.dataset:
            raise UsageError(f"the {what} for another policy", hints=[again])

    def _require_informative(self, planned: Planned[Any] | SynthesisPlan, warning: str, request: str) -> None:
        """Refuse to spend on uninformative answers; repeating released ones costs nothing."""
        if warning and not self.is_recorded(planned, request=request):
            raise UsageError(
                warning,
                details=["Nothing spent, no data read."],
                hints=[
                    ("anyway=True", "spends the budget anyway"),
                    ("session.plan(…)", "less noise: a larger budget, or fewer or coarser queries"),
                ],
            )

    def release(self, plan: Plan, *, request: str = "", anyway: bool = False) -> Release:
        """Execute a plan and return its release.  The same plan again returns the stored release, at no cost.

        Give a new `request` name to answer the same plan again, at its full cost.  A plan with a query whose answers
        are all uninformative is refused, unless `anyway` is True.
        """
        return self.answer(plan, request=request, anyway=anyway).release

    def answer(self, plan: Plan, *, request: str = "", anyway: bool = False) -> Outcome[Release]:
        """Execute a plan like `release`; the outcome also says whether it was answered before."""
        if not isinstance(plan, Plan):
            raise UsageError(
                "a plan is needed", hints=[("session.plan(…)", "shows the error first, and costs nothing")]
            )
        return self.execute(plan, request=request, anyway=anyway)

    def plan_selection(
        self,
        pick: Pick | Quantiles | str,
        *,
        budget: object = USUAL_BUDGET,
        flip: bool = False,
        inside_ledger: bool = False,
    ) -> Selection:
        """Plan a selection: its candidates and expected shortfall.  Nothing is spent and no record is read.

        `pick` is `dx.most_common("job")`, `dx.median_of("age")`, … or the same in words.
        """
        return make_selection(
            pick,
            self.policy.metric,
            budget=budget,
            flip=flip,
            n_records=self.n_records,
            spent=self.ledger.spent if inside_ledger else None,
            title=self.policy.title,
            dataset=self.policy.dataset,
        )

    def select(self, selection: Selection, *, request: str = "", anyway: bool = False) -> SelectionRelease:
        """Execute a selection and return its release.  The same selection again returns the stored one, at no cost.

        An uninformative selection is refused, unless `anyway` is True.
        """
        return self.chosen(selection, request=request, anyway=anyway).release

    def chosen(self, selection: Selection, *, request: str = "", anyway: bool = False) -> Outcome[SelectionRelease]:
        """Execute a selection like `select`; the outcome also says whether it was answered before."""
        if not isinstance(selection, Selection):
            hints = [("session.plan_selection(…)", "shows how good it will be first, and costs nothing")]
            raise UsageError("a planned selection is needed", hints=hints)
        return self.execute(selection, request=request, anyway=anyway)

    def plan_synthesis(
        self,
        *queries: Any,
        method: str = "auto",
        budget: object = USUAL_BUDGET,
        rounds: int | str | None = None,
        passes: int | None = None,
        inside_ledger: bool = False,
        seconds: float | None = None,
    ) -> SynthesisPlan:
        """Plan synthetic records; `auto` compares methods by expected error.  Nothing is spent, no record is read."""
        return plan_synthesis(
            list(queries),
            self.policy.metric,
            method=method,
            budget=budget,
            rounds=rounds,
            passes=passes,
            n_records=self.n_records,
            spent=self.ledger.spent if inside_ledger else None,
            seconds=seconds,
            title=self.policy.title,
            dataset=self.policy.dataset,
        )

    def synthesize(
        self,
        plan: SynthesisPlan,
        *,
        request: str = "",
        records: int | None = None,
        anyway: bool = False,
        progress: Progress | None = None,
    ) -> Synthesis:
        """Make synthetic records and compare them with the release.  The same plan again costs nothing.

        `records` is the number to make; by default as many as there are.  `progress` is called with each round and the
        number of rounds.  Records that are expected to be uninformative are refused, unless `anyway` is True.
        """
        if not isinstance(plan, SynthesisPlan):
            hints = [("session.plan_synthesis(…)", "shows first what to expect, and costs nothing")]
            raise UsageError("a plan of synthetic records is needed", hints=hints)
        require_records(self.policy.universe, records)
        if not anyway:
            self._require_informative(plan, plan.uninformative(), request)
        outcome = self.execute(plan.made, request=request, anyway=True, progress=progress)
        return synthesis_of(plan, outcome, self.policy, self.ledger, people=self.n_records, records=records)

    @property
    def left(self) -> float:
        """A lower bound of the fraction of ε that is left, for every pair; single pairs may have far more."""
        return max(0.0, float(1 - sum((entry.budget for entry in self.ledger.entries()), Fraction(0))))

    def is_recorded(self, planned: Planned[Any] | SynthesisPlan, *, request: str = "") -> bool:
        """Return whether the ledger already has this execution, so that repeating it spends nothing."""
        made = planned.made if isinstance(planned, SynthesisPlan) else planned
        there = Recorded(self.ledger, made.entry_name(request)).entries(in_steps=made.in_steps)
        return len(there) >= made.entries

    def load_plan(self, path: str | Path) -> Plan:
        """Read a plan from its file and certify it again."""
        return read_plan(path, self.policy)

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_plan(path: str | Path, policy: Policy) -> Plan:
    """Read a plan from its file, bind it to a policy and certify it again."""
    return load_plan(read_json(path), policy.metric, dataset=policy.dataset, title=policy.title)


def read_json(path: str | Path) -> Any:
    """Read a strict JSON file (no repeated keys); raise UsageError if it is invalid."""
    try:
        text = read_text(path, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not JSON", hints=["dxp plan … writes a plan"]) from None
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{path} is not JSON: {error.what}", hints=["dxp plan … writes a plan"]) from None
