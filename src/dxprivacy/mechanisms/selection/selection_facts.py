"""Facts of a planned selection: candidates, the scale of their scores, the certificate and the expected quality.

The exponential mechanism selects candidate r with probability proportional to `exp(u_r / (2c))` (Definition 9 of the
paper). Theorem 3: it is d_X-private if every score changes by at most c d(i, j). The scores follow integer rows A and
change by at most `max_k |A_ki - A_kj|`. So c is the largest ratio of that to the distance, divided by the budget and
rounded up to a float64. The certificate is computed from exactly that number.

Theorem 4, corrected: with probability at least 1 - e^-t, the selected score is above `best - 2c (ln |R| + t)`.
Permute-and-flip has the same loss bound on every pair, and falls short of any amount with no larger probability
(McKenna and Sheldon 2020), so the statement holds for it, too.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import TooLarge, UsageError
from dxprivacy.exact.answer_grid import fits_scores
from dxprivacy.formats.canonical import digest_of
from dxprivacy.mechanisms.planned import Facts
from dxprivacy.metrics import Extreme, Metric
from dxprivacy.privacy import largest_loss, strictest_pair
from dxprivacy.privacy.certificate import Certificate, certify
from dxprivacy.privacy.costs import SelectionCost
from dxprivacy.queries.selections import Candidates, Pick
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import percent, plural

_READABLE = 1 << 40  # more records than any table holds: a refusal must not depend on a private number of records


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectionFacts(Facts):
    """The facts of a planned selection. They cost nothing and hold no data."""

    pick: Pick
    candidates: Candidates
    metric: Metric = field(repr=False)
    scale: float  # c; 0 if the policy makes everything that matters public: the best is taken
    budget: Fraction
    flip: bool = False  # by permute-and-flip
    title: str = ""
    dataset: str = ""
    records: int | None = None  # number of records, if given; only texts depend on it

    @property
    def workload(self) -> Workload:  # type: ignore[override]
        """The measured rows, from which scores are computed."""
        return self.candidates.workload

    @cached_property
    def cost(self) -> SelectionCost:
        """The cost of the selection: its privacy loss on each pair."""
        return SelectionCost(self.workload, np.full(self.workload.rows, self.scale))

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that this scale keeps the policy; always computed from the scale itself."""
        return replace(certify(self.cost, self.metric), norm="linf")

    def in_short(self) -> str:
        candidates = plural(len(self.candidates), "candidate")
        return f"{self.name!r}, {str(self.pick)!r}, {candidates}, {percent(float(self.budget))} of the policy"

    def shortfall(self, beta: float = 0.05) -> float:
        """Return a bound on the selected score's distance from the best, exceeded with probability at most `beta`.

        The bound is in the units of the answers. Theorem 4, corrected, with t = ln(1/beta); the number of best
        candidates is private, and assumed to be 1.
        """
        if not 0 < beta < 1:
            raise UsageError(f"beta is {beta}; a probability between 0 and 1 is needed")
        return shortfall(self.scale, len(self.candidates), beta) * float(self.candidates.unit)

    @cached_property
    def worst_epsilon(self) -> float:
        """The worst-case ε: the largest privacy loss over all pairs."""
        return largest_loss(self.cost)[0]

    @cached_property
    def plain(self) -> Extreme | None:
        """The strictest pair: the closest pair that the selection separates, whose distance standard DP needs for all
        pairs.
        """
        return strictest_pair(self.workload, self.metric)

    @cached_property
    def gain(self) -> float:
        """Noise ratio: the scale of standard DP at the strictest ε divided by ours.

        It is not below 1: our scale is the largest of D / d, and theirs the largest D over the least d.
        """
        closest = self.plain
        if closest is None or self.scale == 0:
            return math.inf
        whole, _ = largest_loss(SelectionCost(self.workload, np.ones(self.workload.rows)))
        return whole / (closest.distance * self.metric.universe.rows_each) / float(self.budget) / self.scale

    @cached_property
    def request(self) -> str:
        """The selection's identifier: a digest of everything that matters to it."""
        return digest_of(
            {
                "metric": self.metric.digest,
                "dataset": self.dataset,
                "select": _untitled(self.pick.to_dict()),
                "workload": self.workload.digest,
                "candidates": digest_of(list(self.candidates.labels)),
                "scale": self.scale.hex(),
                "budget": str(self.budget),
                "flip": self.flip,
            }
        )

    def require_room(self, records: int) -> None:
        """Refuse, from public numbers, scores that the exact sampler could not hold."""
        most = self.candidates.largest(records)
        private = self.metric.universe.absent is not None
        if private and self.workload.largest * _READABLE >= 1 << 61:
            raise TooLarge("the numbers of this selection are too large where the number of records is private")
        if not fits_scores(most, self.scale):
            raise TooLarge(
                f"{records:,} records with numbers up to {self.workload.largest:,} are too many for exact scores",
                hints=["larger units, or narrower ranges"],
            )

    def payload(self) -> dict[str, Any]:
        """Return the JSON fields that a planned selection and its release share; they suffice to check either file by
        itself.
        """
        return {
            "name": self.name,
            "request": self.request,
            **self.policy_facts(),
            "select": self.pick.to_dict(),
            "queries": self.candidates.queries.to_dict(),
            "workload": self.workload.digest,
            "candidates": list(self.candidates.labels),
            "budget": str(self.budget),
            "scale": self.scale.hex(),
            "mechanism": "permute-and-flip" if self.flip else "exponential",
            "certificate": self.certificate.to_dict(),
            "worst_case_epsilon": self.worst_epsilon if math.isfinite(self.worst_epsilon) else None,
            "short_by_at_most_95": self.shortfall(),
            "short_in": self.candidates.measure,
        }


def _untitled(pick: dict[str, Any]) -> dict[str, Any]:
    """Titles are left out: a renamed query is the same query, and its selection is not charged twice."""
    if "queries" not in pick:
        return pick
    return {**pick, "queries": [{k: v for k, v in q.items() if k != "title"} for q in pick["queries"]]}


def shortfall(scale: float, candidates: int, beta: float) -> float:
    """Return `2c (ln |R| + ln 1/beta)`; 0 if there is only one candidate.

    >>> round(shortfall(10.0, 100, 0.05), 1)
    152.0
    """
    return 2 * scale * (math.log(candidates) + math.log(1 / beta)) if candidates > 1 else 0.0


# -- Probability that a selection takes the best, from public numbers only ---------------------------------------------


def chance_of_the_best(selection: SelectionFacts, records: int) -> float:
    """Return the probability of the best candidate if its score leads by as much as this number of records allows.

    Computed for weights `exp(u / 2c)`; permute-and-flip does at least as well.
    """
    if selection.scale == 0:
        return 1.0
    ahead = selection.candidates.largest(records) / (2 * selection.scale)
    return 1.0 / (1.0 + (len(selection.candidates) - 1) * math.exp(-min(ahead, 700.0)))
