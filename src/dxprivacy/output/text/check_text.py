"""A policy in the terminal: which records it protects from being distinguished, and how strictly."""

import math
from collections.abc import Mapping, Sequence

from dxprivacy.policy.policy_check import Check, Notice
from dxprivacy.policy.policy_diff import AttributeDiff, Changed, Changes, Diff, Setting, WorstCaseChange
from dxprivacy.universe.people import People
from dxprivacy.wording import columns, digits, plural, short, short_pair, tag, wrap


def check_lines(page: Check, listing: str = "") -> list[str]:
    """Return the lines of a checked policy; `listing` adds all identical, tightened or public entries."""
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
    # The meaning of an ε if people have several rows.
    m = people.max_rows
    if m == 1:
        return []
    text = (
        f"ε is that of two people: the largest distance in the best matching of their at most {m:,} kept rows. In "
        f"counts and sums of rows, one row alone has 1/{m:,} of it."
    )
    return ["", *(f"  {line}" for line in wrap(text, 94))]


def notice_lines(notices: Sequence[Notice]) -> list[str]:
    """Return notices after an empty line; empty if there are none."""
    lines = [""] if notices else []
    for notice in notices:
        text = wrap(notice.text, 82)
        lines.append(f"{tag('warn', '! ' + notice.kind.ljust(13))}{text[0]}")
        lines += [" " * 15 + more for more in text[1:]]
    return lines


def _listing(page: Check, kind: str) -> list[str]:
    # All entries of one kind.
    if kind == "identical":
        found = [f"{a} – {b}: ε 0" for a, b in page.identical]
    elif kind == "tightened":
        found = [f"{a} – {b}: you wrote {digits(w)}, the policy keeps {digits(k)}" for a, b, w, k in page.tightened]
    else:
        found = [w.text for w in page.warnings if w.kind == "public"]
    return ["", tag("bold", f"  {kind}"), *(f"  {line}" for line in found or ["none"])]


# -- Two policies compared: the table of attributes, other changes, then what is looser --------------------------------


_VALUES = 6
_TIED = "\u00a0"  # keeps words on one line


def diff_lines(page: Diff, errors: Mapping[str, str] | None = None) -> list[str]:
    """Return the lines of a comparison; `errors` gives, per attribute, how the error of its table of counts changes."""
    names = f"{tag('bold', page.before)} → {tag('bold', page.after)}"
    if page.identical:
        lines = [f"{tag('good', '✓')} identical · {names} · the same records at the same distances"]
        return [*lines, *_setting_lines(page), *notice_lines(_notices(page))]
    differ = sum(not a.same for a in page.attributes) + len(page.added) + len(page.removed)
    total = len(page.attributes) + len(page.added) + len(page.removed)
    which = f"{differ:,} of {plural(total, 'attribute')} differ" + ("s" if differ == 1 else "")
    lines = [f"{names} · {which}", "", *_table(page, errors or {}), "", *_setting_lines(page)]
    return [*lines, *notice_lines(_notices(page))]


def _table(page: Diff, errors: Mapping[str, str]) -> list[str]:
    head = ["alike except", "pairs", "stricter", "looser", "most changed pair", "ε", "count by it, ± 95 %"]
    table = [[tag("dim", text) for text in head]]
    for a in page.attributes:
        c, most = a.listed, a.listed.most
        row = [short(a.name, 24), f"{c.pairs:,}", _count(c.stricter), _count(c.looser)]
        if c.looser:
            row[3] += " " + tag("warn", "!")
        row += [short_pair(most.pair, 44), _arrow(most)] if most else [tag("dim", "same"), ""]
        table.append([*row, errors.get(a.name, "")])
    table += [[short(name, 24), "", "", "", tag("dim", "removed"), "", ""] for name in page.removed]
    table += [[short(name, 24), "", "", "", tag("dim", "added"), "", ""] for name in page.added]
    if not errors:
        table = [row[:-1] for row in table]
    return columns(table, "lrrrlrr"[: len(table[0])])


def _count(n: int) -> str:
    return f"{n:,}" if n else "–"


def _arrow(changed: Changed) -> str:
    return f"{digits(changed.before)} → {digits(changed.after)}"


