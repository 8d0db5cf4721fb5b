"""Planning methods: each proposes noise scales, and all proposals are certified in the same way.

`PLANNING_METHODS` lists them in the order in which `method="auto"` tries them. To add one, add a `PlanningMethod`: its
name, whether it applies to a task, and what it proposes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import round_up
from dxprivacy.mechanisms.linear.planning.constraints import (
    Constraints,
    constraints_by_direction,
    fill,
    fixed,
    of_what_is_left,
)
from dxprivacy.mechanisms.linear.planning.problem import Candidate, Proposal, Task
from dxprivacy.mechanisms.linear.strategies.other_rows import (
    by_k_norm_noise,
    by_shifting,
    by_strategy,
    may_be_shifted,
    may_use_k_norm,
    may_use_strategy,
    quickly_shifted,
    redundant,
)
from dxprivacy.optimize.barrier import evened, objective_of, optimize
from dxprivacy.optimize.pair_constraints import Pairs
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost

_SAFETY = 1.0 + 2.0**-40  # proposals are floats: leave room for rounding, the certificate decides
WORTH_IT = 1 - 1 / 1.1**2  # of the squared error: a strategy must lower the error by a tenth
_BY_FAR = 1 - 1 / 2.0**2  # at most half the error
_SEARCHES = 40  # rounds of search for violated pairs
_SHORT = 1 + 1e-8  # of a pair's limit: a smaller violation is ignored
_RIVALS = ("matrix", "k-norm")
CLOSE = 1e-6  # an optimality gap that counts as closed
MAX_NEWTON = 30_000_000_000  # operations of one Newton step: about 2,000 rows
MAX_NEWTON_AUTO = 1_000_000_000  # about 700 rows: some seconds in all
MAX_TABLES = 500  # each of which is handled by itself
MAX_ROUNDS_WORK = 500_000_000  # loads in all rounds of strategy 3, for auto


@dataclass(frozen=True)
class PlanningMethod:
    """A planning method: its name, the tasks to which it applies, and its proposals.

    A method that measures a strategy (`propose_strategy`) starts from the best plan found for the workload's own rows.
    """

    name: str
    applies: Callable[[Task], bool]
    propose_scales: Callable[[Task], Iterator[Proposal]] | None = None
    propose_strategy: Callable[[Task, Candidate | None], Iterator[Proposal]] | None = None
    in_auto: Callable[[Task], bool] = lambda _: True

    def proposals(self, task: Task, own: Candidate | None) -> Iterator[Proposal]:
        """Yield the method's proposals."""
        if self.propose_scales is not None:
            return self.propose_scales(task)
        if self.propose_strategy is None:
            raise TypeError("a planning method needs `propose_scales` or `propose_strategy`")
        return self.propose_strategy(task, own)


def try_method(task: Task, method_: PlanningMethod, own: Candidate | None = None) -> tuple[Candidate, float | None]:
    """Return the best certified proposal of one method, and a lower bound on the error objective, if it found one."""
    if method_.propose_scales is not None and not method_.applies(task):
        raise NotCertified(
            f"too many pairs or rows for method “{method_.name}”",
            hints=[("method=same-scale", "works at any size")],
        )
    best: Candidate | None = None
    floor: float | None = None
    for proposal in method_.proposals(task, own):
        found = task.certified(method_.name, proposal)
        floor = proposal.floor if floor is None else floor
        if best is None or task.better(task.merit(found), task.merit(best)):
            best = found
        if task.watch.over:
            break
    if best is None:
        raise NotCertified(f"method “{method_.name}” found nothing", hints=[("method=same-scale", "works at any size")])
    return best, floor


def best_of_all(task: Task) -> Candidate:
    """Return the best certified plan of all methods that apply, and the first of equally good ones.

    A strategy is taken only if it lowers the error by a tenth, because its answers are not integers.
    """
    simple = simplest(task)
    if redundant(task):  # highly redundant queries: a strategy wins by far, if there is one
        found = _instead(task, simple)
        merit = _merit(task, found[0]) if found else None
        if merit is not None and task.better(merit, task.merit(simple), by=_BY_FAR):
            return found[0]
    own, floor = best_of_own_rows(task)
    others = [] if good_enough(task, own) else _instead(task, own)
    return task.rated(preferred(task, own, others), floor)


def good_enough(task: Task, own: Candidate) -> bool:
    """Whether all targets are met; the rest of the budget is then kept."""
    return bool((task.targets > 0).any()) and task.merit(own)[0] == 0


