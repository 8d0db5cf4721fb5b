"""The whole path: policy, plan, ledger, count, noise, release - in that order, and in no other."""

from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from dxprivacy.engines import open_data
from dxprivacy.engines.beside_people import key_columns
from dxprivacy.engines.fit import key_notes
from dxprivacy.engines.notices import notice
from dxprivacy.errors import UsageError
from dxprivacy.formats.canonical import parse
from dxprivacy.formats.reading_files import read_text
from dxprivacy.histogram import Histogram
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.journal import is_missing, no_ledger_yet
from dxprivacy.log import Log
from dxprivacy.mechanisms.linear.plan import Plan, load_plan
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.planned import Planned, Progress
from dxprivacy.mechanisms.sampling import Noise, SystemNoise
from dxprivacy.mechanisms.selection.plan import Choice, make_choice
from dxprivacy.mechanisms.selection.selection_release import ChoiceRelease
from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan, plan_synthesis
from dxprivacy.policy import Policy
from dxprivacy.privacy.budget_fraction import USUAL_SHARE
from dxprivacy.queries.kinds.quantiles import Quantiles
from dxprivacy.queries.selections import Pick
from dxprivacy.queries.sql import sql_questions
from dxprivacy.releases import Release
from dxprivacy.releases.ledger_reference import LedgerReference
from dxprivacy.session.count_records import count as counted
from dxprivacy.session.count_records import public_rows
from dxprivacy.session.outcome import Outcome
from dxprivacy.session.recorded_steps import Recorded, require_budget
from dxprivacy.session.synthesizing import Synthesis, require_records, synthesis_of
from dxprivacy.session.timing import paced, period
from dxprivacy.wording import OneLine, numbered

T = TypeVar("T")
_LOG = Log("session")
_REHEARSED = "2000-01-01T00:00:00.000+00:00"


