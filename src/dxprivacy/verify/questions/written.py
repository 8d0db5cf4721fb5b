"""Conditions and names as somebody would write them (docs/formats.md, section 4)."""

import re
from fractions import Fraction

from dxprivacy.verify.orders import Condition, End
from dxprivacy.verify.words import number_text

_KEYWORDS = ("by", "where", "within", "and", "of")


def write(name: str, condition: Condition) -> str:
    """A condition."""
    if isinstance(condition, tuple):
        return f"{quoted(name)}={'..'.join(map(_end, condition))}"
    return f"{quoted(name)}={'|'.join(quoted(v, dots=len(condition) == 1) for v in condition)}"


def _end(end: End) -> str:
    if isinstance(end, str):
        return quoted(end, dots=True)
    return number_text(end) if isinstance(end, Fraction) else end.isoformat()


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
