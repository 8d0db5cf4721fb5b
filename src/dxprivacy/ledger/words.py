"""The ledger on the screen: what was released, and what is left of each attribute's budget."""

import math
from datetime import datetime
from fractions import Fraction
from typing import Any

from dxprivacy.bounds import max_ratio
from dxprivacy.ledger.budget import Used, used_by_attribute
from dxprivacy.ledger.history import Entry
from dxprivacy.ledger.ledger import Ledger, Told
from dxprivacy.model.metrics import Constant
from dxprivacy.wording import columns, digits, numbered, percent, plural, short, short_pair, tag

_BAR = 20


def ledger_lines(ledger: Ledger) -> list[str]:
    """The page."""
    entries = ledger.entries()
    far = ledger.metric.farthest
    permitted = "no limit" if ledger.metric.has_infinite else digits(far.distance if far else 0.0)
    lines = [
        f"{tag('bold', plural(len(entries), 'release'))} · {tag('good', 'chain intact')} · worst case so far "
        f"ε {digits(ledger.worst_case())} of {permitted}"
    ]
    *older, current = ledger.versions
    if older:
        lines.append(
            tag("dim", f"follows {current.words} since {_date(current.at)}, after {plural(len(older), 'older one')}")
        )
    if not entries:
        return [*lines, "", "  nothing released yet"]
    table = [[tag("dim", t) for t in ("", "date", "released", "worst ε", "used", "most used pair")]]
    for entry in entries:
        worst, (share, pair) = _worst_case(ledger, entry), _most_used(ledger, entry)
        row = [str(entry.number), _date(entry.at), short(entry.title, 60), digits(worst), percent(share), pair]
        table.append(row)
    lines += ["", *columns(table, "rllrrl"), "", tag("dim", "  left, worst pair")]
    rows = []
    for name, used in used_by_attribute(ledger.spent, ledger.metric).items():
        left = 1.0 - min(used[0].share, 1.0) if used else 1.0
        full = round(_BAR * left)
        bar = tag("accent", "━" * full) + tag("dim", "╌" * (_BAR - full))
        rows.append([short(name, 24), bar, percent(left), _pairs(ledger, used)])
    return lines + columns(rows, "llrl")


def _worst_case(ledger: Ledger, entry: Entry) -> float:
    """One entry's plain-DP reading."""
    return float(max_ratio(entry.cost, Constant(ledger.universe, Fraction(1))).upper)


def _most_used(ledger: Ledger, entry: Entry) -> tuple[float, str]:
    bound = max_ratio(entry.cost, ledger.metric)
    return float(bound.upper), _words(ledger, bound.witness) if bound.witness else "none"


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
    return f"{first}, next {second} ({percent(max(0.0, 1 - used[1].share))})"


def between_lines(told: Told) -> list[str]:
    """Two records."""
    entries = f" ({numbered(told.entries)})" if told.entries else ""
    factor = "without limit" if math.isinf(told.factor) else f"by at most a factor {digits(told.factor)}"
    if not told.entries:
        nothing = "  Nothing released so far tells the two apart."
        return [f"  allowed {digits(told.allowed)} · spent 0 · left {_left(told)}", nothing]
    return [
        f"  allowed {digits(told.allowed)} · spent {digits(told.spent)}{entries} · left {_left(told)}",
        f"  Everything released so far shifts the odds between the two {factor}.",
    ]


def _left(told: Told) -> str:
    if told.left is None:
        return "unknown: too many linked records decide it"
    return digits(told.left) + (f", by way of {short(told.by_way_of, 60)}" if told.by_way_of else "")


def ledger_to_dict(ledger: Ledger) -> dict[str, Any]:
    """For JSON."""
    far = ledger.metric.farthest
    return {
        "chain": "intact",
        "policy_versions": [
            {"title": v.title, "version": v.version, "digest": v.digest, "at": v.at, "row": v.seq}
            for v in ledger.versions
        ],
        "worst_case_epsilon": _finite(ledger.worst_case()),
        "policy_worst_case_epsilon": None if ledger.metric.has_infinite or far is None else far.distance,
        "entries": [
            {
                "entry": e.number,
                "at": e.at,
                "request": e.request,
                "released": e.title,
                "share": str(e.share),
                "worst_case_epsilon": _finite(_worst_case(ledger, e)),
            }
            for e in ledger.entries()
        ],
        "used_by_attribute": {
            name: {"share": used[0].share, "pair": list(ledger.universe.tell(*used[0].pair))}
            if used
            else {"share": 0.0}
            for name, used in used_by_attribute(ledger.spent, ledger.metric).items()
        },
    }


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _date(at: str) -> str:
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%b}"
