"""A ledger in the terminal: what was released, and what is left of each attribute's budget."""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dxprivacy.ledger.adoption import Adoption
from dxprivacy.ledger.history import Entry, kind_of
from dxprivacy.ledger.ledger import Ledger, PairBudget
from dxprivacy.ledger.ledger_budget import Used, most_used, used_by_attribute, worst_of
from dxprivacy.ledger.policy_upgrade import Match, Upgrade
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import RowsCost, SelectionCost, SumCost
from dxprivacy.wording import columns, digits, numbered, percent, plural, short, short_pair, span, tag

# -- An adopted version of the policy: matched attributes, mapped values, and carried costs ----------------------------


_SHOWN = 6  # groups of values for each attribute
_LABELS = 4


def adoption_lines(adoption: Adoption, *, dry_run: bool = False) -> list[str]:
    """Return the lines of an adoption."""
    before, after = adoption.before.words, adoption.version.words or "the new version"
    good = tag("good", "✓")
    if adoption.upgrade is None:
        return [f"{good} unchanged  the ledger follows {before} already; nothing was written"]
    if dry_run:
        head = f"{tag('accent', '○')} dry run  {after} could be adopted in place of {before}; nothing was written"
    else:
        row = adoption.written.seq if adoption.written else 0
        head = f"{good} adopted  {after}, in place of {before}, in row {row}"
    worst = f"worst case so far ε {digits(adoption.worst_before)} before, ε {digits(adoption.worst_after)} after"
    if digits(adoption.worst_before) == digits(adoption.worst_after):
        worst = f"worst case so far ε {digits(adoption.worst_after)}, as before"
    costs = plural(len(adoption.entries), "cost")
    carried = (
        f"  {costs} would be carried, exactly; {worst}" if dry_run else f"{good} carried  {costs}, exactly; {worst}"
    )
    table = []
    for match in adoption.upgrade.matches:
        name, what = _said(adoption.upgrade, match)
        table.append([short(name, 24), what[0]])
        table += [["", line] for line in what[1:]]
    lines = [head, carried, "", *columns(table, "ll")]
    if adoption.pair is not None:
        pair = " – ".join(short(x, 40) for x in adoption.version.metric.universe.describe(*adoption.pair))
        used = percent(float(adoption.used))
        lines += ["", f"  most used  {pair}: {used} of what the new policy allows"]
    return lines


def _said(upgrade: Upgrade, match: Match) -> tuple[str, list[str]]:
    # An attribute's new name, and what changed.
    if match.new is None:
        name = upgrade.old.names[match.old or 0]
        return name, [tag("dim", "removed: nothing released so far separates its values")]
    name = upgrade.new.names[match.new]
    if match.old is None:
        return name, [tag("dim", "new: nothing released so far depends on it")]
    old, new = upgrade.old.attributes[match.old], upgrade.new.attributes[match.new]
    notes = [f"was called {old.name}"] if old.name != new.name else []
    notes += [f"was column {old.column}"] if old.column != new.column else []
    groups = _groups(upgrade, match)
    shown = [f"{_labels(now)} ← {_labels(was)}" for was, now in groups[:_SHOWN]]
    more = [f"… and {plural(len(groups) - _SHOWN, 'more group')}"] if len(groups) > _SHOWN else []
    if not notes and not shown:
        return name, [tag("dim", "values as before")]
    return name, [*([", ".join(notes)] if notes else []), *shown, *more]


def _groups(upgrade: Upgrade, match: Match) -> list[tuple[tuple[str, ...], list[str]]]:
    # New values that differ from their old ones, grouped by the old labels: (old labels, new labels).
    if match.relation is None or match.old is None or match.new is None:
        return []
    old, new = upgrade.old.attributes[match.old], upgrade.new.attributes[match.new]
    were: dict[int, list[int]] = {}
    for a, b in zip(match.relation.old.tolist(), match.relation.new.tolist(), strict=True):
        were.setdefault(b, []).append(a)
    groups: dict[tuple[str, ...], list[str]] = {}
    for b, values in were.items():
        labels = tuple(old.label(a) for a in values)
        if labels != (new.label(b),):
            groups.setdefault(labels, []).append(new.label(b))
    return list(groups.items())


def _labels(labels: "list[str] | tuple[str, ...]") -> str:
    shown = ", ".join(short(x, 30) for x in labels[:_LABELS])
    return shown + (f" … {short(labels[-1], 30)} ({len(labels):,})" if len(labels) > _LABELS else "")


