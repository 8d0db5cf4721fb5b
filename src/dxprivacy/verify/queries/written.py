"""Conditions and names as somebody would write them (docs/formats.md, section 4)."""

import re
from collections.abc import Callable
from fractions import Fraction

from dxprivacy.verify.logic import Comparison, Denied, Joined, Wanted
from dxprivacy.verify.orders import Condition, End
from dxprivacy.verify.words import number_text

_KEYWORDS = ("by", "where", "within", "and", "of")


def write(name: str, wanted: Wanted) -> str:
    """A condition."""
    if isinstance(wanted, (list, tuple)):
        strange = name.startswith("(") or name[-1:] in ("<", ">", "!") or name == "not"
        return f"{quoted(name, logic=strange)}={write_plain(wanted)}"
    return joined(wanted, lambda part: _write_part(name, part))


def joined(wanted: Wanted, say: Callable[[Condition | Comparison], str]) -> str:
    """A condition made of others, in the words of these.

    >>> joined(Denied(Joined(False, [Comparison("<", Fraction(18)), ["7"]])), lambda part: str(part)[:5])
    "not (Compa or ['7'])"
    """
    if isinstance(wanted, Denied):
        inner = joined(wanted.inner, say)
        return f"not ({inner})" if isinstance(wanted.inner, Joined) else f"not {inner}"
    if isinstance(wanted, Joined):
        parts = [(joined(part, say), isinstance(part, Joined)) for part in wanted.parts]
        return (" and " if wanted.every else " or ").join(f"({text})" if deep else text for text, deep in parts)
    return say(wanted)


def _write_part(name: str, part: Condition | Comparison) -> str:
    begin = quoted(name, logic=True)
    return begin + (compares(part) if isinstance(part, Comparison) else f"={write_plain(part, logic=True)}")


def compares(part: Comparison) -> str:
    """A comparison without its name."""
    return part.sign + _end(part.end)


def write_plain(condition: Condition, *, logic: bool = False) -> str:
    """Values or a range, without their name; `logic`: inside of another condition."""
    if isinstance(condition, tuple):
        return "..".join(map(_end, condition))
    return "|".join(quoted(v, dots=len(condition) == 1, logic=logic) for v in condition)


def _end(end: End) -> str:
    if isinstance(end, str):
        return quoted(end, dots=True)
    return number_text(end) if isinstance(end, Fraction) else end.isoformat()


def quoted(text: str, *, dots: bool = False, logic: bool = False) -> str:
    """In quotes where it would be read as several words, or as something else; inside of conditions there is more.

    >>> print(quoted("New York"), quoted("by"), quoted("d'Or"), quoted("age[0, 18]"), quoted("a..b", dots=True))
    'New York' 'by' "d'Or" age[0, 18] 'a..b'
    """
    bare = re.fullmatch(r"""(?:\[[^\]]*\]|[^\s=|,'"])+""", text) and text not in _KEYWORDS
    closed = text.count("[") == text.count("]") == len(re.findall(r"\[[^\]]*\]", text))
    signs = logic and (any(sign in text for sign in "<>!()") or text in ("not", "or", "in"))
    if bare and closed and not signs and not (dots and ".." in text):
        return text
    mark = '"' if "'" in text and '"' not in text else "'"
    return mark + text.replace(mark, 2 * mark) + mark
