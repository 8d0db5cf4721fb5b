"""Adopt a new version of the policy: all costs are carried over exactly, or the version is refused.

All costs so far are carried to the new universe, and their sum is certified against the new metric, in fractions,
before the version is recorded.  Both use exactly the rows that precede the version in the journal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

from dxprivacy.errors import BudgetExceeded, DxError, LedgerError
from dxprivacy.ledger.history import Entry, History
from dxprivacy.ledger.journal import Journal, JournalRow
from dxprivacy.ledger.ledger_budget import certified_budget, checked_budget, round_budget, worst_of
from dxprivacy.ledger.policy_upgrade import Upgrade, loosened, require_fresh, require_neighbors, require_people
from dxprivacy.ledger.policy_versions import RecordedPolicy, Version, stored_metric
from dxprivacy.log import Log
from dxprivacy.metrics import Metric
from dxprivacy.policy import Policy
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import SumCost
from dxprivacy.wording import digits, numbered

# -- The policy that a ledger follows, read from the ledger alone: no policy file is needed ----------------------------
# A policy row holds the universe and all distances.  Other contents of a policy file (remarks, which lists were
# declared public, names of points files) are not stored, and no answer depends on them.


def stored_policy(ledger: str | Path) -> Policy:
    """Return the policy that a ledger follows now; raises LedgerError if the ledger does not hold all of it."""
    with Journal.read(ledger) as journal:
        journal.verify()
        dataset = journal.binding.get("dataset", "")
        current = History(journal.policies, str(ledger)).current
    try:
        metric = stored_metric(current)
    except DxError:
        raise LedgerError(
            f"does not hold all of {current.words}: its distances cannot be read by themselves",
            where=str(ledger),
            hints=[("--policy FILE", "the policy's own file")],
        ) from None
    return Policy.recorded(current.title, dataset, current.version, metric)


# -- Adopting a new version of the policy ------------------------------------------------------------------------------


_LOG = Log("ledger")
_SHOWN = 6


@dataclass(frozen=True, eq=False)
class Adoption:
    """The effect of adopting a version.

    `written` is its row in the journal; None on a dry run, and if the version was the current one already (then
    `upgrade` is None, too).
    """

    before: RecordedPolicy
    version: Version
    upgrade: Upgrade | None
    entries: tuple[Entry, ...]
    used: Fraction  # of the new policy, on its most used pair
    pair: tuple[int, int] | None
    worst_before: float
    worst_after: float
    looser: tuple[str, ...] = ()  # sentences: where the version is looser than the one before
    written: JournalRow | None = None

    @property
    def changed(self) -> bool:
        """Whether the version differs from the current one."""
        return self.upgrade is not None


class LooserPolicy(LedgerError):
    """The new version makes some people more distinguishable, and `looser` is not set."""


def adopt(journal: Journal, version: Version, *, dry_run: bool = False, looser: bool = False) -> Adoption:
    """Carry all costs to a new version and record it; refused if a cost cannot be carried over or does not fit.

    A version that is looser than the one before needs `looser=True`.
    """
    where = str(journal.path)
    made: list[Adoption] = []

    def decide(policies: list[JournalRow], reserved: list[JournalRow]) -> tuple[str, str] | None:
        made[:] = [propose(History(policies, where), reserved, version)]
        if dry_run or not made[0].changed:
            return None
        if made[0].looser and not looser:
            raise _looser(made[0], where)
        budgets = {entry.row: entry.budget for entry in made[0].entries}
        return version.metric.digest, version.content(budgets)

    row = journal.adopt(decide)
    if row is not None:
        _LOG.event("version of the policy adopted", policy=version.metric.digest[:8], ledger=where)
    return replace(made[0], written=row)


def propose(history: History, reserved: Sequence[JournalRow], version: Version) -> Adoption:
    """Compute the effect of adopting a version; raises if that is not possible."""
    before, metric = history.current, version.metric
    if before.is_version(version):
        entries = history.entries(reserved)
        used, pair = _fits(entries, metric)
        worst = _worst_case(entries, metric)
        return Adoption(before, version, None, tuple(entries), used, pair, worst, worst)
    require_neighbors(before, version.neighbors)
    require_people(before.universe, metric.universe, version.recoded)
    require_fresh(history.versions, version)
    _require_budgets(history, reserved)
    upgrade = Upgrade.between(before.universe, metric.universe, version.recoded)
    if reserved:
        upgrade.require_same_lines()
    carried, apart = history.carried(reserved, upgrade, metric)
    if apart:
        raise upgrade.refusal(apart, history.where)
    used, pair = _fits(carried, metric)
    costs = {id(entry.cost): entry.cost for entry in carried}
    budgets = {key: round_budget(Fraction(max_ratio(cost, metric).upper)) for key, cost in costs.items()}
    entries = [replace(entry, budget=budgets[id(entry.cost)]) for entry in carried]
    worst = worst_of(SumCost(before.universe, [entry.cost for entry in history.entries(reserved)]))
    after, more = _worst_case(entries, metric), loosened(_metric_of(before), metric, upgrade)
    return Adoption(before, version, upgrade, tuple(entries), used, pair, worst, after, more)


def _require_budgets(history: History, reserved: Sequence[JournalRow]) -> None:
    """Refuse entries whose stored budget is smaller than their queries and scales take."""
    if (metric := _metric_of(history.current)) is not None:
        certified = cache(lambda cost: certified_budget(cost, metric))
        for entry in history.entries(reserved):
            checked_budget(entry, certified, history.where)


def _metric_of(before: RecordedPolicy) -> Metric | None:
    try:
        return stored_metric(before)
    except DxError:
        return None


def _looser(adoption: Adoption, where: str) -> LooserPolicy:
    shown = [f"{words}." for words in adoption.looser[:_SHOWN]]
    more = len(adoption.looser) - _SHOWN
    return LooserPolicy(
        f"{adoption.version.words or 'the new version'} is looser than {adoption.before.words}; nothing was changed",
        where=where,
        details=[*shown, *([f"… and {more:,} more."] if more > 0 else [])],
        hints=[("--allow-looser", "adopts it all the same; in Python looser=True")],
    )


def _worst_case(entries: Sequence[Entry], metric: Metric) -> float:
    return worst_of(SumCost(metric.universe, [entry.cost for entry in entries]))


def _fits(entries: Sequence[Entry], metric: Metric) -> tuple[Fraction, tuple[int, int] | None]:
    # The fraction of the policy used on the most used pair; raises BudgetExceeded if it is above 1.
    if not entries:
        return Fraction(0), None
    total = SumCost(metric.universe, [entry.cost for entry in entries])
    bound = max_ratio(total, metric)
    if bound.upper <= 1:
        return Fraction(bound.upper), bound.witness
    i, j = bound.witness or (0, 1)
    a, b = metric.universe.describe(i, j)
    charged, allowed = (float(x.exact(i, j)) * metric.universe.rows_each for x in (total, metric))
    word = "spent" if charged <= float(total.per_person(i, j)) * (1 + 1e-6) else "charged"
    which = numbered([entry.number for entry in entries if entry.cost.exact(i, j) > 0])
    bounded = "" if bound.exact else " Their sum could only be bounded from above."
    raise BudgetExceeded(
        "nothing was changed",
        where="the new policy allows less than was spent",
        details=[f"{a} – {b}: {word} {digits(charged)} ({which}), the new policy allows {digits(allowed)}.{bounded}"],
        hints=[("a larger ε for this pair", "what was released cannot be taken back")],
    )
