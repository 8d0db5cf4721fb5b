"""A plan: the noise each answer will get, with its certificate and its expected error.  It costs nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dxprivacy.accounting import largest_loss
from dxprivacy.accounting.certificate import Certificate, certify
from dxprivacy.accounting.costs import LaplaceCost
from dxprivacy.errors import NotCertified, QuestionError, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.numbers import written_fraction
from dxprivacy.files.canonical import digest_of, is_sealed, sealed
from dxprivacy.files.writing import PLAN, write_file
from dxprivacy.mechanisms.laplace.baselines import Baselines, Ours, baselines
from dxprivacy.mechanisms.laplace.expected import ErrorOf, Interval, all_expected, interval
from dxprivacy.mechanisms.laplace.laws import Law, laplace_laws
from dxprivacy.mechanisms.laplace.least_squares import LeastSquares
from dxprivacy.mechanisms.laplace.measured import Measured, RowForRow
from dxprivacy.mechanisms.laplace.reconstruction import WayBack
from dxprivacy.metrics import Metric
from dxprivacy.model.workload import Answer, Workload
from dxprivacy.questions.questions import Stack
from dxprivacy.questions.stored import from_dict, listed_rows
from dxprivacy.wording import json_text, shown

FORMAT = "dxprivacy-plan/3"
CARRYING = "dxprivacy-plan/4"  # with the reconstruction of what was asked from what is counted
READABLE = (CARRYING, FORMAT, "dxprivacy-plan/2")  # that of 0.1.0, whose questions mean what they meant
MOST_QUESTIONS = 10_000
LARGEST_SCALE = 2.0**52  # on the grid; answers and noise together stay within 64 bits


@dataclass(frozen=True, eq=False)
class Plan:
    """Scales for every row that is counted, certified against a policy.

    What is counted are the rows of the workload, or others (`measured`) from which those are worked out.
    """

    questions: Stack
    workload: Workload
    metric: Metric = field(repr=False)
    scales: tuple[float, ...]
    share: Fraction
    method: str
    rows: int | None
    title: str = ""
    dataset: str = ""
    measured: Measured | None = None  # what is counted instead of the rows that were asked for
    about: str = ""  # in words: which strategy, and how good it is
    planner: str = "auto"  # the method that was asked for, by which plain DP is planned for comparison as well

    def __post_init__(self) -> None:
        if max(self.scales, default=0.0) >= LARGEST_SCALE:
            raise NotCertified("the noise would be larger than any answer", hints=["the policy is too strict for this"])

    @property
    def counted(self) -> Workload:
        """The rows that get noise."""
        return self.workload if self.measured is None else self.measured.workload

    @property
    def counted_questions(self) -> Stack:
        """The questions that are put to the data: those that were asked, or others in their place."""
        return self.questions if self.measured is None else self.measured.questions

    @cached_property
    def cost(self) -> LaplaceCost:
        """What a release would cost, pair by pair."""
        return LaplaceCost(self.counted, self.scales)

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The law of the noise in each row that was asked for."""
        return laplace_laws(self.scales) if self.measured is None else self.measured.laws(self.scales)

    def estimate(self, noisy: Ints, records: int) -> "list[int | float | Fraction]":
        """The rows that were asked for, from noisy counts: post-processing."""
        return noisy.tolist() if self.measured is None else self.measured.estimate(noisy, self.scales, records)

    @property
    def reconstruction(self) -> WayBack | None:
        """The way from counted rows to those that were asked for, where the plan's file carries it."""
        return None if self.measured is None else self.measured.reconstruction(self.scales)

    def interval(self, answer: Answer, rows: "Sequence[int | float | Fraction]", records: int) -> Interval:
        """The released value of an answer and its 95 % interval, from estimated rows."""
        shifts = None if self.measured is None else self.measured.shifts
        return interval(answer, rows, self.laws, records, 0.0 if shifts is None else shifts[answer.rows[0]])

    def is_exact(self, answer: Answer) -> bool:
        """Whether an answer has no noise, and nothing else moves it: shift, rounding, or cells that hide a part."""
        shifts = None if self.measured is None else self.measured.shifts
        recipe = answer.recipe
        return not (recipe.below or recipe.above or recipe.bias) and all(
            self.laws[r].variance == 0 and (shifts is None or not shifts[r]) for r in answer.rows
        )

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that these very scales keep the policy; computed from them, never carried along."""
        return certify(self.cost, self.metric)

    @cached_property
    def errors(self) -> tuple[ErrorOf, ...]:
        """Expected error per answer."""
        shifts = None if self.measured is None else self.measured.shifts
        return all_expected(self.workload, self.laws, self.rows, shifts)

    @cached_property
    def worst_case(self) -> tuple[float, tuple[int, int] | None]:
        """The plain-DP reading: the largest loss over all pairs, and its pair."""
        return largest_loss(self.cost)

    @property
    def worst_epsilon(self) -> float:
        """The largest loss over all pairs."""
        return self.worst_case[0]

    @cached_property
    def baselines(self) -> Baselines:
        """What plain differential privacy would give, question by question."""
        ratio, worst = float(self.certificate.ratio), self.worst_epsilon
        return baselines(
            Ours(
                self.questions, self.workload, self.metric, self.share, self.rows, self.scales, self.measured,
                self.laws, self.errors, ratio, worst, self.planner,
            )
        )  # fmt: skip

    @property
    def expected_rmse(self) -> Floats:
        """Root mean square error per answer."""
        return np.array([e.rmse for e in self.errors])

    @property
    def gains(self) -> tuple[float, ...]:
        """Per question: how many times more noise the same planner would need under one ε for all pairs, the least
        that the question tells apart; never below 1 (`baselines` says why), inf where nothing limits it."""
        return tuple(question.gain for question in self.baselines.questions)

    @cached_property
    def improvement(self) -> Floats:
        """Per answer: the error of plain DP as strict as the closest pair that its question tells apart, divided by
        ours; inf for exact answers.

        Of a question as a whole it is at least 1; one of its answers may be given up a little for the others.
        """
        return np.array([_times(theirs, ours) for theirs, ours in zip(self.baselines.strict, self.errors, strict=True)])

    @cached_property
    def request(self) -> str:
        """The plan's own name: a digest of everything that matters to a release."""
        return digest_of(
            {
                "metric": self.metric.digest,
                "dataset": self.dataset,
                # A question called otherwise is the same question: its answer is not paid for twice.
                "questions": [{k: v for k, v in q.items() if k != "title"} for q in self.questions.to_dict()],
                "workload": self.workload.digest,
                "scales": [s.hex() for s in self.scales],
                "share": str(self.share),
                "rows": self.rows,
                **({} if self.measured is None else {"measured": [self.measured.how, self.measured.workload.digest]}),
            }
        )

    @property
    def name(self) -> str:
        """The first digits of the digest, for people and file names."""
        return self.request[:4]

    def __str__(self) -> str:
        return shown(self)

    def essence(self) -> dict[str, Any]:
        """For JSON: what a plan and its release have in common, enough to check both from the file alone."""
        return {
            "name": self.name,
            "request": self.request,
            "policy": {
                "title": self.title,
                "dataset": self.dataset,
                "unit": self.metric.universe.privacy_unit,
                "metric": self.metric.to_dict(),
            },
            "universe": self.metric.universe.to_dict(),
            "questions": self.questions.to_dict(),
            "workload": self.workload.digest,
            "rows": self.rows,
            "share": str(self.share),
            "scales": [s.hex() for s in self.scales],
            "certificate": self.certificate.to_dict(),
            "worst_case_epsilon": _finite(self.worst_epsilon),
            **({} if self.measured is None else {"measured": self.measured.to_dict() | self._carried()}),
        }

    def _carried(self) -> dict[str, Any]:
        carried = self.reconstruction
        return {} if carried is None else {"reconstruction": carried.to_dict()}

    def to_dict(self) -> dict[str, Any]:
        """For JSON: everything needed to check the plan again, and what a person wants to know; sealed."""
        version = FORMAT if self.reconstruction is None else CARRYING
        data = {"format": version, **self.essence(), "method": self.method, "about": self.about}
        more = {
            "answers": [
                {
                    "label": answer.label,
                    "question": self.workload.titles[answer.question],
                    "unit": answer.unit,
                    "within": None if answer.within is None else str(answer.within),
                    "rmse": error.rmse,
                    "typical_error": error.typical,
                    "half_width_95": error.half_width,
                    "plain_as_strict_95": _width(self.baselines.strict[k]),
                    "plain_at_worst_case_95": _width(self.baselines.worst[k]),
                    "exact": self.is_exact(answer),
                }
                for k, (answer, error) in enumerate(zip(self.workload.answers, self.errors, strict=True))
            ],
            "gains": [
                {"question": title, "plain_epsilon": _finite(plain.epsilon), "gain": _finite(plain.gain)}
                for title, plain in zip(self.workload.titles, self.baselines.questions, strict=True)
            ],
        }
        return sealed({**data, **more})

    def save(self, path: str | Path) -> Path:
        """Write the plan as JSON; a file that is there is replaced only if it is a plan that we wrote."""
        return write_file(path, json_text(self.to_dict()), PLAN)


