"""The slow truth about two versions of a policy: every entry that could be written, read by the engines' own reader."""

import itertools
import math
from fractions import Fraction

from dxprivacy.engines.source import text_reader
from dxprivacy.model.attributes import Integers
from dxprivacy.model.reading import Recoding, listed_texts

JUNK = ("", "no such entry", "-99", "1e1")


def entries_of(olds, news, recodings):
    """Pairs (how an entry was written, how it is written now) of one column."""
    texts = set(JUNK)
    for attribute in (*olds, *news):
        texts |= set(listed_texts(attribute))
        if isinstance(attribute, Integers):
            texts |= {str(v) for v in range(attribute.low - 2, attribute.high + 3)}
    recoding = next((r for r in recodings if r.texts), Recoding())
    listed_now = {t for attribute in news for t in listed_texts(attribute)}
    gone = {t for source in recoding.texts.values() for t in source} - listed_now
    return [(before, now) for now in sorted(texts - gone) for before in recoding.texts.get(now, (now,))]


def cells(universe, texts_by_axis):
    return sum(
        s * text_reader(a)(t) for a, s, t in zip(universe.attributes, universe.strides, texts_by_axis, strict=True)
    )


def preimages(old, new, recoded):
    """For each new cell the old cells that the same people may have been in."""
    before = {a.name: recoded.get(a.name, Recoding()).column or a.column for a in new.attributes}
    columns = sorted({a.column for a in old.attributes} | set(before.values()))
    written = []
    for column in columns:
        olds = [a for a in old.attributes if a.column == column]
        news = [a for a in new.attributes if before[a.name] == column]
        pairs = entries_of(olds, news, [recoded.get(a.name, Recoding()) for a in news])
        # Entries that no attribute tells apart are one: the product stays small.
        read = {}
        for was, now in pairs:
            read[tuple(text_reader(a)(was) for a in olds), tuple(text_reader(a)(now) for a in news)] = (was, now)
        written.append(list(read.values()))
    out = {} if new.absent is None else {new.absent: {old.absent}}
    for row in itertools.product(*written):
        entry = dict(zip(columns, row, strict=True))
        was = cells(old, [entry[a.column][0] for a in old.attributes])
        now = cells(new, [entry[before[a.name]][1] for a in new.attributes])
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
