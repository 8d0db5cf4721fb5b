"""A planned choice: candidates, the scale of their scores, the certificate and how good the choice will be.

The exponential mechanism takes candidate r with probability proportional to `exp(u_r / (2c))` (Definition 9 of the
paper). Theorem 3: it is d_X-private if every score moves by at most c d(i, j).  The scores follow rows A of whole
numbers and move by at most `max_k |A_ki - A_kj|`, so c is the largest of these over the distance, divided by the
share, rounded up to a float64; the certificate is computed from that very number.

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

from dxprivacy.accounting import closest_told_apart, largest_loss, max_ratio
from dxprivacy.accounting.certificate import Certificate, certify
from dxprivacy.accounting.costs import SelectionCost
from dxprivacy.accounting.refusals import separates
from dxprivacy.errors import NotCertified, TooLarge, UsageError
from dxprivacy.exact.grid import fits_scores
from dxprivacy.exact.numbers import round_up
from dxprivacy.files.canonical import digest_of, sealed
from dxprivacy.mechanisms.laplace.planner import parse_share
from dxprivacy.metrics import Extreme, Metric
from dxprivacy.model.workload import Workload
from dxprivacy.questions.candidates import Candidates
from dxprivacy.questions.grouping import require_honest
from dxprivacy.questions.pick_grammar import parse_pick
from dxprivacy.questions.picks import BinEdges, Closest, Largest, Pick, Quantile
from dxprivacy.wording import shown

FORMAT = "dxprivacy-choice-plan/1"
_READABLE = 1 << 40  # records that no table holds: where their number is private, nothing may depend on it
_REPAIRS = 8


@dataclass(frozen=True, eq=False)
class Choice:
    """What would be chosen, at which scale, certified against a policy.  It costs nothing, and holds no data."""

    pick: Pick
    candidates: Candidates
    metric: Metric = field(repr=False)
    scale: float  # c; 0 where the policy calls everything that matters public: the best is taken
    share: Fraction
    flip: bool = False  # by permute-and-flip
    title: str = ""
    dataset: str = ""
    rows: int | None = None  # how many records there are, where that was said: nothing depends on it but words

    @property
    def workload(self) -> Workload:
        """The rows that are counted."""
        return self.candidates.workload

    @cached_property
    def cost(self) -> SelectionCost:
        """What the choice would cost, pair by pair."""
        return SelectionCost(self.workload, np.full(self.workload.rows, self.scale))

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that this very scale keeps the policy; computed from it, never carried along."""
        return replace(certify(self.cost, self.metric), norm="linf")

    def shortfall(self, beta: float = 0.05) -> float:
        """By how much the chosen score is below the best with probability at most `beta`, in people's units.

        Theorem 4, corrected, with t = ln(1/beta); the number of best candidates is private, and taken as 1.
        """
        if not 0 < beta < 1:
            raise UsageError(f"beta is {beta}; a probability between 0 and 1 is needed")
        return shortfall(self.scale, len(self.candidates), beta) * float(self.candidates.unit)

    @cached_property
    def worst_epsilon(self) -> float:
        """The plain-DP reading: the largest loss over all pairs."""
        return largest_loss(self.cost)[0]

    @cached_property
    def plain(self) -> Extreme | None:
        """The closest pair that the choice tells apart: plain DP as strict protects all pairs like that one."""
        return closest_told_apart(self.workload, self.metric)

    @cached_property
    def gain(self) -> float:
        """How many times larger the scale of plain DP would be, as strict as the closest pair that is told apart.

        Not below 1: our scale is the largest of D / d, and theirs the largest D over the least d.
        """
        closest = self.plain
        if closest is None or self.scale == 0:
            return math.inf
        whole, _ = largest_loss(SelectionCost(self.workload, np.ones(self.workload.rows)))
        return whole / closest.distance / float(self.share) / self.scale

    @cached_property
    def request(self) -> str:
        """The choice's own name: a digest of everything that matters to it."""
        return digest_of(
            {
                "metric": self.metric.digest,
                "dataset": self.dataset,
                "choose": _untitled(self.pick.to_dict()),
                "workload": self.workload.digest,
                "candidates": digest_of(list(self.candidates.labels)),
                "scale": self.scale.hex(),
                "share": str(self.share),
                "flip": self.flip,
            }
        )

    @property
    def name(self) -> str:
        """The first digits of the digest, for people and file names."""
        return self.request[:4]

    def __str__(self) -> str:
        return shown(self)

    def require_room(self, records: int) -> None:
        """Refuse, from public numbers, scores that the exact sampler could not hold."""
        most = self.candidates.largest(records)
        private = self.metric.universe.absent is not None
        if private and self.workload.largest * _READABLE >= 1 << 61:
            raise TooLarge("the numbers of this choice are too large where the number of records is private")
        if not fits_scores(most, self.scale):
            raise TooLarge(
                f"{records:,} records with numbers up to {self.workload.largest:,} are too many for exact scores",
                hints=["larger units, or narrower ranges"],
            )

    def essence(self) -> dict[str, Any]:
        """For JSON: what a planned choice and its release have in common, enough to check both from the file alone."""
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
            "choose": self.pick.to_dict(),
            "questions": self.candidates.questions.to_dict(),
            "workload": self.workload.digest,
            "candidates": list(self.candidates.labels),
            "share": str(self.share),
            "scale": self.scale.hex(),
            "mechanism": "permute-and-flip" if self.flip else "exponential",
            "certificate": self.certificate.to_dict(),
            "worst_case_epsilon": self.worst_epsilon if math.isfinite(self.worst_epsilon) else None,
            "short_by_at_most_95": self.shortfall(),
            "short_in": self.candidates.measure,
        }

    def to_dict(self) -> dict[str, Any]:
        """For JSON, sealed."""
        return sealed({"format": FORMAT, "title": str(self.pick), **self.essence()})


