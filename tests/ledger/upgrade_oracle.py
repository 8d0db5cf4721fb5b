"""The slow truth about two versions of a policy: every entry that could be written, read by the engines' own reader."""

import itertools
import math
from datetime import timedelta
from fractions import Fraction

import numpy as np

from dxprivacy.engines.entries import combine, entry_reader
from dxprivacy.universe.attribute_matching import Recoding
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers

JUNK = ("", "no such entry", "-99", "1e1")


def entries_of(olds, news, recodings):
    """Pairs (how an entry was written, how it is written now) of one column."""
    texts = set(JUNK)
    for attribute in (*olds, *news):
        texts |= set(attribute.texts)
        if isinstance(attribute, Integers):
            texts |= {str(v) for v in range(attribute.low - 2, attribute.high + 3)}
        if isinstance(attribute, Numbers):
            ends = [attribute.edges[0] - 1, *attribute.edges, attribute.edges[-1] + 1]
            texts |= {repr(x) for e in ends for x in (e, math.nextafter(e, -math.inf), math.nextafter(e, math.inf))}
        if isinstance(attribute, Dates):
            texts |= {(attribute.first + timedelta(days=k)).isoformat() for k in range(-2, attribute.listed + 2)}
    recoding = next((r for r in recodings if r.texts), Recoding())
    listed_now = {t for attribute in news for t in attribute.texts}
    gone = {t for source in recoding.texts.values() for t in source} - listed_now
    return [(before, now) for now in sorted(texts - gone) for before in recoding.texts.get(now, (now,))]


def cell(universe, row):
    """The cell of a row, given as texts by column."""
    out = 0
    for attribute, stride in zip(universe.attributes, universe.strides, strict=True):
        read = entry_reader(attribute.codec)
        places = [np.array([read(row[column])], dtype=np.int64) for column in attribute.reads]
        out += stride * int(combine(attribute, places)[0])
    return out


def preimages(old, new, recoded):
    """For each new cell the old cells that the same people may have been in."""
    before = {}  # the old name of each new column
    for a in new.attributes:
        renamed = recoded.get(a.name, Recoding()).column
        before |= {a.column: renamed} if renamed else {column: column for column in a.reads}
    columns = sorted({c for a in old.attributes for c in a.reads} | set(before.values()))
    written = []
    for column in columns:
        olds = [a.each_entry for a in old.attributes if column in a.reads]
        after = [a for a in new.attributes if column in {before[c] for c in a.reads}]
        news = [a.each_entry for a in after]
        pairs = entries_of(olds, news, [recoded.get(a.name, Recoding()) for a in after])
        # Entries that no attribute tells apart are one: the product stays small.
        read = {}
        for was, now in pairs:
            old_places = tuple(entry_reader(a.codec)(was) for a in olds)
            read[old_places, tuple(entry_reader(a.codec)(now) for a in news)] = (was, now)
        written.append(list(read.values()))
    out = {} if new.absent is None else {new.absent: {old.absent}}
    for row in itertools.product(*written):
        entry = dict(zip(columns, row, strict=True))
        was = cell(old, {column: texts[0] for column, texts in entry.items()})
        now = cell(new, {column: entry[name][1] for column, name in before.items()})
        out.setdefault(now, set()).add(was)
    return out


class Carried:
    """The cost that each pair of new records must carry: the largest over all preimages."""

    def __init__(self, cost, found):
        self.cost, self.found, self._known = cost, found, {}

    def of(self, i, j):
        a, b = min(i, j), max(i, j)
        if (a, b) not in self._known:
            self._known[a, b] = self.cost.exact(a, b)
        return self._known[a, b]

    def exact(self, i, j):
        return max(self.of(a, b) for a in self.found[i] for b in self.found[j])

    def separated(self):
        """Whether it tells apart what is one record now."""
        return any(self.exact(i, i) > 0 for i in self.found)


def overspent(costs, metric):
    """Whether the carried costs together exceed the metric on some pair."""
    return worst(costs, metric) > 1


def worst(costs, metric):
    best = Fraction(0)
    for i, j in itertools.combinations(range(metric.universe.size), 2):
        d, total = metric.exact(i, j), sum((c.exact(i, j) for c in costs), Fraction(0))
        if total and d != math.inf:
            best = max(best, total / d if d else math.inf)
    return best
