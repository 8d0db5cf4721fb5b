"""What questions mean (docs/formats.md, sections 4 and 5): names, groups, conditions, rows, labels, recipes."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Along, Block, Column, Explicit, Table
from dxprivacy.verify.reading import decimal, refuse
from dxprivacy.verify.universe import Attribute, Integers, Points, Property, Universe
from dxprivacy.verify.words import number_text

_MOST_ROWS = 2_000_000
_MOST_RANGES = 300


@dataclass(frozen=True)
class Recipe:
    """How an answer comes from rows: one row, or for means over groups a sum and a count."""

    row: int
    unit: Fraction
    bias: Fraction
    over_all: bool = False  # a mean over all records
    count: int | None = None  # the row of the count
    centre: Fraction = Fraction(0)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows it uses."""
        return (self.row,) if self.count is None else (self.row, self.count)


@dataclass(frozen=True)
class Answer:
    """One answer: label, title of its question, unit, target, recipe, and how many answers the question has."""

    label: str
    title: str
    unit: str
    within: Fraction | None
    recipe: Recipe
    siblings: int = 1


@dataclass(frozen=True)
class Asked:
    """All questions: blocks of rows, answers, titles, notes."""

    blocks: list[Block]
    answers: list[Answer]
    titles: list[str]
    notes: list[str]

    @property
    def rows(self) -> int:
        """How many rows."""
        return sum(block.rows for block in self.blocks)


@dataclass(frozen=True)
class Named:
    """What a name means: an attribute, or one of its properties."""

    axis: int
    attribute: Attribute
    fact: Property | None

    @property
    def numbers(self) -> Sequence[Fraction] | None:
        """The numbers of listed values."""
        return self.attribute.numbers if self.fact is None else self.fact.numbers

    def unit(self, universe: Universe) -> str:
        """The unit of these numbers; a series' properties have that of the series."""
        own = universe.units.get(self.attribute.name, "")
        if self.fact is None:
            return own
        return universe.units.get(f"{self.attribute.name}.{self.fact.name}", "") if self._declared else own

    @property
    def _declared(self) -> bool:
        return isinstance(self.attribute, Points)


def ask(data: Any, universe: Universe) -> Asked:
    """All questions of a file."""
    given = reading.items(data, "questions")
    if not given:
        raise refuse("nothing is asked", "questions")
    blocks: list[Block] = []
    answers: list[Answer] = []
    titles: list[str] = []
    notes: dict[str, None] = {}
    for k, question in enumerate(given):
        one = _Question(question, universe, f"question {k + 1}").bound()
        start = sum(block.rows for block in blocks)
        for block in one.blocks:
            blocks.append(block.starting_at(sum(b.rows for b in blocks)))
        for a in one.answers:
            moved = replace(
                a.recipe, row=a.recipe.row + start, count=None if a.recipe.count is None else a.recipe.count + start
            )
            answers.append(replace(a, recipe=moved, siblings=len(one.answers)))
        titles += one.titles
        notes |= dict.fromkeys(one.notes)
    return Asked(blocks, answers, titles, list(notes))


def resolve(name: str, universe: Universe, where: str) -> Named:
    """An attribute, or a property of exactly one."""
    if name in universe.names:
        axis = universe.names.index(name)
        return Named(axis, universe.attributes[axis], None)
    owner, _, short = name.rpartition(".")
    found = [
        Named(axis, attribute, fact)
        for axis, attribute in enumerate(universe.attributes)
        if owner in ("", attribute.name)
        for fact in attribute.properties
        if fact.name == short
    ]
    if len(found) != 1:
        raise refuse(f"no attribute {name[:40]!r}" if not found else f"{name[:40]!r} is ambiguous", where)
    return found[0]


def grid(numbers: Sequence[Fraction]) -> tuple[list[int], Fraction, Fraction]:
    """Whole multiples of a unit, the unit, and the bias (section 5).

    >>> grid([Fraction(1, 2), Fraction(3)])
    ([1, 6], Fraction(1, 2), Fraction(0, 1))
    """
    largest = max(abs(x) for x in numbers)
    if not largest:
        return [0] * len(numbers), Fraction(1), Fraction(0)
    common = math.lcm(*(x.denominator for x in numbers))
    unit, bias = Fraction(math.gcd(*(int(x * common) for x in numbers)), common), Fraction(0)
    if largest / unit >= 1 << 40:
        unit = Fraction(2) ** (math.frexp(float(largest))[1] - 31)
        bias = unit / 2
    return [round(x / unit) for x in numbers], unit, bias


