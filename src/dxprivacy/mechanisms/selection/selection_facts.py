"""What a planned selection knows: candidates, the scale of their scores, the certificate and how good the selection
will be.

The exponential mechanism takes candidate r with probability proportional to `exp(u_r / (2c))` (Definition 9 of the
paper). Theorem 3: it is d_X-private if every score moves by at most c d(i, j).  The scores follow rows A of whole
numbers and move by at most `max_k |A_ki - A_kj|`, so c is the largest of these over the distance, divided by the
budget, rounded up to a float64; the certificate is computed from that very number.

Theorem 4, corrected: with probability at least 1 - e^-t the score of what is chosen is above
`best - 2c (ln |R| + t)`.  Permute-and-flip keeps the same distance on every pair, and falls short of any amount with no
larger probability (McKenna and Sheldon 2020), so that the statement holds for it too.
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

_READABLE = 1 << 40  # records that no table holds: where their number is private, nothing may depend on it


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectionFacts(Facts):
    """What would be chosen, at which scale, certified against a policy.  It costs nothing, and holds no data."""

    pick: Pick
    candidates: Candidates
    metric: Metric = field(repr=False)
    scale: float  # c; 0 where the policy calls everything that matters public: the best is taken
    budget: Fraction
    flip: bool = False  # by permute-and-flip
    title: str = ""
    dataset: str = ""
    records: int | None = None  # how many records there are, where that was said: nothing depends on it but words

    @property
    def workload(self) -> Workload:  # type: ignore[override]
        """The rows that are counted."""
        return self.candidates.workload

    @cached_property
    def cost(self) -> SelectionCost:
        """What the selection would cost, pair by pair."""
        return SelectionCost(self.workload, np.full(self.workload.rows, self.scale))

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that this very scale keeps the policy; computed from it, never carried along."""
        return replace(certify(self.cost, self.metric), norm="linf")

    def in_short(self) -> str:
        candidates = plural(len(self.candidates), "candidate")
        return f"{self.name!r}, {str(self.pick)!r}, {candidates}, {percent(float(self.budget))} of the policy"

    def shortfall(self, beta: float = 0.05) -> float:
        """By how much the chosen score is below the best with probability at most `beta`, in people's units.

        Theorem 4, corrected, with t = ln(1/beta); the number of best candidates is private, and taken as 1.
        """
        if not 0 < beta < 1:
            raise UsageError(f"beta is {beta}; a probability between 0 and 1 is needed")
        return shortfall(self.scale, len(self.candidates), beta) * float(self.candidates.unit)

    @cached_property
    def worst_epsilon(self) -> float:
        """The standard-DP reading: the largest loss over all pairs."""
        return largest_loss(self.cost)[0]

    @cached_property
    def plain(self) -> Extreme | None:
        """The closest pair that the selection separates: standard DP at the strictest ε protects all pairs like it."""
        return strictest_pair(self.workload, self.metric)

    @cached_property
    def gain(self) -> float:
        """How many times larger the scale of standard DP would be, as strict as the closest pair that is told apart.

        Not below 1: our scale is the largest of D / d, and theirs the largest D over the least d.
        """
        closest = self.plain
        if closest is None or self.scale == 0:
            return math.inf
        whole, _ = largest_loss(SelectionCost(self.workload, np.ones(self.workload.rows)))
        return whole / (closest.distance * self.metric.universe.rows_each) / float(self.budget) / self.scale

    @cached_property
    def request(self) -> str:
        """The selection's own name: a digest of everything that matters to it."""
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
        """For JSON: what a planned selection and its release have in common, enough to check both from the file
        alone.
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
    """A query called otherwise is the same query: its selection is not paid for twice."""
    if "queries" not in pick:
        return pick
    return {**pick, "queries": [{k: v for k, v in q.items() if k != "title"} for q in pick["queries"]]}


def shortfall(scale: float, candidates: int, beta: float) -> float:
    """`2c (ln |R| + ln 1/beta)`; nothing where there is one candidate.

    >>> round(shortfall(10.0, 100, 0.05), 1)
    152.0
    """
    return 2 * scale * (math.log(candidates) + math.log(1 / beta)) if candidates > 1 else 0.0


# -- How likely a selection takes the best: from public numbers alone --------------------------------------------------


def chance_of_the_best(selection: SelectionFacts, records: int) -> float:
    """That the best is chosen where its score is as far above all others as so many records can make it.

    Of `exp(u / 2c)`; permute-and-flip errs no more.
    """
    if selection.scale == 0:
        return 1.0
    ahead = selection.candidates.largest(records) / (2 * selection.scale)
    return 1.0 / (1.0 + (len(selection.candidates) - 1) * math.exp(-min(ahead, 700.0)))