def preferred(task: Task, own: Candidate, others: Iterable[Candidate]) -> Candidate:
    """Return the plan of the workload's own rows, unless it misses its goals and a strategy is worth it."""
    best, most = own, task.merit(own)
    for other in [] if good_enough(task, own) else _without_noisier(task, others):
        merit = _merit(task, other)
        if merit is not None and task.better(merit, most, by=WORTH_IT):
            best, most = other, merit
    return best


def _without_noisier(task: Task, others: Iterable[Candidate]) -> list[Candidate]:
    """Keep the better of independent and k-norm noise: neither has to be worth it compared with the other."""
    found = list(others)
    rivals = [(other, merit) for other in found if other.method in _RIVALS and (merit := _merit(task, other))]
    for one, merit in rivals:
        if any(task.better(theirs, merit) for _, theirs in rivals):
            found.remove(one)
    return found


def _merit(task: Task, other: Candidate) -> tuple[int, float] | None:
    """The merit of a strategy; None if its estimator is too large to compute."""
    try:
        return task.merit(other)
    except NotCertified:
        return None


def _instead(task: Task, own: Candidate) -> list[Candidate]:
    """The plans of all methods that measure a strategy and find one."""
    out = []
    for method_ in PLANNING_METHODS:
        if method_.propose_strategy is None or task.watch.over or not (method_.in_auto(task) and method_.applies(task)):
            continue
        try:
            out.append(try_method(task, method_, own)[0])
        except NotCertified:
            continue
    return _without_noisier(task, out)


def best_of_own_rows(task: Task) -> tuple[Candidate, float | None]:
    """Return the best certified scales for the workload's own rows, and a lower bound on the objective of any.

    If the gap is closed and there are no targets, no method can improve the plan, and the rest is not tried. With
    targets, the number of targets that are met comes first. That is not a convex problem, so all methods are tried.
    """
    best: Candidate | None = None
    floor: float | None = None
    for method_ in PLANNING_METHODS:
        late = best is not None and task.watch.over
        if method_.propose_scales is None or late or not (method_.applies(task) and method_.in_auto(task)):
            continue
        found, bound = try_method(task, method_)
        floor = bound if floor is None else floor
        if best is None or task.better(task.merit(found), task.merit(best)):
            best = found
        gap = task.rated(best, floor).certificate.gap
        if gap is not None:
            task.watch.gap(gap)
            if gap <= CLOSE and (len(best.scales) == 1 or not (task.targets > 0).any()):
                break
    if best is None:
        raise NotCertified("no method applies", hints=["this is a bug: please report it"])
    return best, floor


def _same_scale(task: Task) -> Iterator[Proposal]:
    """Strategy 2: one scale, in the answers' units, equal to the joint sensitivity; exact, rounded up once."""
    exact = Fraction(task.even_bound.upper) / task.budget
    if task.spent is not None:
        exact = max(exact, Fraction(task.growth_beside_spent * _SAFETY))
    by_relative = {r: round_up(exact * Fraction(r)) if r else 0.0 for r in set(task.even_scales)}
    scales = np.array([by_relative[r] for r in task.even_scales])
    scales = np.where(scales > 0, np.maximum(scales, task.targets), 0.0)
    alone = len(scales) == 1 and task.even_bound.exact and task.spent is None
    # For one row, this is the closed-form optimum.
    yield Proposal(scales, _just_below(task.objective_of(scales)) if alone else None)


def _table_by_table(task: Task) -> Iterator[Proposal]:
    """One scale for each table, if there are too many pairs, from the sum of the tables' needs along each attribute."""
    next(_same_scale(task))  # raises if nothing is left of a pair
    system = constraints_by_direction(task.workload, task.metric, task.budget)
    w, _ = _least_loss(task, system)
    scales = _as_scales(task, w, system)
    together = float(max_ratio(LaplaceCost(task.workload, scales), task.metric).upper / task.budget)
    yield Proposal(np.where(scales > 0, np.maximum(scales * min(together * _SAFETY, 1.0), task.targets), 0.0))


def _equal_split(task: Task) -> Iterator[Proposal]:
    """Strategy 1: every row that needs noise gets the same part of the budget, adjusted by its weight."""
    system = _system(task)
    own = system.pairs.own()[0]
    parts = float(task.importance[np.isfinite(own[system.variable])].sum())
    yield Proposal(_as_scales(task, own * _per_variable(task.importance, system) / (parts or 1.0), system))