class _Question:
    def __init__(self, data: Any, universe: Universe, where: str) -> None:
        self.universe, self.where = universe, where
        self.ask = data.get("ask") if isinstance(data, dict) else None
        if self.ask == "matrix":
            needed = ("ask", "shape", "rows", "columns", "entries", "factor", "bias", "labels")
            self.data = reading.members(data, where, needed, ("within",))
            self.unit, self.of, self.by, self.conditions = "", "", [], []
        elif self.ask in ("count", "sum", "mean", "prefixes", "ranges", "marginals"):
            of = () if self.ask == "count" else ("of",)
            grouped = ("by", "where") if self.ask in ("count", "sum", "mean") else ()
            self.data = reading.members(data, where, ("ask", *of), (*grouped, "within", "unit"))
            self.of = reading.text(data.get("of", ""), where)
            self.by = reading.each(data.get("by", []), where, reading.text)
            self.unit = reading.text(data.get("unit", ""), where)
            self.conditions = [self._condition(c) for c in reading.items(data.get("where", []), where)]
        else:
            raise refuse(f"asks for {str(self.ask)[:40]!r}", where)
        self.within = reading.positive(data["within"], where) if "within" in data else None

    def _condition(self, data: Any) -> tuple[str, list[str] | tuple[Fraction, Fraction]]:
        pair = reading.items(data, self.where)
        if len(pair) != 2:
            raise refuse("a condition is a name and what it wants", self.where)
        name = reading.text(pair[0], self.where)
        if isinstance(pair[1], dict):
            ends = reading.members(pair[1], self.where, ("from", "to"))
            return name, (reading.fraction(ends["from"], self.where), reading.fraction(ends["to"], self.where))
        wanted = reading.each(pair[1], self.where, reading.text)
        if not wanted:
            raise refuse("a condition wants nothing", self.where)
        return name, wanted

    @property
    def title(self) -> str:
        if self.ask == "matrix":
            return f"{self.data['shape'][0]} explicit rows"
        words = [str(self.ask)]
        words += [self.of] if self.of else []
        words += ["by " + ", ".join(self.by)] if self.by else []
        words += ["where " + " and ".join(_write(n, c) for n, c in self.conditions)] if self.conditions else []
        if self.within is not None:
            words.append(f"within {number_text(self.within)}" + (f" {self.unit}" if self.unit else ""))
        return " ".join(words)

    def bound(self) -> Asked:
        if self.ask == "matrix":
            return self._matrix()
        if self.ask in ("prefixes", "ranges"):
            return self._intervals()
        if self.ask == "marginals":
            return self._marginals()
        return self._grouped()

    def _answers(self, labels: Sequence[str], recipes: Sequence[Recipe], unit: str = "") -> list[Answer]:
        return [Answer(label, self.title, unit, self.within, r) for label, r in zip(labels, recipes, strict=True)]

    def _rows(self, block: Block, *, over_all: bool = False) -> list[Recipe]:
        return [Recipe(k, block.unit, block.bias, over_all) for k in range(block.rows)]

    # -- counts, sums, means

    def _grouped(self) -> Asked:
        groupings = [_group(by, self.universe, self.where) for by in self.by]
        groups = {g.axis: g.groups for g in groupings}
        named = {g.axis: g.labels for g in groupings}
        if len(groups) < len(groupings):
            raise refuse("groups an attribute twice", self.where)
        sizes = {axis: len(labels) for axis, labels in named.items()}
        for name, wanted in self.conditions:
            axis, fulfil = self._fulfil(name, wanted)
            sizes.setdefault(axis, 1)
            old = groups.get(axis, [0] * self.universe.shape[axis])
            groups[axis] = [g if v in fulfil else -1 for v, g in enumerate(old)]
        if math.prod(sizes.values()) > _MOST_ROWS:
            raise refuse("asks for too many rows", self.where)
        labels = self._labels(named)
        ones = {axis: [1] * len(g) for axis, g in groups.items()}
        if self.ask == "count":
            self._require_unit("")
            block = Table(groups, ones, sizes)
            return Asked([block], self._answers(labels, self._rows(block)), [self.title], [])
        named_of = resolve(self.of, self.universe, self.where)
        if named_of.numbers is None:
            raise refuse(f"{self.of} has no numbers", self.where)
        unit = named_of.unit(self.universe)
        self._require_unit(unit)
        weighed = named_of.attribute.in_sums(named_of.numbers)
        low, high = min(weighed), max(weighed)
        parted = self.ask == "mean" and bool(groups)
        centre = (low + high) / 2 if parted else Fraction(0)
        whole, step, bias = grid([x - centre for x in weighed])
        axis = named_of.axis
        with_x = {axis: [0] * self.universe.shape[axis], **groups}
        sums = Table(with_x, {**ones, axis: whole}, {axis: 1, **sizes}, step, bias)
        notes = self._notes(named_of, weighed[-1], unit)
        if not parted:
            recipes = self._rows(sums, over_all=self.ask == "mean")
            return Asked([sums], self._answers(labels, recipes, unit), [self.title], notes)
        counts = Table(groups, ones, sizes)
        recipes = [Recipe(k, step, bias, False, sums.rows + k, centre, low, high) for k in range(sums.rows)]
        return Asked([sums, counts], self._answers(labels, recipes, unit), [self.title], notes)

    def _fulfil(self, name: str, wanted: list[str] | tuple[Fraction, Fraction]) -> tuple[int, set[int]]:
        named = resolve(name, self.universe, self.where)
        if isinstance(wanted, tuple):
            if named.numbers is None:
                raise refuse(f"{name} has no numbers", self.where)
            found = {v for v, x in enumerate(named.numbers) if wanted[0] <= x <= wanted[1]}
        elif named.fact is None:
            found = {named.attribute.find(text, self.where) for text in wanted}
        else:
            entries = named.fact.entries
            if not set(wanted) <= set(entries):
                raise refuse(f"{name} has no such value", self.where)
            found = {v for v, entry in enumerate(entries) if entry in wanted}
        if not found:
            raise refuse(f"no record fulfils the condition on {name}", self.where)
        return named.axis, found

    def _labels(self, named: dict[int, list[str]]) -> list[str]:
        if not named:
            return [self.title.split(" within ")[0] if self.conditions else f"{self.ask} {self.of}".strip()]
        labels = [f"{self.ask} {self.of}"] if self.of else []
        for axis in sorted(named):
            labels = [f"{a}, {b}" for a in labels for b in named[axis]] if labels else list(named[axis])
        return labels

    def _notes(self, named: Named, value: Fraction, unit: str) -> list[str]:
        attribute = named.attribute
        used = [resolve(name, self.universe, self.where).axis for name, _ in self.conditions]
        used += [_group(by, self.universe, self.where).axis for by in self.by]
        if not attribute.other or named.axis in used:
            return []
        text = f"a missing or invalid {attribute.name} counts as {number_text(value)} {unit}".rstrip()
        text += " in sums and means"
        if isinstance(attribute, Integers):
            text += (
                f"; for valid ones only: {self.ask} {self.of} where {attribute.name}={attribute.low}..{attribute.high}"
            )
        return [text]

    def _require_unit(self, unit: str) -> None:
        if self.unit and self.unit != unit:
            raise refuse(f"its target is in {self.unit[:20]!r}, the answer in {unit[:20]!r}", self.where)

    # -- the others

    def _intervals(self) -> Asked:
        grouping = _group(self.of, self.universe, self.where)
        n = len(grouping.labels)
        if self.ask == "prefixes":
            spans = [(0, k) for k in range(n)]
        elif n > _MOST_RANGES:
            raise refuse("asks for too many ranges", self.where)
        else:
            spans = [(a, b) for a in range(n) for b in range(a, n)]
        block = Along(grouping.axis, grouping.groups, spans)
        labels = [_interval_label(grouping.labels[a], grouping.labels[b]) for a, b in spans]
        return Asked([block], self._answers(labels, self._rows(block)), [self.title], [])

    def _marginals(self) -> Asked:
        names = self.universe.names
        order = int(self.of) if re.fullmatch("[0-9]{1,4}", self.of) else 0
        if not 1 <= order <= len(names):
            raise refuse(f"tables of {self.of[:20]!r} attributes", self.where)
        blocks: list[Block] = []
        answers: list[Answer] = []
        for chosen in combinations(names, order):
            table = _Question({"ask": "count", "by": list(chosen)}, self.universe, self.where).bound()
            start = sum(b.rows for b in blocks)
            blocks += table.blocks
            labels = [f"{', '.join(chosen)}: {a.label}" for a in table.answers]
            recipes = [replace(a.recipe, row=a.recipe.row + start) for a in table.answers]
            answers += self._answers(labels, recipes)
        return Asked(blocks, answers, [self.title], [])

    def _matrix(self) -> Asked:
        data, where, size = self.data, self.where, self.universe.size
        shape = reading.each(data["shape"], where, lambda x, w: reading.whole(x, w, 1, 1 << 31))
        if len(shape) != 2 or shape[1] != size:
            raise refuse("its matrix does not fit the universe", where)
        rows = reading.each(data["rows"], where, lambda x, w: reading.whole(x, w, 0, shape[0] - 1))
        cells = reading.each(data["columns"], where, lambda x, w: reading.whole(x, w, 0, size - 1))
        entries = reading.each(data["entries"], where, reading.whole)
        if not len(rows) == len(cells) == len(entries) or len(set(zip(rows, cells, strict=True))) < len(rows):
            raise refuse("its entries are damaged", where)
        unit, bias = reading.positive(data["factor"], where), reading.fraction(data["bias"], where)
        labels = reading.each(data["labels"], where, reading.text) or [f"row {k + 1}" for k in range(shape[0])]
        if len(labels) != shape[0] or bias < 0:
            raise refuse("its labels or its bias are damaged", where)
        columns: dict[int, Column] = {}
        for row, cell, x in zip(rows, cells, entries, strict=True):
            if x:
                columns.setdefault(cell, {})[row] = x
        block: Block = Explicit(self.universe, shape[0], columns, unit, bias)
        if len(self.universe.shape) == 1 and columns and all(len(c) == 1 for c in columns.values()):
            groups, weights = [-1] * size, [0] * size
            for cell, column in columns.items():
                ((groups[cell], weights[cell]),) = column.items()
            block = Table({0: groups}, {0: weights}, {0: shape[0]}, unit, bias)
        return Asked([block], self._answers(labels, self._rows(block)), [self.title], [])


