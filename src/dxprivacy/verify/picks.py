"""What a selection is made among (docs/formats.md, section 11): candidates, the rows of their scores, words, units."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, ClassVar

from dxprivacy.verify import reading
from dxprivacy.verify.grouping import Grouping, group, resolve
from dxprivacy.verify.queries import Asked, ask
from dxprivacy.verify.queries.worded import bare
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.words import number_text

_MOST_CANDIDATES = 1 << 20
_MOST_VALUES = 2_000
_MOST_CUTS = 20_000
_FINEST = 10_000
_WIDTHS = tuple(f * 10**e for e in range(8) for f in (1, 2, 5))
_WHERE = "select"


class Pick(ABC):
    """One way to choose, over a universe."""

    members: ClassVar[tuple[str, ...]]
    measure: str  # what a score that falls short counts
    title: str
    labels: list[str]
    queries: list[Any]  # whose rows the scores are made of
    unit: Fraction  # of a score

    def __init__(self, data: dict[str, Any], universe: Universe, edition: int) -> None:
        self.data = reading.members(data, _WHERE, ("select", *self.members))
        self.universe, self.edition = universe, edition
        self.bind()
        if not 2 <= len(self.labels) <= _MOST_CANDIDATES:
            raise refuse("there is nothing to choose, or far too much", _WHERE)

    @abstractmethod
    def bind(self) -> None:
        """Work out candidates and rows."""


class _OfQueries(Pick):
    """By the rows of queries."""

    def asked(self) -> Asked:
        """The queries; each answer is a row by itself, all in one unit."""
        self.queries = reading.items(self.data["queries"], _WHERE)
        asked = ask(self.queries, self.universe, edition=self.edition)
        recipes = [a.recipe for a in asked.answers]
        if any(r.ratio for r in recipes) or len({(r.unit, r.over_all) for r in recipes}) > 1:
            raise refuse("compares answers in different units, or ratios", _WHERE)
        self.unit = recipes[0].unit
        return asked


class Largest(_OfQueries):
    """The largest of several counts or sums."""

    members = ("queries",)

    def bind(self) -> None:
        asked = self.asked()
        asks = [query["ask"] for query in self.queries]
        if len(set(asks) - {"matrix", "tally", "steps", "row"}) > 1:
            raise refuse("compares counts with sums", _WHERE)
        self.labels = [a.label for a in asked.answers]
        unit = asked.answers[0].unit
        counts = set(asks) == {"count"}
        self.measure = (
            "records fewer than the most common one has" if counts else f"{unit} less than the largest".strip()
        )
        self.title = "largest " + " + ".join(asked.names)
        if counts and len(asks) == 1 and self.queries[0].get("by"):
            self.title = f"most common {asked.names[0].removeprefix('count by ')}"


class Closest(_OfQueries):
    """Which of several public answers is closest."""

    members = ("queries", "targets")
    measure = "further off in its worst answer than the closest one"

    def bind(self) -> None:
        """Each set of targets is a candidate."""
        asked = self.asked()
        if asked.answers[0].recipe.over_all:
            raise refuse("compares guesses with means", _WHERE)
        self.labels = []
        for pair in reading.items(self.data["targets"], _WHERE):
            if len(reading.items(pair, _WHERE)) != 2:
                raise refuse("a guess is a label and its numbers", _WHERE)
            values = reading.each(pair[1], _WHERE, reading.fraction)
            steps = [v / self.unit for v in values]
            if len(values) != asked.rows or any(s.denominator != 1 or abs(s) >= 1 << 50 for s in steps):
                raise refuse("has a target that is no whole number of steps, or not one for each row", _WHERE)
            self.labels.append(reading.text(pair[0], _WHERE))
        self.title = f"closest of {len(self.labels):,} guesses"


class _Along(Pick):
    """By rows along one ordered attribute."""

    def grouping(self) -> Grouping:
        """The groups of what has an order."""
        of = reading.text(self.data["of"], _WHERE)
        resolve(bare(of), self.universe, _WHERE).order(_WHERE, self.edition)
        return group(of, self.universe, _WHERE, edition=self.edition)

    def put(self, grouping: Grouping, rows: Sequence[Sequence[int]]) -> None:
        """The rows as a query: by how much each jumps at each value."""
        jumps = [[x - y for x, y in zip(row, [0, *row], strict=False)] for row in rows]
        at = [(k, v) for k, row in enumerate(jumps) for v, x in enumerate(row) if x]
        self.queries = [
            {
                "ask": "steps",
                "of": self.universe.names[grouping.axis],
                "shape": [len(rows), len(grouping.groups)],
                "rows": [k for k, _ in at],
                "values": [v for _, v in at],
                "jumps": [jumps[k][v] for k, v in at],
                "factor": "1",
            }
        ]


class Quantile(_Along):
    """The value up to which a fraction of the records lies."""

    members = ("of", "at")
    measure = "records off in its rank"

    def bind(self) -> None:
        """Each group is a candidate; a row for each cut between two."""
        at = reading.positive(self.data["at"], _WHERE)
        grouping = self.grouping()
        if at >= 1 or at.denominator > _FINEST or len(grouping.labels) > _MOST_VALUES:
            raise refuse("is no quantile, or of too many values", _WHERE)
        a, b = at.numerator, at.denominator
        inside = {-1: [0] * (len(grouping.labels) - 1)}
        cuts = range(1, len(grouping.labels))
        for g in range(len(grouping.labels)):
            inside[g] = [b - a if g < cut else -a for cut in cuts]
        columns = [inside[g] for g in grouping.groups]
        self.put(grouping, list(zip(*columns, strict=True)))
        self.labels, self.unit = grouping.labels, Fraction(1, b)
        of = self.data["of"]
        self.title = f"median {of}" if at == Fraction(1, 2) else f"quantile {number_text(at)} of {of}"


class Bins(_Along):
    """Edges that cut the records into bins of equal size."""

    members = ("of", "bins")
    measure = "records more in the worst bin’s deviation than with the best edges"

    def bind(self) -> None:
        """Each set of edges is a candidate; a row for each interval that is a bin of some."""
        bins = reading.whole(self.data["bins"], _WHERE, 2, 100)
        grouping = self.grouping()
        if not set("/[") & set(self.data["of"]):
            grouping = _coarser(grouping, bins)
        steps = len(grouping.labels)
        if not 1 <= math.comb(steps - 1, bins - 1) <= _MOST_CUTS:
            raise refuse("has too few steps, or too many sets of edges", _WHERE)
        edges = [(0, *cuts, steps) for cuts in combinations(range(1, steps), bins - 1)]
        spans = list(dict.fromkeys(span for cut in edges for span in pairwise(cut)))
        groups = grouping.groups
        self.put(grouping, [[0 if g < 0 else bins - 1 if x <= g < y else -1 for g in groups] for x, y in spans])
        self.labels = [" | ".join(grouping.joined(x, y - 1) for x, y in pairwise(cut)) for cut in edges]
        self.unit = Fraction(1, bins)
        self.title = f"{bins} bins of {self.data['of']}"


def _coarser(fine: Grouping, bins: int) -> Grouping:
    """The finest steps with few enough sets of edges."""
    count = len(fine.labels)
    width = next(w for w in _WIDTHS if math.comb(max(-(-count // w) - 1, 0), bins - 1) <= _MOST_CUTS)
    spans = [(k, min(k + width, count) - 1) for k in range(0, count, width)]
    labels = [fine.joined(a, b) for a, b in spans]
    ends = None if fine.ends is None else [(fine.ends[a][0], fine.ends[b][1]) for a, b in spans]
    return Grouping(fine.axis, [g if g < 0 else g // width for g in fine.groups], labels, fine.column, ends)


_PICKS: dict[str, type[Pick]] = {"largest": Largest, "closest": Closest, "quantile": Quantile, "bins": Bins}


def read_pick(data: Any, universe: Universe, edition: int) -> Pick:
    """What is chosen, from its description."""
    kind = data.get("select") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _PICKS:
        raise refuse(f"chooses {str(kind)[:40]!r}", _WHERE)
    return _PICKS[kind](data, universe, edition)
