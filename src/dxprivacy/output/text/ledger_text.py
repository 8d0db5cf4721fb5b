"""The ledger on the screen: what was released, and what is left of each attribute's budget."""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dxprivacy.ledger.history import Entry, kind_of
from dxprivacy.ledger.ledger import Ledger, Told
from dxprivacy.ledger.ledger_budget import Used, most_used, used_by_attribute
from dxprivacy.ledger.worst_case_so_far import worst_of
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import RowsCost, SelectionCost, SumCost
from dxprivacy.wording import columns, digits, numbered, percent, plural, short, short_pair, span, tag

_BAR = 20
_FEW = 3  # steps that are shown one by one
_DIGEST = re.compile("[0-9a-f]{16}")


def ledger_lines(ledger: Ledger, *, every: bool = False) -> list[str]:
    """The page; `every` step of an adaptive mechanism by itself, otherwise its run as one line."""
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
    figures: dict[tuple[int, ...], list[str]] = {}  # of equal costs the same
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
    """Entries as releases: the steps of an adaptive mechanism together, if they are more than a few.

    Its steps are requests such as `synth-7f3a select 3`.  A plan's own request starts with its digest instead; whoever
    repeats a plan under other names makes a release each time.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        first = entry.request.partition(" ")[0]
        groups.setdefault(entry.request if _DIGEST.fullmatch(first) else first, []).append(entry)
    runs = [run for group in groups.values() for run in ([group] if len(group) > _FEW else [[e] for e in group])]
    return sorted(runs, key=lambda run: run[0].number)


def run_title(run: Sequence[Entry]) -> str:
    """What a run released: what it chose from tells how many answers it is about."""
    if len(run) == 1:
        return run[0].title
    among = max((e.cost.workload.rows for e in run if isinstance(e.cost, SelectionCost)), default=0)
    what = f"synthetic data from {plural(among, 'answer')}" if among else run[0].title
    return f"{short(what, 44)} · {len(run)} steps"


def _figures(ledger: Ledger, costs: Sequence[RowsCost]) -> list[str]:
    """Worst case, the part used of the most used pair, and that pair."""
    if len(costs) == 1:
        bound = max_ratio(costs[0], ledger.metric)
        pair = _words(ledger, bound.witness) if bound.witness else "none"
        return [digits(worst_of(SumCost(ledger.universe, costs))), percent(float(bound.upper)), pair]
    together = SumCost(ledger.universe, costs)
    used = most_used(together, ledger.metric, 1)
    share, pair = (used[0].share, _words(ledger, used[0].pair)) if used else (0.0, "none")
    return [digits(worst_of(together)), percent(share), pair]


def _words(ledger: Ledger, pair: tuple[int, int]) -> str:
    return short_pair(" – ".join(ledger.universe.tell(*pair)), 60)


def _pairs(ledger: Ledger, used: list[Used]) -> str:
    if not used:
        return ""
    first = _words(ledger, used[0].pair)
    if len(used) < 2 or used[1].share > 0.999 * used[0].share:
        return first
    second = _words(ledger, used[1].pair)
    if second == first:  # the same in words: only unnamed attributes differ
        return first
    return f"{first}, next {second} ({percent(used[1].left)})"


def between_lines(told: Told) -> list[str]:
    """Two records."""
    entries = f" ({numbered(told.entries)})" if told.entries else ""
    factor = "without limit" if math.isinf(told.factor) else f"by at most a factor {_factor(told.factor)}"
    if not told.entries:
        nothing = "  Nothing released so far tells the two apart."
        return [f"  allowed {digits(told.allowed)} · spent 0 · left {_left(told)}", nothing]
    lines = [
        f"  allowed {digits(told.allowed)} · spent {digits(told.spent)}{entries} · left {_left(told)}",
        f"  Everything released so far shifts the odds between the two {factor}.",
    ]
    if told.charged > told.spent * (1 + 1e-6):
        lines.append(
            f"  {digits(told.charged)} counts as used: counts of people and maps are charged a part of every pair’s ε, "
            "however little they tell about it."
        )
    return lines


def _factor(factor: float) -> str:
    """Never 1 where it is a little more."""
    return digits(factor) if factor >= 1.005 else f"{1 + math.ceil((factor - 1) * 1e4) / 1e4:g}"


def _left(told: Told) -> str:
    if told.left is None:
        low, high = told.between or (0.0, told.allowed)
        why = "detours over too many records decide it"
        if told.bound is not None:
            why = f"the ledger decides by an upper bound, {percent(told.bound)} used of every pair"
        return f"between {digits(low)} and {digits(high)}: {why}"
    return digits(told.left) + (f", by way of {short(told.by_way_of, 60)}" if told.by_way_of else "")


def ledger_to_dict(ledger: Ledger) -> dict[str, Any]:
    """For JSON."""
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
                "share": str(e.share),
                "worst_case_epsilon": worst[id(e.cost)],
            }
            for e in entries
        ],
        "used_by_attribute": {
            name: {
                "share": used[0].share,
                "left": used[0].left,
                "charged": used[0].charged,
                "allowed": used[0].allowed,
                "pair": list(ledger.universe.tell(*used[0].pair)),
            }
            if used
            else {"share": 0.0, "left": 1.0}
            for name, used in used_by_attribute(ledger.spent, ledger.metric).items()
        },
    }


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _date(at: str) -> str:
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%b}"
