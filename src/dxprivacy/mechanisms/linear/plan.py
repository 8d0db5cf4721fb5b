"""Plans of linear queries: certified noise for each answer. A plan is executed, saved and loaded here."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.answer_grid import require_room
from dxprivacy.exact.rounding import finite, written_fraction
from dxprivacy.formats.canonical import PLAN, WITH_RECONSTRUCTION, is_sealed, sealed
from dxprivacy.formats.file_access import PLAN as PLAN_FILE
from dxprivacy.formats.file_access import write_file
from dxprivacy.mechanisms.linear.estimators.block_max_tables import BlockMaxTables
from dxprivacy.mechanisms.linear.estimators.exact_reconstruction import ExactEstimator
from dxprivacy.mechanisms.linear.estimators.k_norm_counts import KNormCounts
from dxprivacy.mechanisms.linear.estimators.least_squares import LeastSquares
from dxprivacy.mechanisms.linear.estimators.measured import AsAsked, Measured, NoiseCost, RowForRow
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.mechanisms.linear.release_answers import build_release, dry_run
from dxprivacy.mechanisms.linear.run import noisy_rows
from dxprivacy.mechanisms.planned import Count, Planned, Progress
from dxprivacy.mechanisms.sampling import Noise
from dxprivacy.mechanisms.spending import Spending, read_kept
from dxprivacy.mechanisms.uninformative import plan_warning
from dxprivacy.metrics import Metric
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.stored_queries import from_dict, listed_rows
from dxprivacy.releases import Release, from_json
from dxprivacy.releases.answer_tables import columns_of, names, own_columns
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.tabular import NUMBER, TEXT, Columns, Printable, Tabular
from dxprivacy.universe.answers import ErrorOf
from dxprivacy.universe.workload import Answer, Workload
from dxprivacy.wording import Displayed, json_text, shown

MOST_QUERIES = 10_000
_ERRORS = ("typical_error", "half_width_95", "within", "standard_at_strictest_95", "standard_at_worst_case_95")
_WORDS = ("unit", "note", "label")


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(PlanFacts, Displayed, Tabular, Printable, Planned[Release]):
    """Certified noise scales for every measured row, ready to be released.

    >>> import dxprivacy as dx
    >>> plan = dx.plan([[1, 0, 0], [1, 1, 0]], dx.metrics.line(3, 1))
    >>> plan.scales, plan.certificate.ratio
    ((1.0, 1.0), Fraction(1, 1))
    """

    told = "plan was made", "session.plan(…)"

    @property
    def reserved(self) -> NoiseCost:
        return self.cost

    @property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        return self.counted.asks

    @property
    def asks_people(self) -> tuple[tuple[int, ...], ...]:
        return self.counted.asks_people

    def uninformative(self, records: int | None = None) -> str:
        text, whole = plan_warning(self, records)
        return text if whole else ""

    def dry_run(self, records: int, ledger_reference: LedgerReference) -> None:
        """Refuse releases that cannot be made, using public numbers only."""
        require_room(self.counted.largest, records, where="release")
        if self.measured.shifts is not None and records > (self.records or 0):
            raise UsageError(
                f"the plan is biased for {self.records or 0:,} records, and there are {records:,}",
                hints=[(f"--n-records {records}", "plans for that many"), ('method="optimal"', "has no bias")],
            )
        self.measured.prepare(self.scales)
        dry_run(self, records, ledger_reference)

    def run(self, count: Count, noise: Noise, spend: Spending, *, progress: Progress | None = None) -> Release:  # noqa: ARG002
        """Reserve the cost, count, add noise and store the release; a stored release is returned unchanged."""
        self.certificate.require(at_most=self.budget)  # Thm 1, before anything is spent, and again where noise is added

        made: list[Release] = []

        def act(ledger_reference: LedgerReference) -> str:
            histogram = count()
            z = noisy_rows(self, histogram, noise)
            made.append(build_release(self, z, histogram.public_records, ledger_reference))
            return made[0].to_json()

        kept = spend.step(self.cost, self.counted_queries, "", act, asked=self.queries)
        if made and kept is made[0].to_json():  # the stored text is the one just made, so it need not be parsed
            return made[0]
        return read_kept(kept, from_json)

    def __str__(self) -> str:
        return shown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the sealed JSON document: everything needed to check the plan again, and its errors for readers."""
        data = {"format": self.format(PLAN), **self.payload(), "method": self.method, "about": self.about}
        more = {
            "answers": self._answers(),
            "gains": [
                {"query": title, "standard_epsilon": finite(plain.epsilon), "gain": finite(plain.gain)}
                for title, plain in zip(self.workload.titles, self.baselines.queries, strict=True)
            ],
        }
        return sealed({**data, **more})

    def _answers(self) -> list[dict[str, Any]]:
        """The facts of each answer; if there are very many, runs of consecutive equal facts become one entry with a
        count.
        """
        named = len(self.workload.answers) <= MANY_ANSWERS
        out: list[dict[str, Any]] = []
        for k, (answer, error) in enumerate(zip(self.workload.answers, self.errors, strict=True)):
            facts = {
                "query": self.workload.titles[answer.query],
                "unit": answer.unit,
                "within": None if answer.within is None else str(answer.within),
                "rmse": error.rmse,
                "typical_error": error.typical,
                "half_width_95": error.half_width,
                "standard_at_strictest_95": _width(self.baselines.strict[k]),
                "standard_at_worst_case_95": _width(self.baselines.worst[k]),
                "exact": self.is_exact(answer),
            }
            if named:
                out.append({"label": answer.label, **facts})
            elif out and {"answers": out[-1]["answers"], **facts} == out[-1]:
                out[-1]["answers"] += 1
            else:
                out.append({"answers": 1, **facts})
        return out

    def _columns(self) -> Columns:
        """One table row per answer, with the columns of a release and errors in place of values."""
        answers, titles = self.workload.answers, self.workload.titles
        groups, called = columns_of(answers), names(answers)
        head = [(name, TEXT) for name in ("query", *own_columns(groups, ("query", *_ERRORS, *_WORDS)))]
        head += [(name, NUMBER) for name in _ERRORS] + [(name, TEXT) for name in _WORDS]

        def row(k: int, answer: Answer) -> list[Any]:
            error, by = self.errors[k], dict(answer.groups)
            within = None if answer.within is None else float(answer.within)
            plain = [_width(self.baselines.strict[k]), _width(self.baselines.worst[k])]
            told = [answer.unit, "exact" if self.is_exact(answer) else "", called[k]]
            cells = [by.get(name, "") for name in groups]
            return [titles[answer.query], *cells, error.typical, error.half_width, within, *plain, *told]

        return Columns.of(head, (row(k, answer) for k, answer in enumerate(answers)))

    def save(self, path: str | Path) -> Path:
        """Write the plan as JSON. An existing file is replaced only if it is a plan written by this package."""
        return write_file(path, json_text(self.to_dict()), PLAN_FILE)


