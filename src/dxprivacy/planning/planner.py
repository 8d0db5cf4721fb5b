"""From questions and a policy to a certified plan.  Never sees data."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.bounds import cover, max_ratio
from dxprivacy.errors import Hint, NotCertified, QuestionError, SeparatesIdentical, UsageError
from dxprivacy.model.arrays import Floats
from dxprivacy.model.blocks import OneHot
from dxprivacy.model.costs import LaplaceCost
from dxprivacy.model.grid import require_room
from dxprivacy.model.metrics import Metric
from dxprivacy.model.numbers import exact, round_up
from dxprivacy.model.questions import gather
from dxprivacy.model.workload import Ratio, Workload
from dxprivacy.planning.baselines import plain_sensitivities
from dxprivacy.planning.certificate import Certificate, certify
from dxprivacy.planning.expected import all_expected, groups_per_question, target_scales
from dxprivacy.planning.optimal import POWERS, SparsePairs, loss_of, optimise
from dxprivacy.planning.plan import Plan
from dxprivacy.planning.scales import Constraints, constraints, fill, own_precision

METHODS = ("auto", "equal-split", "same-scale", "fill", "optimal")
LOSSES = ("l2", "l1", "linf", "geomean")
_SAFETY = 1.0 + 2.0**-40  # proposals come from floats: leave room, the certificate decides


def make_plan(
    questions: Any,
    metric: Metric,
    *,
    method: str = "auto",
    loss: str = "l2",
    share: object = 1,
    rows: int | None = None,
    title: str = "",
    dataset: str = "",
) -> Plan:
    """The least noise we know that keeps the policy.

    `loss` is what `method="optimal"` makes least: squared errors, absolute errors, the largest one, or the geometric
    mean, each row measured by its target or by plain DP.

    >>> from dxprivacy.model import metrics
    >>> plan = make_plan([[1, 1, 0, 0]], metrics.constant(4, 0.1))
    >>> plan.scales, plan.certificate.ratio
    ((10.0,), Fraction(1, 1))
    """
    if method not in METHODS:
        raise UsageError(f"no method “{method}”", hints=[f"one of {', '.join(METHODS)}"])
    if loss not in LOSSES or (loss != "l2" and method != "optimal"):
        hints: list[Hint | str] = [f"one of {', '.join(LOSSES)}", ('method="optimal"', "is the one that knows losses")]
        raise UsageError(f"no loss “{loss}” for method “{method}”", hints=hints)
    if not isinstance(metric, Metric):
        raise UsageError(f"a metric is needed, not {type(metric).__name__}", hints=["dx.metrics.constant(n, 1)"])
    granted = parse_share(share)
    asked = gather(questions)
    workload = asked.on(metric.universe)
    rows = workload.universe.max_records if rows is None else rows  # where n is private: errors for that many
    _require_rows(workload, rows)
    rows = None if rows is None else int(rows)
    if rows is not None:
        require_room(workload.largest, workload.universe.max_records or rows, where="plan")
    task = _Task(workload, metric, granted, _targets(workload, rows), rows, _importance(workload))
    scales, certificate, used = _propose(task, method, loss)
    plan = Plan(asked, workload, metric, scales, granted, used, rows, title, dataset)
    plan.__dict__["certificate"] = certificate  # just computed for these scales: no need to do it twice
    return plan


def parse_share(share: object) -> Fraction:
    """`"25%"`, 0.25 or a fraction, in (0, 1].

    >>> parse_share("25%")
    Fraction(1, 4)
    """
    text = str(share).strip()
    value = exact(text[:-1], what="share") / 100 if text.endswith("%") else exact(share, what="share")
    if not 0 < value <= 1:
        hints = [f"{text}%"] if 1 < value <= 100 and not text.endswith("%") else []
        raise UsageError(f"share is {share}; it must be more than 0 and at most 100 %", hints=hints)
    return Fraction(value)


def _require_rows(workload: Workload, rows: int | None) -> None:
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 0):
        raise UsageError(f"rows is {rows!r}; the number of records is a whole number")
    needs = any(isinstance(a.recipe, Ratio) or a.recipe.per_record for a in workload.answers)
    if needs and not rows:
        raise QuestionError(
            "the error of a mean depends on the number of records, which is public",
            hints=[("--rows 20000", "in Python: rows=20000")],
        )


def _targets(workload: Workload, rows: int | None) -> Floats:
    """Per row the scale that is good enough; 0 where no target was given."""
    out = np.zeros(workload.rows)
    groups = groups_per_question(workload)
    untargeted = {r for a in workload.answers if a.within is None for r in a.rows}
    for answer in workload.answers:
        for row, scale in target_scales(answer, rows, groups[answer.question]).items():
            if row not in untargeted:
                out[row] = min(out[row], scale) if out[row] else scale
    return out


def _importance(workload: Workload) -> Floats:
    """Per row how many times its squared error counts: the largest weight of the answers made of it.

    Weights compare questions with one another: where all are the same, there are none.
    """
    weighed = {w: float(w) for w in {a.weight for a in workload.answers}}
    if len(weighed) == 1:
        return np.ones(workload.rows)
    out = np.zeros(workload.rows)
    for answer in workload.answers:
        for row in answer.rows:
            out[row] = max(out[row], weighed[answer.weight])
    return np.where(out > 0, out, 1.0)


@dataclass(frozen=True, eq=False)
class _Task:
    workload: Workload
    metric: Metric
    share: Fraction
    targets: Floats
    rows: int | None
    weights: Floats

    @cached_property
    def pull(self) -> Floats:
        """What a row's weight does to its part of the budget: the cube root, because the least sum a_k / w_k^2 under
        sum w_k = 1 has w_k ~ a_k^(1/3)."""
        return np.cbrt(self.weights)

    @property
    def units(self) -> Floats:
        return np.array([float(u) for u in self.workload.units])

    @cached_property
    def reference(self) -> Floats:
        plain = np.array([s or 1.0 for s in plain_sensitivities(self.workload)])[self.workload.block_of]
        return np.where(self.targets > 0, self.targets, plain)

    def certified(self, scales: Floats) -> tuple[tuple[float, ...], Certificate]:
        """Repair by the common factor that is missing, if any, and certify."""
        for _ in range(3):
            proposal = tuple(float(s) for s in scales)
            certificate = certify(LaplaceCost(self.workload, proposal), self.metric)
            if certificate.ratio <= self.share:
                return proposal, certificate
            if certificate.ratio == math.inf:
                break
            factor = round_up(Fraction(certificate.ratio) / self.share) * (1 + 2.0**-51)
            scales = np.array([s * factor for s in proposal])
        raise NotCertified("no scale could be certified", hints=["this is a bug: please report it"])


def _propose(task: _Task, method: str, loss: str) -> tuple[tuple[float, ...], Certificate, str]:
    same = _same_scale(task)
    if method == "same-scale" or (method == "auto" and task.workload.rows == 1):
        return *same, "same-scale"
    system = constraints(task.workload, task.metric, task.share)
    if system is None:
        if method in ("auto", "same-scale"):
            return *same, "same-scale"
        raise NotCertified(f"too many pairs for method “{method}”", hints=[("method=same-scale", "works at any size")])
    if method == "equal-split":
        return *task.certified(_equal_split(task, system)), "equal-split"
    if method == "optimal":
        return *_optimal(task, system, loss), "optimal"
    candidates = [task.certified(s) for s in _filled(task, system)]
    best = min(candidates, key=lambda c: _merit(task, c[0]))
    misses, error = _merit(task, best[0])
    if method == "auto" and _merit(task, same[0]) <= (misses, error * (1 + 1e-9)):
        return *same, "same-scale"
    return *best, "fill"


def _merit(task: _Task, scales: tuple[float, ...]) -> tuple[int, float]:
    """How many answers miss their target, then squared errors, each row measured by its target or by plain DP, and
    counted as often as its weight says."""
    misses = 0
    if (task.targets > 0).any():
        errors = all_expected(task.workload, scales, task.rows)
        wanted = ((e.half_width, a.within) for a, e in zip(task.workload.answers, errors, strict=True))
        misses = sum(within is not None and width > float(within) * (1 + 1e-9) for width, within in wanted)
    return misses, float(np.sum(task.weights * (np.array(scales) / task.reference) ** 2))


def _same_scale(task: _Task) -> tuple[tuple[float, ...], Certificate]:
    """Strategy 2: one scale, in the answers' units, equal to the joint sensitivity; exact, rounded up once.

    Rows with a weight get so much less, by its cube root.
    """
    workload = task.workload
    free = _free_rows(task)
    noisy = {u for u, f in zip(workload.units, free.tolist(), strict=True) if not f}
    smallest = min(noisy, default=Fraction(1))
    by_unit = {u: round_up(smallest / u) for u in noisy}
    rows = zip(workload.units, free.tolist(), task.pull.tolist(), strict=True)
    relative = [0.0 if f else by_unit[u] / pull for u, f, pull in rows]
    bound = max_ratio(LaplaceCost(workload, relative), task.metric)
    if bound.upper == math.inf:
        raise _separates(task, bound.witness)
    scale = Fraction(bound.upper) / task.share
    by_relative = {r: round_up(scale * Fraction(r)) if r else 0.0 for r in set(relative)}
    scales = np.array([by_relative[r] for r in relative])
    return task.certified(np.where(scales > 0, np.maximum(scales, task.targets), 0.0))


def _free_rows(task: _Task) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Rows that no finite distance limits: constant over the universe, or differing only where the policy is public.

    Their answers are exact.  The covering pairs tell it for each explicit row, and for structured blocks as a whole.
    """
    workload = task.workload
    free = np.ones(workload.rows, dtype=bool)
    for block, start in zip(workload.blocks, workload.offsets, strict=True):
        alone = LaplaceCost(Workload(workload.universe, (block,), ()), np.ones(block.rows))
        pairs = cover(alone, task.metric)
        if isinstance(block, OneHot) or not pairs.tight:
            free[start : start + block.rows] = max_ratio(alone, task.metric).upper == 0
            continue
        for i, j in pairs.pairs(1 << 12):
            asks = np.isfinite(task.metric.pairwise(i, j))
            free[start + block.differences(i[asks], j[asks])[1]] = False
    return free