def _setting_lines(page: Diff) -> list[str]:
    # Worst-case ε, values, `other`, and settings that are not distances.
    rows = []
    if not page.identical:
        rows.append(["worst case", f"{_worst(page.worst_before)} → {_worst(page.worst_after)}"])
        for a in page.attributes:
            rows += _value_rows(a)
            if a.other.most:
                rows.append([f"{a.name}: other", f"{_arrow(a.other.most)}, {a.other.most.pair}"])
    rows += [[s.what, _told(s)] for s in page.settings]
    return columns([[short(what, 32), short(text, 120)] for what, text in rows], "ll")


def _worst(worst: WorstCaseChange) -> str:
    if worst.public and not worst.epsilon:
        return "no limit"
    return f"ε {digits(worst.epsilon)}" + (", no limit on public differences" if worst.public else "")


def _value_rows(a: AttributeDiff) -> list[list[str]]:
    told = (("removed", a.removed), ("added", a.added))
    return [[f"{a.name}: {what}", _listed(values)] for what, values in told if values]


def _listed(values: tuple[str, ...]) -> str:
    more = f" and {len(values) - _VALUES:,} more" if len(values) > _VALUES else ""
    return ", ".join(short(value, 32) for value in values[:_VALUES]) + more


def _told(setting: Setting) -> str:
    return f"{setting.before or 'none'} → {setting.after or 'none'}"


def _notices(page: Diff) -> list[Notice]:
    found = [notice for a in page.attributes for notice in _loosened(a)]
    for setting in page.settings:
        found += _setting_notice(setting)
    for name in page.removed:
        found.append(Notice("removed", f"{name}: no query can ask about it; its ε no longer counts in any pair."))
    for name in page.added:
        found.append(Notice("added", f"{name}: new in the records; pairs that differ in it have its ε."))
    for a in page.attributes:
        if a.removed:
            found.append(Notice("values", f"{a.name}: entries that are not listed any more count as “other”."))
    return found


def _loosened(a: AttributeDiff) -> list[Notice]:
    # Pairs that became public, looser or identical, those with `other` included.
    found = []
    ways = (
        ("public", "became public: answers may reveal such differences exactly"),
        ("looser", "may be more distinguishable than before"),
        ("identical", "became identical: no query may separate them"),
    )
    for way, words in ways:
        listed, other = _number(a.listed, way), _number(a.other, way)
        if not listed and not other:
            continue
        which = [_pairs(listed, a.listed, "")] if listed else []
        which += [_pairs(other, a.other, " with “other”")] if other else []
        most = (a.listed if listed else a.other).loosened_most if way == "looser" else None
        example = f", most {most.pair.replace(' ', _TIED)}: ε {_arrow(most).replace(' ', _TIED)}" if most else ""
        found.append(Notice(way, f"{a.name}: {' and '.join(which)} {words}{example}."))
    return found


def _number(changes: Changes, way: str) -> int:
    # The number of pairs that changed this way; pairs that became public do not count as looser.
    n: int = getattr(changes, way)
    return n - changes.public if way == "looser" else n


def _pairs(n: int, changes: Changes, among: str) -> str:
    return f"all {changes.pairs:,} pairs{among}" if n == changes.pairs > 1 else plural(n, "pair") + among


def _setting_notice(setting: Setting) -> list[Notice]:
    if setting.what == "dataset":
        text = f"“{setting.after}” is another dataset than “{setting.before}”: a ledger of one refuses the other."
        return [Notice("dataset", text)]
    if setting.what == "combine":
        text = f"pairs that differ in several attributes: their ε is now the {setting.after} over the attributes"
        return [Notice(setting.way, f"{text}; before, the {setting.before}.")]
    if setting.what == "neighbors":
        texts = {
            "looser": "the number of records is public now, and presence in the data is not protected.",
            "stricter": "presence in the data is protected now, and so is the number of records.",
        }
        return [Notice(setting.way, texts[setting.way])]
    if setting.what == "presence" and setting.way:
        easier = "more" if setting.way == "looser" else "less"
        text = f"a record and its absence may be {easier} distinguishable than before"
        return [Notice(setting.way, f"presence: {text}: ε {setting.before} → {setting.after}.")]
    return []
