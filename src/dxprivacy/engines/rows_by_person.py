"""Whose rows they are, in numbers: for the curator alone, who wants to know whether keys and tables fit."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from dxprivacy.engines.beside_people import BesidePeople
from dxprivacy.engines.contribution_bounding import NO_KEY, NOT_A_KEY, KeyedRows, required
from dxprivacy.engines.source import Source
from dxprivacy.exact.arrays import Ints
from dxprivacy.universe.people import OWN, People
from dxprivacy.universe.universe import Universe

_MOST_KEYS = 1_000_000  # to be compared as they are written


@dataclass(frozen=True)
class WhoseRows:
    """How many people have rows, and what may be wrong with their keys; not private."""

    people: int
    without_key: int  # rows
    unusable: int  # rows whose key is present and cannot be one
    beyond: int  # people who have more rows than count
    left_out: int  # rows of theirs
    alike: int  # keys that differ from another one by blanks or capitals alone
    unknown: int = 0  # people who stand nowhere in the table of people
    twice: int = 0  # people who stand there more than once
    rows_of_other: int = 0  # rows of both

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return dict(vars(self))


def whose_rows(source: Source, universe: Universe) -> WhoseRows | None:
    """What can be said of people and their rows; None where the policy knows of no people."""
    if universe.people is None:
        return None
    # As separate people, whichever the policy says: so that both can be reported.
    rules = replace(required(universe), no_key=OWN)
    universe = Universe(universe.attributes, people=rules, file=universe.file)
    if not isinstance(source, BesidePeople):
        rows = source.keyed(universe)
        return _told(rows, rules, _alike(source, rules.key))
    rows, entries = source.both_keyed(universe)
    found = _told(rows, rules, _alike(source, rules.key))
    times = dict(zip(entries.digests, _rows_of(entries).tolist(), strict=True))
    mine = zip(rows.digests, _rows_of(rows).tolist(), strict=True)
    known = [(digest, many) for digest, many in mine if digest not in (NO_KEY, NOT_A_KEY)]
    unknown = [many for digest, many in known if not times.get(digest)]
    twice = [many for digest, many in known if times.get(digest, 0) > 1]
    return WhoseRows(
        **{**vars(found), "unknown": len(unknown), "twice": len(twice), "rows_of_other": sum(unknown + twice)}
    )


def _told(rows: KeyedRows, rules: People, alike: int) -> WhoseRows:
    own = dict(zip(rows.digests, _rows_of(rows).tolist(), strict=True))
    without, unusable = own.pop(NO_KEY, 0), own.pop(NOT_A_KEY, 0)
    beyond = [many - rules.at_most for many in own.values() if many > rules.at_most]
    return WhoseRows(len(own), without, unusable, len(beyond), sum(beyond), alike)


def _rows_of(keyed: KeyedRows) -> Ints:
    """How many rows each person has."""
    out: Ints = np.zeros(len(keyed.digests), dtype=np.int64)
    np.add.at(out, keyed.person, keyed.counts)
    return out


def _alike(source: Source, key: tuple[str, ...]) -> int:
    """How many keys are written like another one, but for blanks and capitals; of keys of one column."""
    texts = source.distinct(key[0], _MOST_KEYS) if len(key) == 1 else None
    if texts is None:
        return 0
    written = Counter("".join(text.split()).casefold() for text in texts)
    return sum(many for many in written.values() if many > 1)
