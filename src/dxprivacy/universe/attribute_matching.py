"""Match two versions of an attribute: which old values correspond to which new ones.

An entry in the data does not change when the policy changes, but the value it is read as may.  The relation of two
versions is the set of pairs (a, b) such that the old version reads some entry as a and the new one reads it as b, over
all entries that could be written, seen or not.  A superset of the relation is safe: it can only carry over more cost
or refuse more.

The relation depends on how entries are read (`codecs`): by text (values, the nodes of a graph, the ids of points), as
integers, as numbers in bins, as dates, or as series of numbers.  Versions that are read in different ways have no
relation and are refused.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from dxprivacy.errors import PolicyError, did_you_mean
from dxprivacy.exact.arrays import Ints
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.attribute_kinds import is_known
from dxprivacy.universe.reading.calendar import DAY, month_number
from dxprivacy.universe.reading.codecs import Days, DaysOfTheWeek, ListedTexts, NumbersInBins, TimesOfDay, WholeNumbers
from dxprivacy.universe.reading.spelling import Spelling

_MOST_PAIRS = 1 << 21


@dataclass(frozen=True)
class Recoding:
    """What a policy declares about the previous version: the former name of the column, and the former texts of values.

    The column was called `column`.  Entries that are now written as a key of `texts` were written as one of the texts
    listed under it.

    A text that was recoded and is no longer listed does not occur in new data; `still` holds texts that other
    attributes of the same column list.
    """

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    column: str = ""
    still: frozenset[str] = field(default=frozenset(), compare=False)

    def __bool__(self) -> bool:
        return bool(self.texts or self.column)

    def to_dict(self) -> dict[str, object]:
        """Return the recoding as a dictionary for JSON."""
        return {"texts": {new: list(old) for new, old in self.texts.items()}, "column": self.column}

    @classmethod
    def from_dict(cls, data: Mapping[str, Mapping[str, list[str]] | str]) -> "Recoding":
        """Return the recoding that `to_dict` describes."""
        texts, column = data["texts"], data["column"]
        if not isinstance(texts, Mapping) or not isinstance(column, str):
            raise ValueError("a recoding")
        return cls({str(new): tuple(str(x) for x in old) for new, old in texts.items()}, column)


@dataclass(frozen=True, eq=False)
class Relation:
    """Pairs (old value, new value), each once, ordered by the new value; every value of both sides occurs."""

    old: Ints
    new: Ints

    @classmethod
    def of(cls, pairs: Ints) -> "Relation":
        """Return the relation of an array of pairs (old, new)."""
        ordered = np.unique(pairs[:, ::-1], axis=0)
        return cls(ordered[:, 1].copy(), ordered[:, 0].copy())

    @property
    def representative(self) -> Ints:
        """For each new value, one of its old values."""
        return self.old[np.unique(self.new, return_index=True)[1]]

    @property
    def merged(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The new values that correspond to several old values, each with these."""
        found, count = np.unique(self.new, return_counts=True)
        return tuple((int(b), tuple(self.old[self.new == b].tolist())) for b in found[count > 1])


def _pairs(old: Attribute, new: Attribute, recoding: Recoding) -> Ints:
    """Return the pairs of values of two versions that are read in the same way, as rows (old, new)."""
    if old.is_series:
        return _entries(old, new, recoding)
    if new.located is not None:
        return _same_places(old, new, recoding)
    match old.codec, new.codec:
        case ListedTexts() as before, ListedTexts() as after:
            if before.spelling or after.spelling:
                return _spelt(old, before, new, after, recoding)
            return _texts(old, new, recoding)
        case WholeNumbers() as before, WholeNumbers() as after:
            return _whole_numbers(old, before, new, after, recoding)
        case NumbersInBins() as before, NumbersInBins() as after:
            return _bins(old, before, new, after, recoding)
        case Days() as before, Days() as after:
            return _days(old, before, new, after, recoding)
        case DaysOfTheWeek() as before, DaysOfTheWeek() as after:
            _same_zone(new, before, after)
            return _in_order(old, 0, new, 0, recoding)
        case TimesOfDay() as before, TimesOfDay() as after:
            _same_zone(new, before, after)
            _no_texts(new, recoding)
            if before.whole_hours != after.whole_hours:
                raise PolicyError(
                    f"{new.name} is read in other steps now",
                    details=["If steps are whole hours, 8 is an hour; otherwise it is not a time of day."],
                    hints=[("keep the steps whole hours, or not", "")],
                )
            seconds = range(86_400)
            placed = [[before.place(k), after.place(k)] for k in seconds]
            return _known(old, new, np.array(placed, dtype=np.int64))
    raise PolicyError(f"costs cannot be carried for {new.name}: {new.kind} are not known here")


