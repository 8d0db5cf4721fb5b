"""A policy explained on the screen, fit for a lawyer to sign."""

import math
from collections.abc import Sequence

from dxprivacy.policy.policy_check import Check, Notice
from dxprivacy.universe.people import People
from dxprivacy.wording import columns, digits, plural, short, short_pair, tag, wrap


def check_lines(page: Check, listing: str = "") -> list[str]:
    """The page as lines; `listing` adds all identical, tightened or public entries."""
    unit = _unit(page)
    product = " ×\u00a0".join(f"{short(name, 24)}\u00a0{size:,}" for name, size in page.sizes)
    shape = plural(page.cells, "possible record") + (f" = {product}" if len(page.sizes) > 1 else "")
    lines = [
        f"{tag('good', '✓')} valid · {tag('bold', page.title)} · {unit}",
        *(f"  {line}" for line in wrap(shape, 94, "    ")),
        tag("dim", "  every attribute also has “other”, for missing and invalid entries"),
        "",
    ]
    head = [tag("dim", t) for t in ("alike except", "strictest pair", "ε", "loosest pair", "ε")]
    table = [head]
    for r in page.rows:
        strict = digits(r.strictest_epsilon) + (" " + tag("warn", "!") if math.isinf(r.strictest_epsilon) else "")
        loose = "public" if r.public else digits(r.loosest_epsilon) + (" " + tag("warn", "!") if r.tightened else "")
        table.append(
            [
                short(r.attribute, 24),
                short_pair(r.strictest, 48),
                strict,
                "" if r.public else short_pair(r.loosest, 48),
                loose,
            ]
        )
    if page.presence is not None:
        who = "anyone – absent" if page.people is None else "any row – no row"
        table.append(["presence", who, digits(page.presence), who, digits(page.presence)])
    lines += columns(table, "llrlr")
    for r in page.rows:
        for b in r.other:
            has = "is public" if math.isinf(b.epsilon) else f"has ε {digits(b.epsilon)}"
            text = f"{short(r.attribute, 24)}: {short_pair(b.pair, 48)} {has}, {b.way} than every listed pair"
            lines.append(tag("dim", f"  {text}"))
    if page.public and not page.worst_case:
        worst, tail = "no limit", ": everything is public."
    else:
        worst = f"ε {digits(page.worst_case)}"
        tail = ", over all releases ever" + ("; no limit on public differences." if page.public else ".")
    lines += [] if page.people is None else _of_people(page.people)
    lines += [
        "",
        f"  Worst case in standard-DP terms: {tag('bold', worst)}{tail}",
        "  One plan usually uses far less; dxp plan says how much.",
    ]
    lines += notice_lines(page.warnings)
    return lines + _listing(page, listing) if listing else lines


def _unit(page: Check) -> str:
    if page.people is not None:
        one = "one person" if page.people.max_people is None else "one person added, removed or"
        number = "public" if page.people.max_people is None else "private"
        return f"{one} replaced, with all their rows; the number of people {number}, of rows private"
    return (
        "one record replaced, n public"
        if page.presence is None
        else ("one record added, removed or replaced, n private")
    )


def _of_people(people: People) -> list[str]:
    """What an ε means where people have several rows."""
    m = people.at_most
    if m == 1:
        return []
    text = (
        f"ε is that of two people: as far apart as the farthest two of their at most {m:,} kept rows, matched as well "
        f"as can be. In counts and sums of rows one row alone shows by 1/{m:,} of it."
    )
    return ["", *(f"  {line}" for line in wrap(text, 94))]


def notice_lines(notices: Sequence[Notice]) -> list[str]:
    """What is worth a second look, after an empty line; nothing where there is none."""
    lines = [""] if notices else []
    for notice in notices:
        text = wrap(notice.text, 82)
        lines.append(f"{tag('warn', '! ' + notice.kind.ljust(13))}{text[0]}")
        lines += [" " * 15 + more for more in text[1:]]
    return lines


def _listing(page: Check, kind: str) -> list[str]:
    """Every entry of one kind."""
    if kind == "identical":
        found = [f"{a} – {b}: ε 0" for a, b in page.identical]
    elif kind == "tightened":
        found = [f"{a} – {b}: you wrote {digits(w)}, the policy keeps {digits(k)}" for a, b, w, k in page.tightened]
    else:
        found = [w.text for w in page.warnings if w.kind == "public"]
    return ["", tag("bold", f"  {kind}"), *(f"  {line}" for line in found or ["none"])]