def _psa(task: Task) -> Iterator[Proposal]:
    """Strategy 3 (PSA): in rounds, each row gets its part of what is left on its own pairs."""
    system = _system(task)
    caps = _caps(task, system)
    pull = _per_variable(task.importance, system)
    rounds = of_what_is_left(system.pairs, pull)
    w = fill(system.pairs, rounds, np.where(_limited(system), caps, 0.0), jointly=False, watch=task.watch)
    yield Proposal(_as_scales(task, np.where(_limited(system), w, np.inf), system))


def _filled(task: Task) -> Iterator[Proposal]:
    """Progressive filling, in the proportions of strategy 1, of strategy 2 and of the targets."""
    system, each = _small_system(task), _system(task)
    pairs, limited = system.pairs, _limited(system)
    wanted = _caps(task, system)
    caps = np.where(limited, wanted, 0.0)
    pull = _per_variable(task.importance, system)
    own = np.where(limited, _per_variable(each.pairs.own()[0][each.variable], system), 0.0) * pull
    proportions = [own, np.where(limited, _per_variable(task.units, system) * pull, 0.0)]
    if np.isfinite(wanted).any():
        proportions.append(np.where(limited, np.where(np.isfinite(wanted), wanted * pull, own), 0.0))
    for p in proportions:
        w = fill(pairs, fixed(p), caps, watch=task.watch)
        yield Proposal(_as_scales(task, np.where(limited, w, np.inf), system))
    targeted = np.isfinite(wanted) & limited
    # Targets first, but a tenth of every pair is reserved for the rest.
    if targeted.any() and not targeted[limited].all():
        first = fill(pairs, fixed(own), np.where(targeted, caps, 0.0), part=0.9, watch=task.watch)
        w = fill(pairs, fixed(own), caps, first, watch=task.watch)
        yield Proposal(_as_scales(task, np.where(limited, w, np.inf), system))


def _optimal(task: Task) -> Iterator[Proposal]:
    """Minimize the error objective, with a lower bound for any other scales of the same rows.

    If pairs are searched for (cutting planes), violated pairs are added until there are none.
    """
    if _one_row(task):  # closed form, exact
        (closed,) = _same_scale(task)
        yield Proposal(closed.scales, _just_below(task.objective_of(closed.scales)))
        return
    for _ in range(_SEARCHES):
        system = _small_system(task)
        w, floor = _least_loss(task, system)
        if system.searched is None or task.watch.over:
            break
        more, factor = system.searched.more(np.where(task.free, np.inf, w[system.variable]))
        if more is None or factor <= _SHORT:
            break
        task.keep(more)
    # Rows that share a variable restrict the problem, so its lower bound does not hold for all scales.
    yield Proposal(_as_scales(task, w, system), floor if system.by_row else None)


def _one_row(task: Task) -> bool:
    """Whether exactly one row is limited, and no earlier cost is involved."""
    system = _system(task)
    alone = system.searched is None or int((~task.free).sum()) == 1
    return alone and system.by_row and task.spent is None and int(_limited(system).sum()) == 1


def _least_loss(task: Task, system: Constraints) -> tuple[Floats, float]:
    """The precisions that minimize the objective under the pairs of a system, and a lower bound on the objective."""
    limited = np.flatnonzero(_limited(system))
    w = np.full(system.count, np.inf)
    if not len(limited):
        return w, 0.0
    pairs, caps = system.pairs.among(limited), _caps(task, system)[limited]
    power = task.objective.power
    if power is None:
        w[limited], floor = _least_largest(pairs, _per_variable(task.reference, system)[limited], caps)
    else:
        a = np.zeros(system.count)
        np.add.at(a, system.variable, np.where(task.free, 0.0, task.weights / task.reference**power))
        found = optimize(pairs, a[limited], power, caps, watch=task.watch)
        block = np.zeros(system.count, dtype=np.int64)
        block[system.variable] = task.workload.block_of
        tidy = evened(pairs, found.w, block[limited])
        w[limited] = tidy if objective_of(tidy, a[limited], power) <= found.loss + 1e-10 * abs(found.loss) else found.w
        floor = found.lower_bound
        if power == 0:  # the total is relative to the references
            noisy = np.isin(system.variable, limited) & ~task.free
            floor -= float(task.weights[noisy] @ np.log(task.reference[noisy]))
    return w, floor


def _just_below(loss: float) -> float:
    """A lower bound that absorbs rounding errors."""
    return loss - abs(loss) * 2.0**-48 - 2.0**-48


def _least_largest(pairs: Pairs, reference: Floats, caps: Floats) -> tuple[Floats, float]:
    """Minimize the largest scale relative to the references: one factor for all rows, which is strategy 2."""
    even = np.minimum(1.0 / reference, caps)
    most = float(pairs.used(even).max(initial=0.0))
    w = np.minimum(even / most, caps) if most else even
    # A largest loss t means w >= 1 / (t reference), so used(1 / reference) / t <= 1; and w <= cap where there is one.
    floor = max(float(pairs.used(1.0 / reference).max(initial=0.0)), float((1.0 / (caps * reference)).max()))
    return w, floor * (1 - 1e-12)