def _write(name: str, condition: list[str] | tuple[Fraction, Fraction]) -> str:
    if isinstance(condition, tuple):
        return f"{name}={number_text(condition[0])}..{number_text(condition[1])}"
    quoted = [f"'{v}'" if re.search(r"[\s=|,]|\.\.|^$", v) else v for v in condition]
    return f"{name}={'|'.join(quoted)}"


def _interval_label(first: str, last: str) -> str:
    if first == last:
        return first
    start = first.partition("–")[0]
    return f"{start}+" if last.endswith("+") else f"{start}–{last.rpartition('–')[2]}"


@dataclass(frozen=True)
class Grouping:
    """Per value of an attribute its group, -1 for none; and the groups' labels."""

    axis: int
    groups: list[int]
    labels: list[str]


def _group(written: str, universe: Universe, where: str) -> Grouping:
    match = re.fullmatch(r"([^\[\]/]+)(?:/([^\[\]/]+)|\[([^\[\]]*)\])?", written.strip())
    if match is None:
        raise refuse(f"groups by {written[:40]!r}", where)
    named = resolve(match[1].strip(), universe, where)
    if match[2] is None and match[3] is None:
        keys, labels = _plain(named)
    else:
        if named.numbers is None:
            raise refuse(f"{match[1]} has no numbers", where)
        cuts = _width(match[2], named.numbers, where) if match[2] else _edges(match[3], where)
        keys, labels = cuts.cut(named.numbers)
    return Grouping(named.axis, keys + [-1] * named.attribute.other, labels)