def measure(how: object, asked: Workload, put: Stack) -> Measured:
    """The way from other rows to those that were asked for, by its name."""
    kinds: dict[str, type[Measured]] = {kind.how: kind for kind in (RowForRow, LeastSquares)}
    if not isinstance(how, str) or how not in kinds:
        raise UsageError("the plan works its answers out in a way that this version does not know")
    return kinds[how](asked, put)


def _finite(x: float) -> float | None:
    return x if np.isfinite(x) else None


def _width(error: ErrorOf | None) -> float | None:
    return None if error is None else _finite(error.half_width)


def _times(theirs: ErrorOf | None, ours: ErrorOf) -> float:
    """How many times ours, of the widths that a reader sees; by the mean square where 95 % of one's noise is 0."""
    if theirs is None:
        return np.inf
    if min(theirs.half_width, ours.half_width) > 0:
        return theirs.half_width / ours.half_width
    return theirs.rmse / ours.rmse if ours.rmse > 0 else np.inf


def require_few(questions: Sequence[object]) -> None:
    """Refuse more questions than a plan can hold: each is worked out by itself, whatever it says."""
    if len(questions) > MOST_QUESTIONS:
        raise UsageError(
            f"a plan of {len(questions):,} questions; it can hold {MOST_QUESTIONS:,}",
            hints=["ask for tables, ranges or a matrix: each is one question with many answers"],
        )