def adoption_to_dict(adoption: Adoption, *, dry_run: bool = False) -> dict[str, Any]:
    """Return an adoption for JSON."""
    upgrade = adoption.upgrade
    return {
        "adopted": adoption.written is not None,
        "dry_run": dry_run,
        "row": adoption.written.seq if adoption.written else None,
        "before": {
            "title": adoption.before.title,
            "version": adoption.before.version,
            "digest": adoption.before.digest,
        },
        "after": {
            "title": adoption.version.title,
            "version": adoption.version.version,
            "digest": adoption.version.metric.digest,
        },
        "attributes": [_to_dict(upgrade, match) for match in upgrade.matches] if upgrade else [],
        "costs": len(adoption.entries),
        "budgets": {str(entry.number): str(entry.budget) for entry in adoption.entries},
        "worst_case_epsilon_before": _finite(adoption.worst_before),
        "worst_case_epsilon_after": _finite(adoption.worst_after),
        "looser": list(adoption.looser),
        "used": str(adoption.used),
        "most_used_pair": list(adoption.version.metric.universe.describe(*adoption.pair)) if adoption.pair else None,
    }


def _to_dict(upgrade: Upgrade, match: Match) -> dict[str, Any]:
    old = None if match.old is None else upgrade.old.attributes[match.old]
    new = None if match.new is None else upgrade.new.attributes[match.new]
    return {
        "attribute": None if new is None else new.name,
        "column": None if new is None else new.column,
        "was": None if old is None else old.name,
        "was_column": None if old is None else old.column,
        "change": "added" if old is None else "removed" if new is None else "matched",
        "values": [{"now": now, "were": list(was)} for was, now in _groups(upgrade, match)],
    }


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


# -- The ledger --------------------------------------------------------------------------------------------------------


_BAR = 20
_FEW = 3  # steps that are shown one by one
_DIGEST = re.compile("[0-9a-f]{16}")


def ledger_lines(ledger: Ledger, *, every: bool = False) -> list[str]:
    """Return the lines of a ledger; `every` shows each step of an adaptive mechanism instead of its run."""
    entries = ledger.entries()
    runs = runs_of(entries)
    permitted = "no limit" if ledger.metric.has_infinite else digits(ledger.metric.permitted)
    steps = f" in {len(entries):,} steps" if len(runs) < len(entries) else ""
    lines = [
        f"{tag('bold', plural(len(runs), 'release'))}{steps} · {tag('good', 'chain intact')} · worst case so far "
        f"ε {digits(ledger.worst_case())} of {permitted}"
    ]
    if not entries:
        return [*lines, "", "  nothing released yet"]
    *older, current = ledger.versions
    if older:
        lines.append(
            tag("dim", f"follows {current.words} since {_date(current.at)}, after {plural(len(older), 'older one')}")
        )
    table = [[tag("dim", t) for t in ("", "date", "released", "worst ε", "used", "most used pair")]]
    figures: dict[tuple[int, ...], list[str]] = {}  # computed once for equal costs
    for run in [[entry] for entry in entries] if every else runs:
        key = tuple(id(entry.cost) for entry in run)
        if key not in figures:
            figures[key] = _figures(ledger, [entry.cost for entry in run])
        table.append([span([e.number for e in run]), _date(run[0].at), short(run_title(run), 60), *figures[key]])
    lines += ["", *columns(table, "rllrrl")]
    if steps and not every:
        lines.append(tag("dim", "  --all shows every step"))
    lines += ["", tag("dim", "  left, worst pair")]
    rows = []
    for name, used in used_by_attribute(ledger.spent, ledger.metric).items():
        left = used[0].left if used else 1.0
        full = round(_BAR * left)
        bar = tag("accent", "━" * full) + tag("dim", "╌" * (_BAR - full))
        rows.append([short(name, 24), bar, percent(left), _pairs(ledger, used)])
    return lines + columns(rows, "llrl")