def _how(attribute: Attribute) -> str:
    """Return in words how entries of an attribute are read."""
    if attribute.located is not None:
        return "by its coordinates"
    return "as a series" if attribute.is_series else attribute.codec.how


def _same_places(old: Attribute, new: Attribute, recoding: Recoding) -> Ints:
    """Return the pairs for attributes read by coordinates: grid cells or places must be equal in both versions."""
    _no_texts(new, recoding)
    if old.located != new.located:
        raise PolicyError(
            f"{new.name} has other grid cells or places now",
            details=["It is not known which rows move from one to another."],
            hints=[("keep grid, box and places as they were", ""), ("another column", "for the new attribute")],
        )
    return np.stack([np.arange(new.size, dtype=np.int64)] * 2, axis=1)


def _texts(old: Attribute, new: Attribute, recoding: Recoding) -> Ints:
    """Return the pairs for exact texts: all texts that either version lists; all others are `other` in both."""
    before = {text: k for k, text in enumerate(old.texts)}
    after = {text: k for k, text in enumerate(new.texts)}
    for text in sorted({t for source in recoding.texts.values() for t in source}):
        if text not in before:
            raise PolicyError(
                f"{new.name}: was names “{text[:60]}”, which the version before does not list",
                details=["was describes only the version before; entries about older versions must be removed."],
                hints=[*did_you_mean(text, before), ("remove it from was", "if it was adopted long ago")],
            )
    gone = {t for source in recoding.texts.values() for t in source if t not in after} - recoding.still
    pairs = []
    for text in sorted((before.keys() | after.keys() | recoding.texts.keys()) - gone):
        for written in recoding.texts.get(text, (text,)):
            a, b = before.get(written, old.listed), after.get(text, new.listed)
            if a < old.size and b < new.size:  # without `other` a version has no place for the text
                pairs.append((a, b))
    if old.has_other and new.has_other:
        pairs.append((old.listed, new.listed))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _spelt(old: Attribute, before: ListedTexts, new: Attribute, after: ListedTexts, recoding: Recoding) -> Ints:
    """Return the pairs for texts if a version trims, folds case or has aliases.

    All texts that either version looks up are tried.  If both versions normalize entries in the same way, every other
    entry is `other` in both.  Otherwise, an entry that both versions recognize is a spelling of one old text and of one
    new text, and these are equal up to blanks and case.  A text with several spellings in one version may have been
    `other` in the version that does not accept all of them.
    """
    if recoding.texts:
        raise PolicyError(
            f"{new.name}: was cannot be combined with trim, fold_case or aliases",
            details=["It would not be known which of the texts that count as a value are written differently now."],
            hints=[("two steps", "one version with was and without these, adopted, then another")],
        )

    def place(codec: ListedTexts, text: str) -> int:
        return codec.places.get(codec.spelling.key(text), codec.listed)

    texts = sorted({*before.texts, *after.texts, *(t for c in (before, after) for _, t in c.spelling.aliases)})
    pairs = {(place(before, text), place(after, text)) for text in texts}
    ways = [(codec.spelling.trim, codec.spelling.fold_case) for codec in (before, after)]
    if ways[0] != ways[1]:
        bare = Spelling(trim=True, fold_case=True)
        alike: dict[str, list[set[int]]] = {}
        for side, codec in enumerate((before, after)):
            for text, k in codec.places.items():
                alike.setdefault(bare.key(text), [set(), set()])[side].add(k)
        pairs |= {(a, b) for both in alike.values() for a in both[0] for b in both[1]}
        more = [Spelling(mine[0] and not theirs[0], mine[1] and not theirs[1]) for mine, theirs in (ways, ways[::-1])]
        pairs |= {(k, after.listed) for text, k in before.places.items() if more[0].varies(text)}
        pairs |= {(before.listed, k) for text, k in after.places.items() if more[1].varies(text)}
    return _known(old, new, np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2))