class Session(OneLine):
    """A policy, its data and its ledger.

    Planning looks at nothing but the policy and the public number of records; releasing reserves first.  Both are the
    curator's to name: nothing in a plan chooses them.  A missing ledger is refused, unless `new_ledger` is True: then
    the first reservation makes it.  With a `pace` ("1s", or "auto") answers leave at whole multiples of that period;
    `spill=False` keeps rows off the disk.

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"] * 100})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     release = session.release(session.plan("count by sex", share="25%", method="same-scale"))
    >>> release
    Release('8135', 2 answers, 400 records)
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        data: object,
        *,
        ledger: str | Path,
        new_ledger: bool = False,
        noise: Noise | None = None,
        pace: str | float | None = None,
        spill: bool = True,
    ) -> None:
        self.policy = policy if isinstance(policy, Policy) else Policy.load(policy)
        self._pace = pace
        period(pace, self.policy.universe, 1)  # refuses what is none
        if not new_ledger and is_missing(ledger):
            hint = ("new_ledger=True", "starts one, if nothing was ever released from this data")
            raise no_ledger_yet(ledger, [hint])
        self.source = open_data(data, self.policy.universe, self.policy.people_data, spill=spill)
        self.source.check(self.policy.universe)
        if (people := self.policy.universe.people) is not None:  # of files `dxp check --data` says the same
            for note in key_notes([column for column in key_columns(self.source, people) if column.inferred]):
                notice(note)
        self.ledger = Ledger.open(ledger, self.policy, new_ledger=new_ledger)
        self._noise: Noise = noise or SystemNoise()
        self._rows: int | None = None

    def in_short(self) -> str:
        return f"{self.policy.title!r}, {self.source.name!r}, {self.ledger.path.name!r}"

    @property
    def rows(self) -> int:
        """The public number of records; where it is private, how many there can be."""
        universe = self.policy.universe
        if universe.max_records is not None:
            return universe.max_records
        if self._rows is None:
            self._rows = public_rows(self.source, universe)
        return self._rows

    def pacing(self) -> AbstractContextManager[None]:
        """Around everything that looks at the data: leaves at whole multiples of the session's period."""
        return paced(period(self._pace, self.policy.universe, self.rows) if self._pace is not None else 0.0)

    def plan(
        self,
        *questions: Any,
        share: object = USUAL_SHARE,
        method: str = "auto",
        loss: str = "l2",
        rows: int | None = None,
        inside_ledger: bool = False,
        seconds: float | None = None,
    ) -> Plan:
        """The noise each answer would get; nothing is spent and no record is read.

        `share` is the part of every pair's ε that may be used: a tenth, unless you say otherwise, so that the first
        plan does not spend what all others need.
        `rows` is for policies under which the number of records is private: how many to reckon with for means.  Of
        people with several rows it is how many are kept, as a guess; otherwise as many as can be.
        `inside_ledger` plans within what the ledger has left on every pair, so that a release fits beside all others.
        """
        if rows is not None and self.policy.universe.absent is None:
            raise UsageError("the number of records is public, and taken from the data", hints=["leave rows out"])
        return make_plan(
            list(questions),
            self.policy.metric,
            method=method,
            loss=loss,
            share=share,
            rows=self.rows if rows is None else rows,
            spent=self.ledger.spent if inside_ledger else None,
            seconds=seconds,
            title=self.policy.title,
            dataset=self.policy.dataset,
        )

    def sql(
        self,
        text: str,
        *,
        share: object = USUAL_SHARE,
        method: str = "auto",
        loss: str = "l2",
        rows: int | None = None,
        inside_ledger: bool = False,
        seconds: float | None = None,
    ) -> Plan:
        """A plan of what a SELECT asks; nothing is spent and no record is read.

        `SELECT region, COUNT(*), AVG(income) FROM people WHERE age BETWEEN 18 AND 65 GROUP BY region`: any name may
        stand behind FROM, since the data are those of the session.  Needs `pip install "dxprivacy[sql]"`.
        """
        asked = sql_questions(text, self.policy.universe)
        return self.plan(
            asked, share=share, method=method, loss=loss, rows=rows, inside_ledger=inside_ledger, seconds=seconds
        )

    def carry_out(
        self, planned: Planned[T], *, request: str = "", anyway: bool = False, progress: Progress | None = None
    ) -> Outcome[T]:
        """Reserve, count, draw, keep: the one path of everything that spends.

        What can be refused from public numbers is refused before anything is spent.  The same mechanism again returns
        what was kept; a `request` name carries it out anew, at its full cost.  Answers that are no better than a guess
        are refused, unless `anyway` is True.
        """
        self._require_mine(planned)
        planned.certificate.require(at_most=planned.granted)
        if not anyway:
            self._require_informative(planned, planned.uninformative(self.rows), request)
        ledger, name = self.ledger, planned.entry_name(request)
        worst = ledger.worst_case(planned.reserved)
        planned.dry_run(self.rows, LedgerReference(ledger.path.name, 1, _REHEARSED, name, worst))
        ledger.verify_on_disk()
        spend = Recorded(ledger, name, self.pacing)
        reserved = spend.entries(in_steps=planned.in_steps)
        if not reserved:  # what was dropped or changed since the session began is refused before it costs anything
            self.source.check(self.policy.universe)
        if planned.in_steps:
            require_budget(ledger, planned, len(reserved))
        count = spend.guarded(lambda: self._counted(planned))
        # Told before anything is counted, and after an answer was kept at its pace: never in between.
        _LOG.event("carrying out", plan=planned.name, request=name, source=self.source.name)
        made = planned.run(count, self._noise, spend, progress=progress)
        alone = spend.reserved and not planned.in_steps
        entries = tuple(spend.reserved) if alone else spend.entries(in_steps=planned.in_steps)
        what = "answered" if spend.reserved else "answered from the ledger, nothing spent"
        _LOG.event(what, plan=planned.name, entries=numbered(entries), ledger=ledger.path)
        return Outcome(made, not spend.reserved, entries)

    def _counted(self, planned: Planned[Any]) -> Histogram:
        universe = self.policy.universe
        histogram = counted(self.source, universe, planned.asks, self.rows, planned.asks_people)
        if universe.max_records is None:
            self._rows = histogram.public_records  # a table of a server may have changed since they were counted
        return histogram

    def _require_mine(self, planned: Planned[Any]) -> None:
        what, again = planned.told
        if planned.metric.digest != self.policy.digest or planned.dataset != self.policy.dataset:
            raise UsageError(f"the {what} for another policy", hints=[again])

    def _require_informative(self, planned: Planned[Any] | SynthesisPlan, warning: str, request: str) -> None:
        """Refuse to spend on answers that are no better than a guess; those that were released before cost nothing."""
        if warning and not self.is_recorded(planned, request=request):
            raise UsageError(
                warning,
                details=["Nothing spent, no data read."],
                hints=[
                    ("anyway=True", "spends the budget all the same"),
                    ('share="50%"', "a larger share has less noise; fewer or coarser questions, too"),
                    ("policy.check()", "names places that nearly coincide"),
                ],
            )

    def release(self, plan: Plan, *, request: str = "", anyway: bool = False) -> Release:
        """Reserve, count, add noise, store, return.  The same plan again returns the stored release.

        Give a `request` name to answer the same plan anew, at its full cost.  A plan with a question whose answers are
        all no better than a guess is refused, unless `anyway` is True.
        """
        return self.answer(plan, request=request, anyway=anyway).release

    def answer(self, plan: Plan, *, request: str = "", anyway: bool = False) -> Outcome[Release]:
        """As `release`, saying also whether it was answered before."""
        if not isinstance(plan, Plan):
            raise UsageError(
                "a plan is needed", hints=[("session.plan(…)", "shows the error first, and costs nothing")]
            )
        return self.carry_out(plan, request=request, anyway=anyway)

    def plan_choice(
        self,
        pick: Pick | Quantiles | str,
        *,
        share: object = USUAL_SHARE,
        flip: bool = False,
        inside_ledger: bool = False,
    ) -> Choice:
        """What would be chosen among, and how far from the best; nothing is spent and no record is read.

        `pick` is `dx.most_common("job")`, `dx.median_of("age")`, … or the same in words.
        """
        return make_choice(
            pick,
            self.policy.metric,
            share=share,
            flip=flip,
            rows=self.rows,
            spent=self.ledger.spent if inside_ledger else None,
            title=self.policy.title,
            dataset=self.policy.dataset,
        )

    def choose(self, choice: Choice, *, request: str = "", anyway: bool = False) -> ChoiceRelease:
        """Reserve, count, choose, store, return.  The same choice again returns the stored one, at no cost.

        A choice that is no better than a guess is refused, unless `anyway` is True.
        """
        return self.chosen(choice, request=request, anyway=anyway).release

    def chosen(self, choice: Choice, *, request: str = "", anyway: bool = False) -> Outcome[ChoiceRelease]:
        """As `choose`, saying also whether it was made before."""
        if not isinstance(choice, Choice):
            hints = [("session.plan_choice(…)", "shows how good it will be first, and costs nothing")]
            raise UsageError("a planned choice is needed", hints=hints)
        return self.carry_out(choice, request=request, anyway=anyway)

    def plan_synthesis(
        self,
        *questions: Any,
        method: str = "auto",
        share: object = USUAL_SHARE,
        rounds: int | str | None = None,
        passes: int | None = None,
        inside_ledger: bool = False,
        seconds: float | None = None,
    ) -> SynthesisPlan:
        """Which method is expected to make better synthetic records; nothing is spent and no record is read."""
        return plan_synthesis(
            list(questions),
            self.policy.metric,
            method=method,
            share=share,
            rounds=rounds,
            passes=passes,
            records=self.rows,
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
        """Reserve, count, make synthetic records, compare.  The same plan again gives the same ones, at no cost.

        `records` is how many to make, if not as many as there are.  `progress` is told round numbers.  Records that are
        expected to be no better than a guess are refused, unless `anyway` is True.
        """
        if not isinstance(plan, SynthesisPlan):
            hints = [("session.plan_synthesis(…)", "shows first what to expect, and costs nothing")]
            raise UsageError("a plan of synthetic records is needed", hints=hints)
        require_records(self.policy.universe, records)
        if not anyway:
            self._require_informative(plan, plan.uninformative(), request)
        outcome = self.carry_out(plan.made, request=request, anyway=True, progress=progress)
        return synthesis_of(plan, outcome, self.policy, self.ledger, people=self.rows, records=records)

    @property
    def left(self) -> float:
        """The part of every pair's ε that is certain to be left: pair by pair it may be far more."""
        return max(0.0, float(1 - sum((entry.share for entry in self.ledger.entries()), Fraction(0))))

    def is_recorded(self, planned: Planned[Any] | SynthesisPlan, *, request: str = "") -> bool:
        """Whether the ledger holds this already, so that doing it again spends nothing."""
        made = planned.made if isinstance(planned, SynthesisPlan) else planned
        there = Recorded(self.ledger, made.entry_name(request)).entries(in_steps=made.in_steps)
        return len(there) >= made.entries

    def load_plan(self, path: str | Path) -> Plan:
        """A plan from its file, certified anew."""
        return read_plan(path, self.policy)

    def close(self) -> None:
        """Let go of the ledger."""
        self.ledger.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_plan(path: str | Path, policy: Policy) -> Plan:
    """A plan from its file, bound to a policy and certified anew."""
    return load_plan(read_json(path), policy.metric, dataset=policy.dataset, title=policy.title)


def read_json(path: str | Path) -> Any:
    """A JSON file that says one thing only, or our error."""
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
