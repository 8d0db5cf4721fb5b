"""Conditions and names as somebody would write them (docs/formats.md, section 4)."""

import re
from fractions import Fraction

from dxprivacy.verify.orders import Condition
from dxprivacy.verify.words import number_text

_KEYWORDS = ("by", "where", "within", "and", "of")


def write(name: str, condition: Condition) -> str:
    """A condition."""
    if isinstance(condition, tuple):
        ends = [number_text(x) if isinstance(x, Fraction) else x.isoformat() for x in condition]
        return f"{quoted(name)}={'..'.join(ends)}"
    return f"{quoted(name)}={'|'.join(quoted(v, dots=len(condition) == 1) for v in condition)}"


def quoted(text: str, *, dots: bool = False) -> str:
    """In quotes where it would be read as several words, or as something else.

    >>> print(quoted("New York"), quoted("by"), quoted("d'Or"), quoted("age[0, 18]"), quoted("a..b", dots=True))
    'New York' 'by' "d'Or" age[0, 18] 'a..b'
    """
    bare = re.fullmatch(r"""(?:\[[^\]]*\]|[^\s=|,'"])+""", text) and text not in _KEYWORDS
    closed = text.count("[") == text.count("]") == len(re.findall(r"\[[^\]]*\]", text))
    if bare and closed and not (dots and ".." in text):
        return text
    mark = '"' if "'" in text and '"' not in text else "'"
    return mark + text.replace(mark, 2 * mark) + mark


def interval_label(first: str, last: str) -> str:
    """From the start of one group to the end of another.

    >>> [interval_label(*x) for x in (("0–9", "30–39"), ("0–9", "65+"), ("0 to 5", "5 to 7"), ("0 to 5", "9+"))]
    ['0–39', '0+', '0 to 7', '0+']
    """
    if first == last:
        return first
    if " to " in first and last.endswith("+"):
        return f"{first.partition(' to ')[0]}+"
    if " to " in first and " to " in last:
        return f"{first.partition(' to ')[0]} to {last.partition(' to ')[2]}"
    start = first.partition("–")[0]
    return f"{start}+" if last.endswith("+") else f"{start}–{last.rpartition('–')[2]}"