def runs_of(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group entries into releases: the steps of an adaptive mechanism form one, if there are more than a few.

    Its steps are requests such as `synth-7f3a select 3`.  The request of a plan starts with its digest instead; a plan
    that is repeated under other names is a release each time.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        first = entry.request.partition(" ")[0]
        groups.setdefault(entry.request if _DIGEST.fullmatch(first) else first, []).append(entry)
    runs = [run for group in groups.values() for run in ([group] if len(group) > _FEW else [[e] for e in group])]
    return sorted(runs, key=lambda run: run[0].number)


def run_title(run: Sequence[Entry]) -> str:
    """Return the title of a run; the number of candidates of its selections is the number of answers."""
    if len(run) == 1:
        return run[0].title
    among = max((e.cost.workload.rows for e in run if isinstance(e.cost, SelectionCost)), default=0)
    what = f"synthetic data from {plural(among, 'answer')}" if among else run[0].title
    return f"{short(what, 44)} · {len(run)} steps"


def _figures(ledger: Ledger, costs: Sequence[RowsCost]) -> list[str]:
    # Worst-case ε, the used fraction of the most used pair, and that pair.
    if len(costs) == 1:
        bound = max_ratio(costs[0], ledger.metric)
        pair = _words(ledger, bound.witness) if bound.witness else "none"
        return [digits(worst_of(SumCost(ledger.universe, costs))), percent(float(bound.upper)), pair]
    together = SumCost(ledger.universe, costs)
    used = most_used(together, ledger.metric, 1)
    fraction, pair = (used[0].fraction, _words(ledger, used[0].pair)) if used else (0.0, "none")
    return [digits(worst_of(together)), percent(fraction), pair]


def _words(ledger: Ledger, pair: tuple[int, int]) -> str:
    return short_pair(" – ".join(ledger.universe.describe(*pair)), 60)


def _pairs(ledger: Ledger, used: list[Used]) -> str:
    if not used:
        return ""
    first = _words(ledger, used[0].pair)
    if len(used) < 2 or used[1].fraction > 0.999 * used[0].fraction:
        return first
    second = _words(ledger, used[1].pair)
    if second == first:  # the same text: only unnamed attributes differ
        return first
    return f"{first}, next {second} ({percent(used[1].left)})"


def between_lines(told: PairBudget) -> list[str]:
    """Return what was spent and what is left between two records."""
    entries = f" ({numbered(told.entries)})" if told.entries else ""
    factor = "without limit" if math.isinf(told.factor) else f"by at most a factor {_factor(told.factor)}"
    if not told.entries:
        nothing = "  Nothing released so far separates the two."
        return [f"  allowed {digits(told.allowed)} · spent 0 · left {_left(told)}", nothing]
    lines = [
        f"  allowed {digits(told.allowed)} · spent {digits(told.spent)}{entries} · left {_left(told)}",
        f"  Everything released so far shifts the odds between the two {factor}.",
    ]
    if told.charged > told.spent * (1 + 1e-6):
        lines.append(
            f"  {digits(told.charged)} counts as used: counts of people and maps are charged a fraction of every "
            "pair’s ε, however little they separate it."
        )
    return lines


def _factor(factor: float) -> str:
    # Rounded so that a factor above 1 is never shown as 1.
    return digits(factor) if factor >= 1.005 else f"{1 + math.ceil((factor - 1) * 1e4) / 1e4:g}"


def _left(told: PairBudget) -> str:
    if told.left is None:
        low, high = told.between or (0.0, told.allowed)
        why = "detours over too many records decide it"
        if told.bound is not None:
            why = f"the ledger decides by an upper bound, {percent(told.bound)} used of every pair"
        return f"between {digits(low)} and {digits(high)}: {why}"
    return digits(told.left) + (f", by way of {short(told.by_way_of, 60)}" if told.by_way_of else "")


def ledger_to_dict(ledger: Ledger) -> dict[str, Any]:
    """Return a ledger for JSON."""
    far = ledger.metric.farthest
    entries = ledger.entries()
    costs = {id(e.cost): e.cost for e in entries}
    worst = {key: _finite(worst_of(SumCost(ledger.universe, [cost]))) for key, cost in costs.items()}
    return {
        "chain": "intact",
        "policy_versions": [
            {"title": v.title, "version": v.version, "digest": v.digest, "at": v.at, "row": v.seq}
            for v in ledger.versions
        ],
        "worst_case_epsilon": _finite(ledger.worst_case()),
        "policy_worst_case_epsilon": None if ledger.metric.has_infinite or far is None else ledger.metric.permitted,
        "entries": [
            {
                "entry": e.number,
                "at": e.at,
                "request": e.request,
                "kind": kind_of(e.cost),
                "released": e.title,
                "budget": str(e.budget),
                "worst_case_epsilon": worst[id(e.cost)],
            }
            for e in entries
        ],
        "used_by_attribute": {
            name: {
                "used": used[0].fraction,
                "left": used[0].left,
                "charged": used[0].charged,
                "allowed": used[0].allowed,
                "pair": list(ledger.universe.describe(*used[0].pair)),
            }
            if used
            else {"used": 0.0, "left": 1.0}
            for name, used in used_by_attribute(ledger.spent, ledger.metric).items()
        },
    }


def _date(at: str) -> str:
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%b}"
