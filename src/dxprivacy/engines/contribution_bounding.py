"""Bound contributions: if a person has more than `max_rows` rows, choose which to keep, from these rows alone.

Each row gets a number: the MD5 digest of the text `K|C|T`. K is the first 32 digits of the SHA-256 digest of its key. C
is its possible record by all attributes of the policy (the numbers of `Packing`, separated by commas). T counts this
person's rows with this possible record: 1, 2, ... The rows with the smallest numbers are kept. So neither the order of
the file nor the rows of other people matter, and no value is favored: each row of a person is as likely to stay as any
other.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time
from hashlib import md5, sha256
from uuid import UUID

import numpy as np

from dxprivacy.engines.entries import MOST_DIGITS, MOST_EXACT, clean_text, is_missing, whole_number
from dxprivacy.engines.fields import Packing, merged
from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.universe.people import OWN, People
from dxprivacy.universe.universe import Universe

LONGEST_KEY = 1_024
"""Maximum bytes of each column of a key; a longer entry is unusable."""
MISSING_KEY = ""
"""The key of rows without a key (NULL, NaN or empty)."""
UNUSABLE = "?" * (LONGEST_KEY + 1)
"""The key of all rows whose entry is present but cannot be a key: longer than any key, so that it equals none."""
DAMAGED = "\ufffd"
"""Replaces bytes that are not UTF-8, so that two different keys could read alike: such an entry is unusable."""
EACH_THEIR_OWN = -1
_WITH_TEXT = (str, bytes, bool, np.bool_, date, time, UUID)
DIGITS = 32
"""Digits of a key's digest in the text by which a row is numbered."""


def required(universe: Universe) -> People:
    """Return the people of a universe, which must have them."""
    assert universe.people is not None
    return universe.people


def key_of(parts: Sequence[str], rules: People) -> str:
    """Return the canonical text of a key, from the results of `key_part` for its columns.

    >>> rules = People(("site", "nr"), 5, no_key="own")
    >>> key_of(["a", "5"], rules), key_of(["a", MISSING_KEY], rules), key_of(["a", UNUSABLE], rules) == UNUSABLE
    ('1:a1:5', '', True)
    """
    if MISSING_KEY in parts:
        return MISSING_KEY
    if UNUSABLE in parts:
        return unusable_key(rules)
    return parts[0] if len(parts) == 1 else "".join(f"{len(text.encode())}:{text}" for text in parts)


def unusable_key(rules: People) -> str:
    """Return the key of rows with an unusable entry: under `own` one separate person, else the person without a key."""
    return UNUSABLE if rules.no_key == OWN else MISSING_KEY


def key_part(entry: object) -> str:
    """Read one entry of a key column; never raises.

    Only a missing or empty entry is `MISSING_KEY`.  Every other entry that has no canonical text is `UNUSABLE`.  NaN is
    missing, because pandas writes missing numbers so.

    >>> [key_part(x) for x in ["N123", 17, 17.0, True, None, "", float("nan")]]
    ['N123', '17', '17', 'true', '', '', '']
    >>> all(key_part(x) == UNUSABLE for x in [101.1, float("inf"), 2.0**53, 10**38, "x" * 1025, "\\ufffd", object()])
    True
    """
    try:
        return _key_part(entry)
    except Exception:  # an object may do anything, and one row must never stop a release
        return UNUSABLE


def _key_part(entry: object) -> str:
    if is_missing(entry):
        return MISSING_KEY
    if isinstance(entry, _WITH_TEXT):
        text = clean_text(entry)
        return UNUSABLE if text is None or DAMAGED in text or len(text.encode()) > LONGEST_KEY else text
    whole = whole_number(entry)
    most = MOST_EXACT if isinstance(entry, (float, np.floating)) else 10**MOST_DIGITS - 1
    return UNUSABLE if whole is None or abs(whole) > most else str(whole)


def digest_of_key(key: str) -> str:
    """Return the SHA-256 digest that replaces a key from here on; finding two keys with one digest is infeasible."""
    return sha256(key.encode()).hexdigest()


NO_KEY, NOT_A_KEY = digest_of_key(MISSING_KEY), digest_of_key(UNUSABLE)


