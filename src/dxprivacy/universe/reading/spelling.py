"""Accepted spellings of a listed value: surrounding blanks, upper and lower case, and declared aliases.

Each is an exactly defined function of the entry alone, so that all engines agree:

- *trim*: blanks at the ends do not count: spaces, tabs and no-break spaces (U+00A0, U+202F);
- *fold case*: upper and lower case letters are equal, letter by letter, for the Latin, Greek, Cyrillic and Armenian
  alphabets in the blocks below, whose case pairs Unicode never changes.  A letter stays one letter: ß is not ss;
- *aliases*: further texts for a value, themselves trimmed and folded.

An entry is trimmed, then folded, then looked up among the listed values and aliases, folded in the same way.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from dxprivacy.errors import PolicyError

BLANKS = " \t\u00a0\u202f"
"""The characters that `trim` removes at both ends."""

_BLOCKS = ((0x0041, 0x024F), (0x0370, 0x03FF), (0x0400, 0x052F), (0x0531, 0x0587), (0x1E00, 0x1FFF))


@cache
def folding() -> Mapping[int, str]:
    """Return each letter that folding changes, with the lower case letter that replaces it.

    >>> [chr(c) for c in folding() if folding()[c] == "s"], folding()[ord("Ö")], ord("ß") in folding()
    (['S', 'ſ'], 'ö', False)
    """
    letters = [chr(code) for first, last in _BLOCKS for code in range(first, last + 1)]
    known = set(letters)
    return {ord(x): small for x in letters if (small := _small(x)) != x and small in known}


@cache
def _folded() -> frozenset[str]:
    """Return the letters that replace others."""
    return frozenset(folding().values())


def _small(letter: str) -> str:
    """Return Unicode's simple case folding of a letter; letters that would become several stay unchanged."""
    return next((form for form in (letter.casefold(), letter.lower()) if len(form) == 1), letter)


@dataclass(frozen=True)
class Spelling:
    """The accepted spellings of listed values; `aliases` are pairs (listed value, further text).

    >>> read = Spelling(trim=True, fold_case=True, aliases=(("NJ", "New Jersey"),))
    >>> read.places("state", ["NJ", "NY"]), read.key(" new jersey ")
    ({'nj': 0, 'ny': 1, 'new jersey': 0}, 'new jersey')
    """

    trim: bool = False
    fold_case: bool = False
    aliases: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return self != EXACT

    def __str__(self) -> str:
        flags = [key for key in ("trim", "fold_case") if getattr(self, key)]
        named = [f"{value} = {' | '.join(texts)}" for value, texts in self.spec().get("aliases", ())]
        return ", ".join([*flags, *([f"aliases {'; '.join(named)}"] if named else [])])

    @property
    def brief(self) -> str:
        """A short description, which gives only the number of aliases."""
        flags = replace(self, aliases=())
        few = f"{len(self.aliases):,} alias{'es' if len(self.aliases) > 1 else ''}" if self.aliases else ""
        return ", ".join(filter(None, [str(flags), few]))

    @property
    def changes_entries(self) -> bool:
        """Whether an entry is changed before it is looked up."""
        return self.trim or self.fold_case

    def key(self, text: str) -> str:
        """Return the text that is looked up for an entry."""
        if self.trim:
            text = text.strip(BLANKS)
        return text.translate(folding()) if self.fold_case else text

    def places(self, name: str, texts: Sequence[str]) -> dict[str, int]:
        """Return the place of each text that is looked up; raise PolicyError if a text could mean two values."""
        listed = {text: k for k, text in enumerate(texts)}
        if not self:
            return listed
        at: dict[str, int] = {}
        for text, k in listed.items():
            if self.trim and text != text.strip(BLANKS):
                raise PolicyError(
                    f"{name} lists {text[:60]!r}, and trim leaves out the blanks around entries",
                    hints=["list it without blanks, or leave out trim"],
                )
            if at.setdefault(self.key(text), k) != k:
                first = texts[at[self.key(text)]]
                raise PolicyError(
                    f"{name} lists {first[:60]!r} and {text[:60]!r}, which are the same under fold_case",
                    hints=["leave one of them out, or leave out fold_case"],
                )
        for value, text in self.aliases:
            if value not in listed:
                raise PolicyError(f"{name} has no value {value[:60]!r}; aliases are further texts for its values")
            known = at.setdefault(self.key(text), listed[value])
            if known != listed[value]:
                what = "listed itself" if text in listed else f"taken for {texts[known][:60]!r} already"
                raise PolicyError(
                    f"{name}: the alias {text[:60]!r} of {value[:60]!r} is {what}",
                    hints=["each text can stand for one value only"],
                )
        return at

    def variants(self, keys: Iterable[str]) -> tuple[str, str]:
        """Return all other forms of the letters of some keys, and in the same order the forms that are looked up.

        >>> Spelling(fold_case=True).variants(["sü"])
        ('SÜſ', 'süs')
        """
        if not self.fold_case:
            return "", ""
        wanted = set("".join(keys))
        pairs = [(chr(x), small) for x, small in folding().items() if small in wanted]
        return "".join(x for x, _ in pairs), "".join(small for _, small in pairs)

    def varies(self, text: str) -> bool:
        """Return whether a text has other spellings, aliases not counted."""
        return self.trim or (self.fold_case and any(letter in _folded() for letter in self.key(text)))

    def spec(self) -> dict[str, Any]:
        """Return its part of an attribute's spec; empty for exact spelling."""
        named: dict[str, list[str]] = {}
        for value, text in self.aliases:
            named.setdefault(value, []).append(text)
        told = {"trim": self.trim, "fold_case": self.fold_case, "aliases": [[v, t] for v, t in named.items()]}
        return {key: value for key, value in told.items() if value}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Spelling":
        """Return the spelling from the spec of an attribute."""
        aliases = tuple((value, text) for value, texts in spec.get("aliases", ()) for text in texts)
        return cls(spec.get("trim", False), spec.get("fold_case", False), aliases)


EXACT = Spelling()
"""Only the listed texts themselves are accepted."""