def _equal_split(task: _Task, system: Constraints) -> Floats:
    """Strategy 1: every row that needs noise gets the same part of the budget, or one that follows its weight."""
    own = own_precision(system)
    parts = float(task.pull[np.isfinite(own[system.variable])].sum())
    return _as_scales(task, own * _per_variable(task.pull, system) / (parts or 1.0), system)


def _per_variable(values: Floats, system: Constraints) -> Floats:
    """From rows to variables: the largest."""
    out = np.zeros(system.count)
    np.maximum.at(out, system.variable, values)
    return out


def _filled(task: _Task, system: Constraints) -> list[Floats]:
    """Progressive filling, in the proportions of strategy 1, of strategy 2 and of the targets."""
    own = own_precision(system)
    finite = np.isfinite(own)
    wanted = np.full(system.count, np.inf)
    with np.errstate(divide="ignore"):
        np.minimum.at(wanted, system.variable, np.where(task.targets > 0, 1.0 / task.targets, np.inf))
        caps = np.where(finite, wanted, 0.0)
    units, pull = _per_variable(task.units, system), _per_variable(task.pull, system)
    own = own * pull
    proportions = [np.where(finite, own, 0.0), np.where(finite, units * pull, 0.0)]
    if np.isfinite(wanted).any():
        proportions.append(np.where(finite, np.where(np.isfinite(wanted), wanted * pull, own), 0.0))
    filled = [fill(system, p, caps) for p in proportions]
    targeted = np.isfinite(wanted) & finite
    if targeted.any() and not targeted[finite].all():  # targets first, but a tenth of every pair is kept for the rest
        most = replace(system, limits=system.limits * 0.9)
        first = fill(most, np.where(targeted, own, 0.0), caps)
        filled.append(fill(system, np.where(finite, own, 0.0), caps, first))
    return [_as_scales(task, np.where(finite, w, np.inf), system) for w in filled]