def people_in_all(keys: int, without_key: int, rules: People) -> int:
    """Return the number of people, from the number of usable keys and of rows without a key.

    The person of all rows without a usable key is counted even if there is no such row, so that the number does not
    depend on it. Under `own`, that person has the rows with unusable keys, and each row without a key is a person.
    """
    return keys + 1 + (without_key if rules.no_key == OWN else 0)


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Row counts by person and possible record.  This is data: its repr hides it."""

    digests: tuple[str, ...]  # of the keys, one for each person
    person: Ints  # an index into `digests`
    numbers: tuple[Ints, ...]  # the possible records, packed
    counts: Ints

    def __repr__(self) -> str:
        return "KeyedRows(hidden)"

    @classmethod
    def merged(cls, parts: Iterable["KeyedRows"], packing: Packing) -> "KeyedRows":
        """Merge several parts, any of which may be empty; equal keys are the same person."""
        at: dict[str, int] = {}
        nothing: Ints = np.zeros(0, dtype=np.int64)
        persons, numbers, counts = [nothing], [(nothing,) * len(packing.numbers)], [nothing]
        for part in parts:
            place = np.array([at.setdefault(digest, len(at)) for digest in part.digests], dtype=np.int64)
            persons.append(place[part.person])
            numbers.append(part.numbers)
            counts.append(part.counts)
        person, times = np.concatenate(persons), np.concatenate(counts)
        packed = [np.concatenate(column) for column in zip(*numbers, strict=True)]
        if not len(times):
            return cls(tuple(at), person, tuple(packed), times)
        (person, *packed), total = merged([person, *packed], times)
        return cls(tuple(at), person, tuple(packed), total)

    def people(self, rules: People) -> int:
        """Return the number of people."""
        named = sum(digest not in (NO_KEY, NOT_A_KEY) for digest in self.digests)
        return people_in_all(named, int(self.counts[self._without_key].sum()), rules)

    @property
    def _without_key(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Whether each row has no key."""
        is_missing_key = np.array([digest == NO_KEY for digest in self.digests], dtype=bool)
        return is_missing_key[self.person] if len(self.digests) else np.zeros(0, dtype=bool)

    def kept(self, rules: People) -> "KeptRows":
        """Keep at most `max_rows` rows of every person."""
        totals = np.zeros(len(self.digests), dtype=np.int64)
        np.add.at(totals, self.person, self.counts)
        over = totals[self.person] > rules.max_rows
        person = self.person
        if rules.no_key == OWN:
            over &= ~self._without_key
            person = np.where(self._without_key, EACH_THEIR_OWN, person)
        counts = np.where(over, 0, self.counts)
        order = np.flatnonzero(over)[np.argsort(self.person[over], kind="stable")]
        for mine in _runs(order, self.person):
            for row in _least(self._numbered(mine), rules.max_rows):
                counts[row] += 1
        stays = counts > 0
        return KeptRows(person[stays], tuple(c[stays] for c in self.numbers), counts[stays])

    def _numbered(self, rows: Ints) -> Iterator[tuple[bytes, int]]:
        """Yield the number and the index of each row of one person."""
        key = self.digests[int(self.person[rows[0]])][:DIGITS]
        for row in rows.tolist():
            head = f"{key}|{','.join(str(int(column[row])) for column in self.numbers)}|"
            for nth in range(1, int(self.counts[row]) + 1):
                yield md5(f"{head}{nth}".encode(), usedforsecurity=False).digest(), row


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Counts of the kept rows by person and possible record.  This is data: its repr hides it.

    People are numbered in arbitrary order; `person` is None if the caller did not ask for it. Each row of
    `EACH_THEIR_OWN` belongs to a different person.
    """

    person: Ints | None
    numbers: tuple[Ints, ...]  # the possible records, packed
    counts: Ints

    def __repr__(self) -> str:
        return "KeptRows(hidden)"

    def onto(self, universe: Universe, axes: Sequence[int]) -> "KeptRows":
        """Project onto some of the attributes."""
        whole, asked = Packing(universe), Packing(universe.onto(axes))
        values = whole.columns(self.numbers)
        return KeptRows(self.person, tuple(asked.pack([values[axis] for axis in axes])), self.counts)

    def histogram(self, universe: Universe) -> Histogram:
        """Return the histogram of the kept rows."""
        return Packing(universe).histogram(*merged(self.numbers, self.counts))


def _runs(rows: Ints, person: Ints) -> Iterator[Ints]:
    """Split rows, which are sorted by person, into the rows of each person."""
    if len(rows):
        yield from np.split(rows, np.flatnonzero(np.diff(person[rows])) + 1)


def _least(numbered: Iterable[tuple[bytes, int]], max_rows: int) -> list[int]:
    return [row for _, row in heapq.nsmallest(max_rows, numbered)]