def _whole_numbers(
    old: Attribute, before: WholeNumbers, new: Attribute, after: WholeNumbers, recoding: Recoding
) -> Ints:
    """Return the pairs for integers: all numbers of either range; everything else is `other` in both."""
    if not before.clamp and not after.clamp:
        return _in_order(old, before.low, new, after.low, recoding)
    _no_texts(new, recoding)
    numbers = np.arange(min(before.low, after.low) - 1, max(before.high, after.high) + 2, dtype=np.int64)
    return _known(old, new, np.stack([_placed(before, numbers), _placed(after, numbers)], axis=1))


def _placed(codec: WholeNumbers, numbers: Ints) -> Ints:
    """Return the places of integers; those outside the range go to `other`, or to the nearest end."""
    inside = np.clip(numbers, codec.low, codec.high)
    return np.where((inside == numbers) | codec.clamp, inside - codec.low, codec.listed).astype(np.int64)


def _days(old: Attribute, before: Days, new: Attribute, after: Days, recoding: Recoding) -> Ints:
    """Return the pairs for days: all days of either range; everything else is `other` in both."""
    _same_zone(new, before, after)
    if before.step == after.step == DAY and not before.clamp and not after.clamp:
        return _in_order(old, before.first.toordinal(), new, after.first.toordinal(), recoding)
    _no_texts(new, recoding)
    # Every day of either range, and one day beyond each end: days further away are read like that one.
    low, high = min(before.first, after.first).toordinal(), max(before.last, after.last).toordinal()
    days = np.arange(max(low - 1, 1), min(high + 1, date.max.toordinal()) + 1, dtype=np.int64)
    return _known(old, new, np.stack([_placed_days(before, days), _placed_days(after, days)], axis=1))


def _same_zone(
    new: Attribute, before: Days | DaysOfTheWeek | TimesOfDay, after: Days | DaysOfTheWeek | TimesOfDay
) -> None:
    if before.timezone != after.timezone:
        kept = (f'timezone = "{before.timezone}"', "as before") if before.timezone else ("no timezone", "as before")
        raise PolicyError(
            f"{new.name} is read in another time zone now",
            details=["One and the same entry may mean another day in a way that cannot be followed."],
            hints=[kept],
        )