def _optimal(task: _Task, system: Constraints, loss: str) -> tuple[tuple[float, ...], Certificate]:
    """The least loss, with a lower bound on that of any other scales for the same rows."""
    own = own_precision(system)
    finite = np.isfinite(own)
    power = POWERS.get(loss, 0)
    importance = np.zeros(system.count)
    np.add.at(importance, system.variable, task.weights / task.reference**power)
    caps = np.full(system.count, np.inf)
    with np.errstate(divide="ignore"):
        np.minimum.at(caps, system.variable, np.where(task.targets > 0, 1.0 / task.targets, np.inf))
    pairs = SparsePairs(system.loads.tocsc()[:, finite].tocsr(), system.limits)
    w = np.full(system.count, np.inf)
    if loss == "linf":  # all rows alike, measured by their references: one factor for all
        reference = np.zeros(system.count)
        np.maximum.at(reference, system.variable, task.reference)
        even = np.minimum(1.0 / reference[finite], caps[finite])
        used = float(pairs.used(even).max(initial=0.0))
        w[finite] = np.minimum(even / used, caps[finite]) if used else even
        return task.certified(_as_scales(task, w, system))
    if not finite.any():
        return task.certified(_as_scales(task, w, system))
    found = optimise(pairs, importance[finite], power, caps[finite])
    w[finite] = found.w
    scales, certificate = task.certified(_as_scales(task, w, system))
    # What counts is the loss of the scales that were certified, after all rounding; rows of one variable share theirs.
    final = np.zeros(system.count)
    final[system.variable] = scales
    reached = loss_of(1.0 / final[finite], importance[finite], power)
    size = reached if power else float(importance[finite].sum())
    gap = max((reached - found.lower_bound) / size, 0.0)
    return scales, replace(certificate, lower_bound=found.lower_bound, gap=gap)


def _as_scales(task: _Task, precision: Floats, system: Constraints) -> Floats:
    """From w per variable to scales per row: safely larger, never below the target, 0 where nothing limits."""
    w = precision[system.variable]
    with np.errstate(divide="ignore"):
        scales = np.where(np.isfinite(w), _SAFETY / w, 0.0)
    scales = np.where(scales <= task.targets * _SAFETY**2, task.targets, scales)
    return np.where(np.isfinite(w), scales, 0.0)


def _separates(task: _Task, pair: tuple[int, int] | None) -> SeparatesIdentical:
    a, b = task.metric.universe.tell(*(pair or (0, 0)))
    question = ""
    if pair is not None:
        rows = task.workload.differences(np.array([pair[0]]), np.array([pair[1]]))[1]
        for answer in task.workload.answers:
            if set(answer.rows) & set(rows.tolist()):
                question = task.workload.titles[answer.question]
                break
    return SeparatesIdentical(
        "separates records the policy calls identical",
        where=f"question “{question}”",
        details=[f"{a} and {b} have ε 0: no noise is enough."],
        hints=["group them together, or give the pair an ε above 0"],
    )
