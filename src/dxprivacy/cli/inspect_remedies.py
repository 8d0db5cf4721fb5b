"""Lines to paste into a policy so that entries do not count as “other”: for `dxp inspect`, and not private.

Every remedy is tried: it is shown only if some of the entries would count with it.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dxprivacy.engines.source import Entry, Others
    from dxprivacy.universe.attributes.attribute import Attribute
    from dxprivacy.universe.attributes.listed_points import Points
    from dxprivacy.universe.attributes.listed_values import Values
    from dxprivacy.universe.reading.spelling import Spelling
    from dxprivacy.universe.reading.text_formats import Written

LOOKED_AT = 1_000
"""Different entries of an attribute, the most frequent first."""

_NUMBERS = ("1.234,5", "1,234.5", "1 234,5", "1'234.5", "1234,5")
_DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M")
_TIMES = ("%H.%M", "%Hh%M", "%H%M", "%H%M%S")
_MOST_ALIASES = 8
_MOST_SHOWN = 3
_CLOSE = 0.65


@dataclass(frozen=True)
class InspectRemedy:
    """A line for the policy, and the number of inspected rows that would count with it."""

    line: str
    rows: int


def remedies(attribute: "Attribute", others: "Others") -> list[InspectRemedy]:
    """Return remedies, the one for most rows first; none that helps no more rows than another."""
    if attribute.located is not None:
        return _of_coordinates(attribute, others)
    rows = {text: n for (text, *more), n in others.entries if text and not more}
    tried = [(line, _mended(changed, rows)) for line, changed in _changed(attribute, list(rows))]
    shown: list[tuple[str, set[str]]] = []
    for line, fixed in sorted(tried, key=lambda t: (-sum(rows[x] for x in t[1]), t[0].count('"'), len(t[0]))):
        if fixed and not any(fixed <= other for _, other in shown):
            shown.append((line, fixed))
    return [InspectRemedy(line, sum(rows[x] for x in fixed)) for line, fixed in shown[:_MOST_SHOWN]]


def _of_coordinates(attribute: "Attribute", others: "Others") -> list[InspectRemedy]:
    # The two columns exchanged, or numbers in another format.
    import json

    from dxprivacy.errors import PolicyError

    pairs = [(texts, n) for texts, n in others.entries if all(texts)]
    swapped = [(texts[::-1], n) for texts, n in pairs]
    names = json.dumps(list(attribute.reads[::-1]), ensure_ascii=False)
    found = [InspectRemedy(f"coordinates = {names}", _rows_with_a_place(attribute, swapped))]
    for written in _NUMBERS:
        try:
            found.append(
                InspectRemedy(f'format = "{written}"', _rows_with_a_place(replace(attribute, format=written), pairs))
            )
        except PolicyError:
            continue
    best = max(found, key=lambda remedy: remedy.rows)
    return [best] if best.rows else []


def _rows_with_a_place(attribute: "Attribute", pairs: "Sequence[tuple[Entry, int]]") -> int:
    import numpy as np

    from dxprivacy.engines.entries import combine, entry_reader

    readers = [entry_reader(entry.codec) for entry in attribute.entries_read]
    columns = [np.array([read(texts[k]) for texts, _ in pairs], dtype=np.int64) for k, read in enumerate(readers)]
    places = combine(attribute, columns)
    return sum(n for place, (_, n) in zip(places.tolist(), pairs, strict=True) if place < attribute.listed)


def of_the_file(found: Sequence["Others"]) -> str:
    """Return a line for the table [file] if entries hold bytes that are invalid in the declared encoding."""
    odd = any("\ufffd" in (text or "") for others in found for entry, _ in others.entries for text in entry)
    return 'encoding = "cp1252"' if odd else ""


def _mended(changed: "Attribute", texts: Iterable[str]) -> set[str]:
    from dxprivacy.engines.entries import entry_reader

    read = entry_reader(changed.codec)
    return {text for text in texts if read(text) < changed.listed}


def _changed(attribute: "Attribute", texts: Sequence[str]) -> "Iterator[tuple[str, Attribute]]":
    # Each line that may help, and the attribute that it would make.
    from dxprivacy.errors import PolicyError
    from dxprivacy.universe.attributes.dates import Dates
    from dxprivacy.universe.attributes.listed_points import Points
    from dxprivacy.universe.attributes.listed_values import Values
    from dxprivacy.universe.attributes.times import Times, Weekdays
    from dxprivacy.universe.reading.text_formats import ISO

    if len(attribute.reads) > 1:
        return
    if isinstance(attribute, (Values, Points)):
        for line, spelling in _spellings(attribute, texts):
            try:
                yield line, replace(attribute, spelling=spelling)
            except PolicyError:  # two values would be written alike
                continue
        return
    in_time = isinstance(attribute, (Dates, Weekdays, Times))
    now = attribute.format if isinstance(attribute.format, tuple) else (attribute.format or ISO,)
    for written in (*_NUMBERS, *_DATES, *_TIMES):
        if written in now:
            continue
        # Add a format to the existing ones: entries that are read now keep their meaning.
        formats: Written = (*now, written) if in_time else written
        try:
            yield f"format = {_toml(formats)}", replace(attribute, format=formats)
        except PolicyError:  # of another kind
            continue


def _toml(formats: "Written") -> str:
    return _quoted(formats) if isinstance(formats, str) else f"[{', '.join(map(_quoted, formats))}]"


def _spellings(attribute: "Values | Points", texts: Sequence[str]) -> "Iterator[tuple[str, Spelling]]":
    # Blanks and capitals first; then aliases for the entries that these do not help.
    from dxprivacy.errors import PolicyError
    from dxprivacy.universe.reading.spelling import Spelling

    now = attribute.spelling
    missing = [key for key, there in (("trim", now.trim), ("fold_case", now.fold_case)) if not there]
    for keys in [[], *([key] for key in missing), *([missing] if len(missing) == 2 else [])]:
        flags = Spelling("trim" in keys or now.trim, "fold_case" in keys or now.fold_case, now.aliases)
        try:
            fixed = _mended(replace(attribute, spelling=flags), texts)
        except PolicyError:  # two values would be written alike
            continue
        left = [text for text in texts if text not in fixed]
        told = [f"{key} = true" for key in keys]
        if keys and len(left) < len(texts):
            yield "\n".join(told), flags
        close = _close(attribute, left)
        if close and (not keys or len(left) < len(texts)):
            more = tuple((value, text) for value, found in close.items() for text in found)
            whole = replace(flags, aliases=(*now.aliases, *more))
            listed = ", ".join(f"{_key(v)} = [{', '.join(map(_quoted, t))}]" for v, t in whole.spec()["aliases"])
            yield "\n".join([*told, f"aliases = {{ {listed} }}"]), whole


def _close(attribute: "Values | Points", texts: Sequence[str]) -> dict[str, list[str]]:
    # Entries that resemble exactly one listed value.
    bare = {value: _bare(value) for value in attribute.texts[:2_000]}
    found: dict[str, list[str]] = {}
    for text in [text for text in texts if "\ufffd" not in text][: 5 * _MOST_ALIASES]:
        near = difflib.get_close_matches(_bare(text), list(bare.values()), n=2, cutoff=_CLOSE)
        named = [value for value, key in bare.items() if near and key == near[0]]
        if len(named) == 1 and (len(near) == 1 or near[0] == _bare(text)):
            found.setdefault(named[0], []).append(text)
        if sum(map(len, found.values())) == _MOST_ALIASES:
            break
    return found


def _bare(text: str) -> str:
    # Letters and digits only, in lower case.
    return re.sub(r"[\W_]+", "", text).lower()


def _key(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z0-9_-]+", value) else _quoted(value)


def _quoted(text: str) -> str:
    """A text for TOML, on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