def _untitled(pick: dict[str, Any]) -> dict[str, Any]:
    """A question called otherwise is the same question: its choice is not paid for twice."""
    if "questions" not in pick:
        return pick
    return {**pick, "questions": [{k: v for k, v in q.items() if k != "title"} for q in pick["questions"]]}


def shortfall(scale: float, candidates: int, beta: float) -> float:
    """`2c (ln |R| + ln 1/beta)`; nothing where there is one candidate.

    >>> round(shortfall(10.0, 100, 0.05), 1)
    152.0
    """
    return 2 * scale * (math.log(candidates) + math.log(1 / beta)) if candidates > 1 else 0.0


def certified_scale(cost_of_one: Fraction, share: Fraction) -> float:
    """The least float64 scale at which a loss that takes so much of the policy at scale 1 keeps to a share."""
    return round_up(Fraction(cost_of_one) / share)


def make_choice(
    pick: Pick | str,
    metric: Metric,
    *,
    share: object = 1,
    flip: bool = False,
    rows: int | None = None,
    title: str = "",
    dataset: str = "",
) -> Choice:
    """A certified choice; `rows` is the public number of records, where it is known.

    >>> from dxprivacy import metrics
    >>> from dxprivacy.attributes.integers import Integers
    >>> from dxprivacy.model.universe import Universe
    >>> ages = Universe([Integers(name="age", low=0, high=9, has_other=False)])
    >>> choice = make_choice("median age", metrics.attributes(ages, {"age": {"epsilon": 1, "per": 1}}))
    >>> choice.scale, choice.certificate.ratio, round(choice.shortfall(), 1)
    (2.0, Fraction(1, 1), 10.6)
    """
    if not isinstance(metric, Metric):
        raise UsageError(f"a metric is needed, not {type(metric).__name__}", hints=["dx.metrics.constant(n, 1)"])
    wanted = parse_pick(pick) if isinstance(pick, str) else pick
    if not isinstance(wanted, (Largest, Closest, Quantile, BinEdges)):
        raise UsageError(
            f"not a choice: {type(wanted).__name__}", hints=['dx.most_common("job")', 'dx.median_of("age")']
        )
    granted = parse_share(share)
    if isinstance(wanted, (Largest, Closest)):
        require_honest(wanted.questions, metric.universe)
    found = wanted.on(metric.universe)
    bound = max_ratio(SelectionCost(found.workload, np.ones(found.workload.rows)), metric)
    if bound.upper == math.inf:
        raise separates(found.workload, metric, bound.witness)
    scale = certified_scale(Fraction(bound.upper), granted)
    known = metric.universe.max_records if rows is None else _whole(rows)
    for _ in range(_REPAIRS):
        choice = Choice(wanted, found, metric, scale, granted, bool(flip), title, dataset, known)
        if choice.certificate.ratio <= granted:
            break
        scale = round_up(Fraction(scale) * Fraction(choice.certificate.ratio) / granted * (1 + Fraction(1, 1 << 50)))
    else:
        raise NotCertified("no scale could be certified", hints=["this is a bug: please report it"])
    if known is not None:
        choice.require_room(known)
    return choice


def _whole(rows: object) -> int:
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 0:
        raise UsageError(f"rows is {rows!r}; the number of records is a whole number")
    return int(rows)