def _system(task: Task) -> Constraints:
    if task.system is None:
        raise NotCertified("too many pairs for this method", hints=[("method=same-scale", "works at any size")])
    return task.system


def _small_system(task: Task) -> Constraints:
    system = _system(task)
    return system if system.searched is not None else task.small_system or system


def _limited(system: Constraints) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which variables are limited by some pair; the answers of the others are noise-free."""
    return np.asarray(np.isfinite(system.pairs.own()[0]))


def _per_variable(values: Floats, system: Constraints) -> Floats:
    """The largest row value of each variable."""
    out = np.zeros(system.count)
    np.maximum.at(out, system.variable, values)
    return out


def _caps(task: Task, system: Constraints) -> Floats:
    """The precision that is good enough, per variable; infinite if no target was given."""
    caps = np.full(system.count, np.inf)
    with np.errstate(divide="ignore"):
        np.minimum.at(caps, system.variable, np.where(task.targets > 0, 1.0 / task.targets, np.inf))
    return caps


def _as_scales(task: Task, precision: Floats, system: Constraints) -> Floats:
    """Precision per variable to scale per row: rounded up, never below the target, and 0 where nothing
    limits the row.
    """
    w = np.where(task.free, np.inf, precision[system.variable])
    with np.errstate(divide="ignore"):
        scales = np.where(np.isfinite(w), _SAFETY / w, 0.0)
    scales = np.where(scales <= task.targets * _SAFETY**2, task.targets, scales)
    return np.where(np.isfinite(w), scales, 0.0)


def _any(task: Task) -> bool:  # noqa: ARG001
    return True


def _has_system(task: Task) -> bool:
    return task.system is not None


def _has_few_tables(task: Task) -> bool:
    return len(task.workload.blocks) <= MAX_TABLES


def _has_tables_only(task: Task) -> bool:
    return task.system is None and len(task.workload.blocks) > 1


def _newton(task: Task) -> int:
    """Operations of a Newton step: quadratic in the smaller of variables and active pairs; 0 for the largest error."""
    pairs = _small_system(task).pairs
    rows = min(pairs.size, 3 * pairs.count)
    return 0 if task.objective.power is None else min(rows, pairs.count) ** 2 * max(rows, pairs.count)


def _can_optimize(task: Task) -> bool:
    return _has_system(task) and _newton(task) <= MAX_NEWTON


def _few_rounds(task: Task) -> bool:
    """Whether as many rounds as there are variables take only a few seconds."""
    pairs = _system(task).pairs
    return pairs.count * pairs.entries <= MAX_ROUNDS_WORK


def _never(task: Task) -> bool:  # noqa: ARG001
    return False


def simplest(task: Task) -> Candidate:
    """Return the plan with one scale, which exists whenever any plan does."""
    return task.certified("same-scale", next(_same_scale(task)))


def _by_strategy(task: Task, own: Candidate | None) -> Iterator[Proposal]:
    return by_strategy(task, own or simplest(task))


def _by_k_norm_noise(task: Task, own: Candidate | None) -> Iterator[Proposal]:
    return by_k_norm_noise(task, own or simplest(task))


def _by_shifting(task: Task, own: Candidate | None) -> Iterator[Proposal]:
    return by_shifting(task, own or best_of_own_rows(task)[0])


PLANNING_METHODS: tuple[PlanningMethod, ...] = (
    PlanningMethod("same-scale", _any, _same_scale),
    PlanningMethod("by-table", _has_few_tables, _table_by_table, in_auto=_has_tables_only),
    PlanningMethod("optimal", _can_optimize, _optimal, in_auto=lambda task: _newton(task) <= MAX_NEWTON_AUTO),
    PlanningMethod("fill", _has_system, _filled),
    PlanningMethod("psa", _has_system, _psa, in_auto=_few_rounds),
    PlanningMethod(
        "equal-split", _has_system, _equal_split, in_auto=_never
    ),  # filling in these proportions is never worse
    PlanningMethod("matrix", may_use_strategy, propose_strategy=_by_strategy),
    PlanningMethod("k-norm", may_use_k_norm, propose_strategy=_by_k_norm_noise),
    PlanningMethod("biased", may_be_shifted, propose_strategy=_by_shifting, in_auto=quickly_shifted),
)
