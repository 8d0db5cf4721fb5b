"""A planned small database: m records that answer many questions almost as the data would (Algorithm 1 of the paper).

Candidates are all multisets y of m records over the N cells.  With rows A of whole numbers and whole weights w that
bring all rows to about the same range, the score of y is the whole number

    S(y) = max_k w_k |m (A x)_k - n (A y)_k|        and its weight   exp(-S(y) / (2 m s)).

Replacing record i by j moves S by at most m max_k w_k |A_ki - A_kj|, so the loss is `max_k |A_ki - A_kj| / (s /
w_k)`: a `SelectionCost` (Theorems 3 and 5).  The rows are those that were asked, or flatter ones from the exact
envelope of `biased/smalldb.py`, whose answers are off by a known bias but cost less.  Everything here is decided from
public numbers.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.accounting import max_ratio
from dxprivacy.accounting.certificate import Certificate, certify
from dxprivacy.accounting.costs import SelectionCost
from dxprivacy.accounting.refusals import separates
from dxprivacy.errors import NotCertified, QuestionError, TooLarge, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.grid import fits_scores
from dxprivacy.exact.numbers import round_down, round_up
from dxprivacy.files.canonical import digest_of
from dxprivacy.mechanisms.laplace.planner import parse_share
from dxprivacy.mechanisms.smalldb.bounds import (
    alpha_of,
    database_size,
    error_bound,
    log_databases,
    require_alpha,
    require_beta,
)
from dxprivacy.mechanisms.smalldb.routes import Route, route
from dxprivacy.mechanisms.smalldb.rows import Rows, asked_rows, flatter_rows
from dxprivacy.metrics import Metric
from dxprivacy.model.workload import Linear, Workload
from dxprivacy.questions.grouping import require_honest
from dxprivacy.questions.questions import Stack, gather
from dxprivacy.wording import shown

_SHARP = 2.0**40  # where the policy asks for nothing: so much smaller than a score is the scale
_REPAIRS = 8


@dataclass(frozen=True, eq=False)
class SmallDbPlan:
    """What would be drawn: its size, scale, route, certificate and error.  It costs nothing, and holds no data."""

    questions: Stack
    workload: Workload
    rows: Rows = field(repr=False)  # what the candidates are compared by
    metric: Metric = field(repr=False)
    scale: float  # s
    size: int  # m
    records: int  # n
    beta: float
    share: Fraction
    route: Route
    title: str = ""
    dataset: str = ""

    @property
    def counted_questions(self) -> Stack:
        """The questions that are put to the data."""
        return self.rows.questions

    @cached_property
    def cost(self) -> SelectionCost:
        """What it would cost, pair by pair; s / w rounded down, which rounds the loss up."""
        return SelectionCost(self.rows.workload, _scales(self.scale, self.rows.weights))

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that this very scale keeps the policy."""
        return replace(certify(self.cost, self.metric), norm="linf")

    @property
    def rate(self) -> Fraction:
        """A candidate's weight is exp(-S rate)."""
        return 1 / (2 * self.size * Fraction(self.scale))

    @property
    def free(self) -> bool:
        """Whether no row tells any two records apart: then the answer does not look at the data, and costs nothing."""
        return self.rows.constant

    @property
    def alpha(self) -> float:
        """How well some database of this size answers, in parts of n and of each row's range."""
        return alpha_of(self.size, len(self.rows.weights))

    @property
    def bounds(self) -> Floats:
        """Per answer: its error is at most this, in its own units, with probability 1 - beta for all of them."""
        return self._per_answer(self.row_bounds)

    @cached_property
    def row_bounds(self) -> Floats:
        """Per row that was asked: the error is at most this, in its own units, with probability 1 - beta for all rows.

        Proposition 1, corrected: bias + alpha n + 2c (ln C(N + m - 1, m) + ln 1/beta).
        """
        spans = self.rows.spans()
        widest, c = max(spans), 0.0 if self.free else self.scale
        off = error_bound(self.records, self.alpha * widest, c, self.route.log_candidates, self.beta)
        rows = zip(self.rows.bias, self.rows.units, self.rows.weights, spans, strict=True)
        return np.array([b * self.records + (off * float(u) / w if span else 0.0) for b, u, w, span in rows])

    @property
    def says_nothing(self) -> bool:
        """Whether the bound is so large that any answer would keep it."""
        whole = [float(x) * self.records for x in self.rows.asked_spans]
        return all(b >= w for b, w in zip(self.row_bounds, whole, strict=True))

    @property
    def relative_bound(self) -> float:
        """The largest of the bounds, each measured by its row's range."""
        return float((self.row_bounds / self.rows.sizes).max())

    def answers(self, database: Ints) -> Floats:
        """The answers, from a small database: rescaled to n, in their own units.  Post-processing."""
        found = self.rows.workload.answer(database)
        units = self.rows.units
        rows = np.array([float(int(a) * f * self.records / self.size) for a, f in zip(found, units, strict=True)])
        return self._per_answer(rows)

    def _per_answer(self, rows: Floats) -> Floats:
        """Answers are rows; a mean over all records is its row over their public number."""
        recipes = [a.recipe for a in self.workload.answers if isinstance(a.recipe, Linear)]
        return np.array([rows[r.row] / (self.records if r.per_record else 1) for r in recipes])

    @cached_property
    def request(self) -> str:
        """The plan's own name: a digest of everything that matters to what is drawn."""
        return digest_of(
            {
                "mechanism": "smalldb",
                "metric": self.metric.digest,
                "dataset": self.dataset,
                "questions": [{k: v for k, v in q.items() if k != "title"} for q in self.questions.to_dict()],
                "workload": self.rows.workload.digest,
                "weights": list(self.rows.weights),
                "scale": self.scale.hex(),
                "size": self.size,
                "records": self.records,
                "share": str(self.share),
            }
        )

    @property
    def name(self) -> str:
        """The first digits of the digest, for people and file names."""
        return self.request[:4]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the public facts."""
        return {
            "mechanism": "smalldb",
            "name": self.name,
            "request": self.request,
            "questions": self.questions.to_dict(),
            "put": self.counted_questions.to_dict(),
            "weights": list(self.rows.weights),
            "scale": self.scale.hex(),
            "share": str(self.share),
            "size": self.size,
            "records": self.records,
            "alpha": self.alpha,
            "beta": self.beta,
            "route": self.route.name,
            "log_candidates": self.route.log_candidates,
            "bounds": self.bounds.tolist(),
            "certificate": self.certificate.to_dict(),
        }

    def __str__(self) -> str:
        return shown(self)


def make_smalldb(
    questions: Any,
    metric: Metric,
    *,
    rows: int,
    alpha: float | None = 0.5,
    beta: float = 0.05,
    share: object = 1,
    flatten: bool | None = None,
    title: str = "",
    dataset: str = "",
) -> SmallDbPlan:
    """Plan a small database for n = `rows` records; `alpha=None` takes the size with the least error that can be drawn.

    `flatten` compares the candidates by flatter rows, from the exact envelope; None does so where the bound gets less.

    >>> from dxprivacy import metrics
    >>> plan = make_smalldb([[1, 1, 0, 0]], metrics.constant(4, 1), rows=1000, alpha=0.2)
    >>> plan.size, plan.scale, plan.route.name
    (9, 1.0, 'enumeration')
    """
    if not isinstance(metric, Metric):
        raise UsageError(f"a metric is needed, not {type(metric).__name__}", hints=["dx.metrics.constant(n, 1)"])
    n, granted = _records(rows, metric), parse_share(share)
    require_beta(beta)
    if alpha is not None:
        require_alpha(alpha)
    asked = gather(questions)
    require_honest(asked, metric.universe)
    workload = asked.on(metric.universe)
    if not all(isinstance(a.recipe, Linear) for a in workload.answers):
        raise QuestionError("means of groups are ratios; a small database answers counts and sums", hints=["sum …"])
    plans = []
    refusal: TooLarge | None = None
    for flat in (False, True) if flatten is None else (bool(flatten),):
        if flat:
            found = flatter_rows(asked, workload, metric, n, granted, beta, needed=flatten is True)
        else:
            found = asked_rows(asked, workload)
        if found is None and flatten is None:
            continue
        try:
            rows_put = found or asked_rows(asked, workload)  # constant rows are as flat as can be
            plans.append(_planned(asked, workload, rows_put, metric, n, alpha, beta, granted, title, dataset))
        except TooLarge as error:
            refusal = refusal or error
    if not plans:
        raise refusal or TooLarge("no small database can be drawn")
    return min(plans, key=lambda plan: plan.relative_bound)


def _planned(
    asked: Stack, workload: Workload, found: Rows, metric: Metric, n: int, alpha: float | None, beta: float,
    share: Fraction, title: str, dataset: str,
) -> SmallDbPlan:  # fmt: skip
    scale = _certified_scale(found, metric, share, n)
    sizes = [database_size(alpha, len(found.weights))] if alpha is not None else _SIZES
    best: SmallDbPlan | None = None
    refusal: TooLarge | None = None
    for size in sizes:
        try:
            way = _way(found, metric, scale, size, n)
        except TooLarge as error:
            refusal = error
            break  # larger ones are no easier
        if best is not None and not way.quick:
            break  # nobody asked for this very size
        plan = SmallDbPlan(asked, workload, found, metric, scale, size, n, beta, share, way, title, dataset)
        if best is None or plan.relative_bound < best.relative_bound:
            best = plan
    if best is None:
        raise refusal or TooLarge("no small database can be drawn")
    best.certificate.require(at_most=share)
    return best


_SIZES = tuple(sorted({round(1.15**k) for k in range(1, 60)}))


def _way(found: Rows, metric: Metric, scale: float, size: int, n: int) -> Route:
    """The route, after everything that could leave exact numbers was refused."""
    largest, spans = found.workload.largest, found.spans()
    widest = max(spans)
    if not (fits_scores(2 * largest * max(found.weights) * n * size, 0) and fits_scores(widest * n, scale)):
        raise TooLarge(
            f"{n:,} records times {size:,} are too many for exact scores", where="smalldb", hints=["a larger alpha"]
        )
    cells = metric.universe.cells
    exponent = widest * n / (2 * scale)
    raw = [span // weight for span, weight in zip(spans, found.weights, strict=True)]
    return route(cells, size, len(spans), raw, exponent, log_databases(cells, size))


def _certified_scale(found: Rows, metric: Metric, share: Fraction, n: int) -> float:
    """The least float64 s at which the loss stays within the share."""
    if found.constant:
        return 1.0  # all candidates have the same score: it does not matter
    bound = max_ratio(SelectionCost(found.workload, _scales(1.0, found.weights)), metric)
    if bound.upper == math.inf:
        raise separates(found.workload, metric, bound.witness)
    scale = round_up(Fraction(bound.upper) / share)
    if scale == 0:  # rows differ only where the policy is public
        return max(found.spans()) * n / _SHARP
    for _ in range(_REPAIRS):
        ratio = max_ratio(SelectionCost(found.workload, _scales(scale, found.weights)), metric).upper
        if ratio <= share:
            return scale
        scale = round_up(Fraction(scale) * Fraction(ratio) / share * (1 + Fraction(1, 1 << 50)))
    raise NotCertified("no scale could be certified", hints=["this is a bug: please report it"])


def _scales(scale: float, weights: tuple[int, ...]) -> list[float]:
    return [round_down(Fraction(scale) / w) for w in weights]


def _records(rows: object, metric: Metric) -> int:
    if metric.universe.absent is not None:
        raise UsageError(
            "a small database is rescaled to the number of records, which is private under this policy",
            hints=[("--method direct", "fits records to noisy answers instead")],
        )
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 0:
        raise UsageError(f"rows is {rows!r}; the number of records is a whole number")
    if rows == 0:
        raise UsageError("there are no records to learn from", hints=["rows=1000"])
    return int(rows)