def _require_listed(data: dict[str, Any], measured: dict[str, Any]) -> None:
    """Refuse rows that exist in a shape alone, before room is made for them: a plan lists every scale and answer."""
    put = measured.get("questions", [])
    require_few(data["questions"])
    require_few(put)
    most = len(data["scales"]) + len(data["answers"])
    if max(listed_rows(data["questions"]), listed_rows(put)) > most:
        raise ValueError("rows that are not listed")


def load_plan(data: dict[str, Any], metric: Metric, *, dataset: str = "", title: str = "") -> Plan:
    """A plan back from JSON, certified anew: what the file says about itself is not believed."""
    if not isinstance(data, dict) or data.get("format") not in READABLE:
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
        questions = Stack(tuple(from_dict(q) for q in data["questions"]))
        scales = tuple(float.fromhex(s) for s in data["scales"])
        share, rows = written_fraction(data["share"]), data["rows"]
        method = str(data["method"])
        about = str(data.get("about", ""))
        put = Stack(tuple(from_dict(q) for q in given["questions"])) if given else None
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
        QuestionError,
    ):
        raise UsageError("the plan file is damaged", hints=["dxp plan … plans again"]) from None
    if not 0 < share <= 1:
        raise UsageError("the plan file is damaged: its share is not between 0 and 1")
    workload = questions.on(metric.universe)
    measured = None if put is None else measure(given.get("how"), workload, put)
    if len(scales) != (workload if measured is None else measured.workload).rows:
        raise UsageError("the plan file is damaged: its scales are not those of its questions", hints=["dxp plan …"])
    plan = Plan(questions, workload, metric, scales, share, method, rows, title, dataset, measured, about)
    plan.certificate.require(at_most=share)
    if plan.measured is not None:
        _ = plan.errors  # refuses what does not follow from the counted rows
        if data["format"] == CARRYING:
            plan.measured.adopt(_reconstruction(given, workload.rows, len(scales)), scales)
    return plan


def _reconstruction(given: dict[str, Any], asked: int, counted: int) -> WayBack:
    try:
        return WayBack.from_dict(given["reconstruction"], asked, counted)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError("the plan file is damaged: its reconstruction", hints=["dxp plan … plans again"]) from None