MANY_ANSWERS = 10_000  # with more answers, a plan file holds no labels: they follow from the queries


def _width(error: ErrorOf | None) -> float | None:
    return None if error is None else finite(error.half_width)


def measure(how: object, asked: Workload, put: Stack) -> Measured:
    """Build the estimator with this name for a workload and its measured queries."""
    kinds: dict[str, type[Measured]] = {
        kind.how: kind for kind in (RowForRow, LeastSquares, KNormCounts, BlockMaxTables)
    }
    if not isinstance(how, str) or how not in kinds:
        raise UsageError("the plan uses an estimator that this version does not know")
    return kinds[how](asked, put)


def require_few(queries: Sequence[object]) -> None:
    """Refuse more queries than a plan can hold, because each query is processed by itself."""
    if len(queries) > MOST_QUERIES:
        raise UsageError(
            f"a plan of {len(queries):,} queries; it can hold {MOST_QUERIES:,}",
            hints=["ask for tables, ranges or a matrix: each is one query with many answers"],
        )


def _require_listed(data: dict[str, Any], measured: dict[str, Any]) -> None:
    """Refuse queries that expand to more rows than the file lists, before memory is allocated.

    A genuine plan lists a scale or an answer for every row.
    """
    put = measured.get("queries", [])
    require_few(data["queries"])
    require_few(put)
    most = len(data["scales"]) + len(data["answers"])
    if max(listed_rows(data["queries"]), listed_rows(put)) > most:
        raise ValueError("rows that are not listed")


def load_plan(data: dict[str, Any], metric: Metric, *, dataset: str = "", title: str = "") -> Plan:
    """Load a plan from JSON and certify it again; nothing that the file states about itself is trusted."""
    if not isinstance(data, dict) or not PLAN.reads(data.get("format")):
        raise UsageError("not a plan of this version", hints=["dxp plan … writes one"])
    try:
        if not is_sealed(data):
            raise UsageError(
                "the plan file was edited or damaged: its seal is broken", hints=["dxp plan … plans again"]
            )
        if data["policy"]["metric"]["digest"] != metric.digest or data["policy"]["dataset"] != dataset:
            raise UsageError(
                "the plan was made for another policy, or another version of it", hints=["dxp plan … plans again"]
            )
        given = data.get("measured") or {}
        _require_listed(data, given)
        queries = Stack(tuple(from_dict(q) for q in data["queries"]))
        scales = tuple(float.fromhex(s) for s in data["scales"])
        budget, rows = written_fraction(data["budget"]), data["rows"]
        method = str(data["method"])
        about = str(data.get("about", ""))
        put = Stack(tuple(from_dict(q) for q in given["queries"])) if given else None
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows < 1 << 62):
            raise ValueError("rows")
    except (
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        QueryError,
    ):
        raise UsageError("the plan file is damaged", hints=["dxp plan … plans again"]) from None
    if not 0 < budget <= 1:
        raise UsageError("the plan file is damaged: its budget is not between 0 and 1")
    workload = queries.on(metric.universe)
    measured = AsAsked(workload) if put is None else measure(given.get("how"), workload, put)
    if len(scales) != measured.workload.rows:
        raise UsageError("the plan file is damaged: its scales are not those of its queries", hints=["dxp plan …"])
    plan = Plan(
        queries=queries,
        workload=workload,
        metric=metric,
        scales=scales,
        budget=budget,
        method=method,
        records=rows,
        title=title,
        dataset=dataset,
        measured=measured,
        about=about,
    )
    plan.certificate.require(at_most=budget)
    if not plan.measured.as_asked:
        _ = plan.errors  # raises if the workload cannot be estimated from the measured rows
        if data["format"] == PLAN.numbered(WITH_RECONSTRUCTION):
            plan.measured.adopt(_reconstruction(given, workload.rows, len(scales)), scales)
    return plan


def _reconstruction(given: dict[str, Any], asked: int, counted: int) -> ExactEstimator:
    try:
        return ExactEstimator.from_dict(given["reconstruction"], asked, counted)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError("the plan file is damaged: its reconstruction", hints=["dxp plan … plans again"]) from None
