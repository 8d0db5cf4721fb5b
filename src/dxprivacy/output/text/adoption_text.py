"""An adopted version on the screen: which attributes were matched, which values went where, and what it cost."""

import math
from typing import Any

from dxprivacy.ledger.adoption import Adoption
from dxprivacy.ledger.policy_upgrade import Match, Upgrade
from dxprivacy.wording import columns, digits, percent, plural, short, tag

_SHOWN = 6  # groups of values for each attribute
_LABELS = 4


def adoption_lines(adoption: Adoption, *, dry_run: bool = False) -> list[str]:
    """The page."""
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
        pair = " – ".join(short(x, 40) for x in adoption.version.metric.universe.tell(*adoption.pair))
        used = percent(float(adoption.used))
        lines += ["", f"  most used  {pair}: {used} of what the new policy allows"]
    return lines


def _said(upgrade: Upgrade, match: Match) -> tuple[str, list[str]]:
    """One attribute: its name now, and what became of it."""
    if match.new is None:
        name = upgrade.old.names[match.old or 0]
        return name, [tag("dim", "removed: nothing released so far tells its values apart")]
    name = upgrade.new.names[match.new]
    if match.old is None:
        return name, [tag("dim", "new: nothing released so far speaks about it")]
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
    """New values that are not simply their old selves, together by what they were: (old labels, new labels)."""
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
    """For JSON."""
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
        "shares": {str(entry.number): str(entry.share) for entry in adoption.entries},
        "worst_case_epsilon_before": _finite(adoption.worst_before),
        "worst_case_epsilon_after": _finite(adoption.worst_after),
        "looser": list(adoption.looser),
        "used": str(adoption.used),
        "most_used_pair": list(adoption.version.metric.universe.tell(*adoption.pair)) if adoption.pair else None,
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
