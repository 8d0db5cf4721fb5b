"""What a planned small database knows: m records that answer many questions almost as the data (Algorithm 1).

Candidates are all multisets y of m records over the N cells.  With rows A of whole numbers and whole weights w that
bring all rows to about the same range, the score of y is the whole number

    S(y) = max_k w_k |m (A x)_k - n (A y)_k|        and its weight   exp(-S(y) / (2 m s)).

Replacing record i by j moves S by at most m max_k w_k |A_ki - A_kj|, so the loss is `max_k |A_ki - A_kj| / (s /
w_k)`: a `SelectionCost` (Theorems 3 and 5).  The rows are those that were asked, or flatter ones from the exact
envelope of `biased/smalldb.py`, whose answers are off by a known bias but cost less.  Everything here is decided from
public numbers.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import round_down
from dxprivacy.formats.canonical import digest_of
from dxprivacy.mechanisms.known_facts import Facts
from dxprivacy.mechanisms.smalldb.compared_queries import Rows
from dxprivacy.mechanisms.smalldb.routes import Route
from dxprivacy.mechanisms.smalldb.smalldb_bounds import (
    alpha_of,
    error_bound,
)
from dxprivacy.metrics import Metric
from dxprivacy.privacy.certificate import Certificate, certify
from dxprivacy.privacy.costs import SelectionCost
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.workload import Workload


@dataclass(frozen=True, eq=False, kw_only=True)
class SmallDbFacts(Facts):
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
        return SelectionCost(self.rows.workload, scales_of(self.scale, self.rows.weights))

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
        alone = [(a.recipe.single, a.recipe.is_mean) for a in self.workload.answers]
        return np.array([rows[row] / (self.records if mean else 1) for row, mean in alone if row is not None])

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

    def payload(self) -> dict[str, Any]:
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


def scales_of(scale: float, weights: tuple[int, ...]) -> list[float]:
    """Per row s / w, rounded down: so the loss is rounded up."""
    return [round_down(Fraction(scale) / w) for w in weights]
