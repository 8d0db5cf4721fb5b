"""Two policies compared, as a page: the table first, then what else changed, then what is looser."""

from collections.abc import Mapping

from dxprivacy.output.text.check_text import notice_lines
from dxprivacy.policy.policy_check import Notice
from dxprivacy.policy.policy_diff import AttributeDiff, Changed, Changes, Diff, Setting, WorstCase
from dxprivacy.wording import columns, digits, plural, short, short_pair, tag

_VALUES = 6
_TIED = "\u00a0"  # keeps words on one line


def diff_lines(page: Diff, errors: Mapping[str, str] | None = None) -> list[str]:
    """The page; `errors` gives for each attribute how the error of its table of counts changes."""
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
    """Worst case, values, `other`, and whatever is no distance."""
    rows = []
    if not page.identical:
        rows.append(["worst case", f"{_worst(page.worst_before)} → {_worst(page.worst_after)}"])
        for a in page.attributes:
            rows += _value_rows(a)
            if a.other.most:
                rows.append([f"{a.name}: other", f"{_arrow(a.other.most)}, {a.other.most.pair}"])
    rows += [[s.what, _told(s)] for s in page.settings]
    return columns([[short(what, 32), short(text, 120)] for what, text in rows], "ll")


def _worst(worst: WorstCase) -> str:
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
        found.append(Notice("removed", f"{name}: no question can ask about it; its ε no longer counts in any pair."))
    for name in page.added:
        found.append(Notice("added", f"{name}: new in the records; pairs that differ in it have its ε."))
    for a in page.attributes:
        if a.removed:
            found.append(Notice("values", f"{a.name}: entries that are no longer listed count as “other”."))
    return found


def _loosened(a: AttributeDiff) -> list[Notice]:
    """What became public, looser or identical; pairs with `other` are told in the same breath."""
    found = []
    ways = (
        ("public", "became public: answers may reveal such differences exactly"),
        ("looser", "may be told apart more easily than before"),
        ("identical", "became identical: no question may separate them"),
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
    """How many pairs went this way; the ones that became public are told apart from the merely looser."""
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
        return [Notice(setting.way, f"{text}, before it was the {setting.before}.")]
    if setting.what == "unit":
        texts = {
            "looser": "the number of records is public now, and whether somebody is in the data is not protected.",
            "stricter": "whether somebody is in the data is protected now, and so is the number of records.",
        }
        return [Notice(setting.way, texts[setting.way])]
    if setting.what == "presence" and setting.way:
        easier = "more easily" if setting.way == "looser" else "less easily"
        text = f"whether somebody is in the data may be told {easier} than before"
        return [Notice(setting.way, f"presence: {text}: ε {setting.before} → {setting.after}.")]
    return []