def _placed_days(codec: Days, days: Ints) -> Ints:
    """Return the places of days, given as ordinals; those outside the range go to `other`, or to the nearest end."""
    near = np.clip(days, codec.first.toordinal(), codec.last.toordinal())
    if codec.step.days:
        since = near - codec.first.toordinal()
    else:
        months = (near - date(1970, 1, 1).toordinal()).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        since = months + 12 * 1970 - month_number(codec.first)
    return np.where((near == days) | codec.clamp, since // codec.step.size, codec.listed).astype(np.int64)


def _known(old: Attribute, new: Attribute, pairs: Ints) -> Ints:
    """Drop pairs with places that a version does not have, add the pair of both `other`, and remove duplicates."""
    both = [[old.listed, new.listed]] if old.has_other and new.has_other else []
    pairs = np.concatenate([pairs, np.array(both, dtype=np.int64).reshape(-1, 2)])
    return np.unique(pairs[(pairs < np.array([old.size, new.size])).all(axis=1)], axis=0)


def _in_order(old: Attribute, old_low: int, new: Attribute, new_low: int, recoding: Recoding) -> Ints:
    """Return the pairs for two ranges of one sequence, given by their first elements."""
    _no_texts(new, recoding)
    old_high, new_high = old_low + old.listed, new_low + new.listed
    both = np.arange(max(old_low, new_low), min(old_high, new_high), dtype=np.int64)
    parts = [np.stack([both - old_low, both - new_low], axis=1)]
    if old.has_other and new.has_other:
        parts.append(np.array([[old.listed, new.listed]], dtype=np.int64))
    sides = ((old_low, old_high, new_low, new_high, new, 1), (new_low, new_high, old_low, old_high, old, -1))
    for low, high, other_low, other_high, there, flip in sides:  # in one range only: `other` in the other version
        values = np.arange(low, high, dtype=np.int64)
        alone = values[(values < other_low) | (values >= other_high)] - low
        if there.has_other:
            parts.append(np.stack([alone, np.full_like(alone, there.listed)][::flip], axis=1))
    return np.concatenate(parts)


def _bins(old: Attribute, before: NumbersInBins, new: Attribute, after: NumbersInBins, recoding: Recoding) -> Ints:
    """Return the pairs for numbers in bins: probe every bin edge of either version, and a number between neighbors."""
    _no_texts(new, recoding)
    pairs: set[tuple[int, int]] = set()
    if before == after:
        pairs = {(k, k) for k in range(old.listed)}
    else:
        ends = sorted({codec.start(k) for codec in (before, after) for k in range(codec.listed + 1)})
        probes = [ends[0] - 1, *ends, *((a + b) / 2 for a, b in itertools.pairwise(ends)), ends[-1] + 1]
        pairs = {(before.place_exactly(x), after.place_exactly(x)) for x in probes}
    if old.has_other and new.has_other:
        pairs.add((old.listed, new.listed))
    kept = [(a, b) for a, b in sorted(pairs) if a < old.size and b < new.size]
    return np.array(kept, dtype=np.int64).reshape(-1, 2)


def _entries(old: Attribute, new: Attribute, recoding: Recoding) -> Ints:
    """Return the pairs for series, entry by entry; a series with an invalid entry is `other`."""
    _no_texts(new, recoding)
    single = relate(old.each_entry, new.each_entry)
    length = len(old.reads)
    if len(single.old) ** length > _MOST_PAIRS:
        raise PolicyError(
            f"costs cannot be carried for {new.name}: too many series could have been read as others",
            hints=[(f"keep [attributes.{new.name}] as it was", "")],
        )
    pairs = np.zeros((1, 2), dtype=np.int64)
    valid = np.ones((1, 2), dtype=bool)
    sizes = np.array([old.each_entry.listed, new.each_entry.listed], dtype=np.int64)
    selections = np.stack([single.old, single.new], axis=1)
    for _ in range(length):
        pairs = (pairs[:, None, :] * sizes + selections).reshape(-1, 2)
        valid = (valid[:, None, :] & (selections < sizes)).reshape(-1, 2)
    pairs = np.where(valid, pairs, np.array([old.listed, new.listed], dtype=np.int64))
    return pairs[(pairs < np.array([old.size, new.size], dtype=np.int64)).all(axis=1)]


def _no_texts(new: Attribute, recoding: Recoding) -> None:
    if recoding.texts:
        raise PolicyError(f"{new.name}: was is for values, points and graphs; {new.kind} cannot be recoded")


def relate(old: Attribute, new: Attribute, recoding: Recoding | None = None) -> Relation:
    """Return the relation of two versions of one attribute; raise PolicyError if there is none.

    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> before, after = Values(name="region", values=("A", "B")), Values(name="region", values=("A1", "A2", "B"))
    >>> r = relate(before, after, Recoding({"A1": ("A",), "A2": ("A",)}))
    >>> list(zip(r.old.tolist(), r.new.tolist()))
    [(0, 0), (0, 1), (1, 2), (2, 3)]
    """
    for attribute in (old, new):
        if not is_known(attribute):
            raise PolicyError(f"costs cannot be carried for {attribute.name}: {attribute.kind} are not known here")
    how, now = _how(old), _how(new)
    if how != now:
        raise PolicyError(
            f"{new.name} was {old.kind} and is {new.kind} now",
            details=[
                f"Column {old.column} was read {how} and would be read {now}: one and the same entry may mean "
                "another value in a way that cannot be followed."
            ],
            hints=[(f"keep {old.name} as {old.kind}", ""), ("another column", "for the new attribute")],
        )
    if old.format != new.format:
        raise PolicyError(
            f"{new.name} is read in another format now",
            details=["One and the same entry may mean another value in a way that cannot be followed."],
            hints=[("keep the format", ""), ("another column", "for the new attribute")],
        )
    if old.has_other != new.has_other:
        raise PolicyError(f"{new.name} has “other” in one version and not in the other")
    found = Relation.of(_pairs(old, new, recoding or Recoding()))
    _require_all(old, found.old, "is written as nothing in the new one", "the version before", 'was = { NEW = "OLD" }')
    _require_all(new, found.new, "could not be written under the one before", "the new version", "")
    return found


def _require_all(attribute: Attribute, values: Ints, what: str, version: str, hint: str) -> None:
    """Raise PolicyError if a value does not occur: some people would have no record in one of the versions."""
    lacking = np.setdiff1d(np.arange(attribute.size, dtype=np.int64), values)
    if len(lacking):
        label = attribute.label(int(lacking[0]))
        hints = [(hint, "says what it is written as now")] if hint else []
        raise PolicyError(f"{attribute.name} {label[:60]} of {version} {what}", hints=hints)