def _plain(named: Named) -> tuple[list[int], list[str]]:
    if named.fact is None:
        return list(range(named.attribute.listed)), [named.attribute.label(k) for k in range(named.attribute.listed)]
    entries = named.fact.entries
    value = dict(zip(entries, named.fact.numbers or [Fraction(0)] * len(entries), strict=True))
    order = sorted(set(entries), key=lambda e: (value[e], e))
    place = {entry: k for k, entry in enumerate(order)}
    return [place[e] for e in entries], order


@dataclass(frozen=True)
class _Cuts:
    """Groups from each start to the next end; None: without end."""

    spans: dict[int, tuple[Fraction, Fraction | None]]
    key: Any

    def cut(self, numbers: Sequence[Fraction]) -> tuple[list[int], list[str]]:
        keys = [self.key(x) for x in numbers]
        present = sorted(set(keys) - {None})
        place = {key: k for k, key in enumerate(present)} | {None: -1}
        least, most = min(numbers), max(numbers)
        all_whole = all(x.denominator == 1 for x in numbers)
        labels = []
        for key in present:
            low, high = self.spans[key]
            if high is None:
                labels.append(f"{number_text(low)}+")
            elif all_whole and low.denominator == high.denominator == 1:
                first, last = max(low, least), min(high - 1, most)
                labels.append(f"{number_text(first)}–{number_text(last)}" if last > first else number_text(first))
            else:
                labels.append(f"{number_text(low)} to {number_text(high)}")
        return [place[k] for k in keys], labels


def _width(written: str, numbers: Sequence[Fraction], where: str) -> _Cuts:
    width = decimal(written)
    if width is None or width <= 0:
        raise refuse(f"groups by steps of {written[:40]!r}", where)
    keys = {x // width for x in numbers}
    return _Cuts({k: (k * width, (k + 1) * width) for k in keys}, lambda x: x // width)


def _edges(written: str, where: str) -> _Cuts:
    edges = [decimal(e) for e in written.split(",") if e.strip()]
    known = [e for e in edges if e is not None]
    if not known or len(known) < len(edges) or any(a >= b for a, b in pairwise(known)):
        raise refuse(f"groups by the edges {written[:40]!r}", where)
    ends: list[Fraction | None] = [*known[1:], None]
    spans = dict(enumerate(zip(known, ends, strict=True)))
    return _Cuts(spans, lambda x: sum(e <= x for e in known) - 1 if x >= known[0] else None)
