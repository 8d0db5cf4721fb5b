"""How names, values and conditions are written in the words of a question, so that reading them gives them again."""

import re
from collections.abc import Mapping
from datetime import date
from fractions import Fraction

from dxprivacy.attributes.ends import End, Name
from dxprivacy.exact.numbers import number_text
from dxprivacy.questions.conditions import Condition, Conditions, is_range

KEYWORDS = ("by", "where", "within", "and")
BARE = re.compile(r"""(?:\[[^\]]*\]|[^\s=|,'"])+""")
_BRACKETS = re.compile(r"\[[^\]]*\]")


def in_words(where: Conditions, instead: Mapping[int, str] | None = None) -> str:
    """Conditions, joined; `instead` has other words for some of them, by their place."""
    known = instead or {}
    return " and ".join(known.get(k) or f"{quoted(n)}={write_condition(c)}" for k, (n, c) in enumerate(where))


def write_condition(c: Condition) -> str:
    """What stands behind the equals sign.

    >>> write_condition(("New Jersey", "Utah")), write_condition((Fraction(18), Fraction(65)))
    ("'New Jersey'|Utah", '18..65')
    """
    if is_range(c):
        return "..".join(map(_end, c))
    alone = len(c) == 1  # among several values, two dots mean nothing
    return "|".join(quoted(str(v), dots=alone) for v in c)


def _end(end: End) -> str:
    """One end of a range."""
    if isinstance(end, Name):
        return quoted(end.text, dots=True)
    return end.isoformat() if isinstance(end, date) else number_text(Fraction(end))


def quoted(text: str, *, dots: bool = False) -> str:
    """A name or value as one word: in quotes where it is several, or would be read as something else."""
    bare = BARE.fullmatch(text) and text not in (*KEYWORDS, "of") and not (dots and ".." in text)
    if bare and text.count("[") == text.count("]") == len(_BRACKETS.findall(text)):  # else it might join the next word
        return text
    mark = '"' if "'" in text and '"' not in text else "'"
    return mark + text.replace(mark, mark * 2) + mark
