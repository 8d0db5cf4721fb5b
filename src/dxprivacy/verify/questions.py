"""What questions ask for (docs/formats.md, sections 4 and 5): rows in blocks, labels, words, recipes, notes."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, combinations, product
from typing import Any

from dxprivacy.verify import days, reading
from dxprivacy.verify.attributes import Integers, Numbers, Series
from dxprivacy.verify.blocks import Along, Block, Column, Explicit, Stepped, Table
from dxprivacy.verify.grouping import Condition, Grouping, Named, fulfil, group, resolve
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.words import number_text

_MOST_ROWS = 2_000_000
_MOST_RANGES = 300
_HEAVIEST = 1_000_000
_LARGEST_ENTRY = 1 << 53
_MISSING = {"sum": "zero", "mean": "left out"}
_KEYWORDS = ("by", "where", "within", "and", "of")


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
    below: Fraction = Fraction(0)  # what cells hide of one record's number, on either side
    above: Fraction = Fraction(0)
    ended: bool = False  # a mean over all that lies between low and high
    part: Fraction = Fraction(1)  # of all records, if all groups and all values of conditions are equally frequent

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows it uses."""
        return (self.row,) if self.count is None else (self.row, self.count)


@dataclass(frozen=True)
class Answer:
    """One answer: label, title of its question, unit, target, recipe, groups; and how many answers the question has."""

    label: str
    title: str
    unit: str
    within: Fraction | None
    recipe: Recipe
    groups: dict[str, str]
    siblings: int = 1


@dataclass(frozen=True)
class Asked:
    """All questions: blocks of rows, answers, the questions' words, notes."""

    blocks: list[Block]
    answers: list[Answer]
    words: list[str]
    notes: list[str]

    @property
    def rows(self) -> int:
        """How many rows."""
        return sum(block.rows for block in self.blocks)


def ask(data: Any, universe: Universe, *, edition: int = 3, units: bool = True) -> Asked:
    """All questions of a file; `units=False` where nothing says in which units the numbers were.

    In edition 2 labels said less about cells, and intervals nothing.
    """
    given = reading.items(data, "questions")
    if not given:
        raise refuse("nothing is asked", "questions")
    blocks: list[Block] = []
    answers: list[Answer] = []
    words: list[str] = []
    notes: dict[str, None] = {}
    for k, question in enumerate(given):
        one = _Question(question, universe, f"question {k + 1}", edition=edition, units=units).bound()
        start = sum(block.rows for block in blocks)
        for block in one.blocks:
            blocks.append(block.starting_at(sum(b.rows for b in blocks)))
        for a in one.answers:
            moved = replace(
                a.recipe, row=a.recipe.row + start, count=None if a.recipe.count is None else a.recipe.count + start
            )
            answers.append(replace(a, recipe=moved, siblings=len(one.answers)))
        words += one.words
        notes |= dict.fromkeys(one.notes)
    return Asked(blocks, answers, words, list(notes))


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
    def __init__(self, data: Any, universe: Universe, where: str, *, edition: int = 3, units: bool = True) -> None:
        self.universe, self.where, self._units, self._edition = universe, where, units, edition
        self.ask = data.get("ask") if isinstance(data, dict) else None
        self.unit = self.of = self.title = self.missing = ""
        self.by: list[str] = []
        self.conditions: list[tuple[str, Condition]] = []
        if self.ask == "matrix":
            needed = ("ask", "shape", "rows", "columns", "entries", "factor", "bias", "labels")
            self.data = reading.members(data, where, needed, ("within", "weight"))
        elif self.ask == "tally":
            self.data = reading.members(data, where, ("ask", "over"))
        elif self.ask == "steps":
            self.data = reading.members(data, where, ("ask", "of", "shape", "rows", "values", "jumps", "factor"))
        elif self.ask == "row":
            self.data = reading.members(data, where, ("ask", "of", "row"))
            self.whole = self._whole_question(units=units)
        elif self.ask in ("count", "sum", "mean", "prefixes", "ranges", "marginals"):
            of = () if self.ask == "count" else ("of",)
            grouped = ("by", "where") if self.ask in ("count", "sum", "mean") else ()
            goals = ("within", "unit", "weight", "title", *(("missing",) if self.ask in _MISSING else ()))
            self.data = reading.members(data, where, ("ask", *of), (*grouped, *goals))
            self.missing = reading.text(data.get("missing", ""), where)
            if "missing" in data and self.missing != _MISSING[self.ask]:
                raise refuse("does not say how missing entries count", where)
            self.of, self.unit, self.title = (reading.text(data.get(n, ""), where) for n in ("of", "unit", "title"))
            self.by = reading.each(data.get("by", []), where, reading.text)
            self.conditions = [self._condition(c) for c in reading.items(data.get("where", []), where)]
        else:
            raise refuse(f"asks for {str(self.ask)[:40]!r}", where)
        self.within = reading.positive(data["within"], where) if "within" in data else None
        self.weight = reading.positive(data.get("weight", "1"), where)
        if not Fraction(1, _HEAVIEST) <= self.weight <= _HEAVIEST:
            raise refuse("has a weight beyond all measure", where)

    def _whole_question(self, *, units: bool) -> "_Question":
        """The question of which this is a row."""
        data = self.data["of"]
        if not isinstance(data, dict) or data.get("ask") == "row" or {"within", "unit", "weight", "title"} & set(data):
            raise refuse("is a row of something with a target, a weight or a title, or of a row", self.where)
        return _Question(data, self.universe, self.where, edition=self._edition, units=units)

    def _condition(self, data: Any) -> tuple[str, Condition]:
        pair = reading.items(data, self.where)
        if len(pair) != 2:
            raise refuse("a condition is a name and what it wants", self.where)
        name = reading.text(pair[0], self.where)
        if isinstance(pair[1], dict):
            ends = reading.members(pair[1], self.where, ("from", "to"))
            first, last = (days.day(reading.text(ends[end], self.where)) for end in ("from", "to"))
            if first and last:
                return name, (first, last)
            return name, (reading.fraction(ends["from"], self.where), reading.fraction(ends["to"], self.where))
        wanted = reading.each(pair[1], self.where, reading.text)
        if not wanted:
            raise refuse("a condition wants nothing", self.where)
        return name, wanted

    def _said(self, name: str, condition: Condition, cells: bool) -> str:
        """A condition in words; `cells`: by what is really counted, in cells and at ends that hold all beyond."""
        named = resolve(name, self.universe, self.where) if cells else None
        a = named.entry if named is not None else None
        if named is None or not (isinstance(a, Numbers) or (isinstance(a, Integers) and a.clamp)):
            return _write(name, condition)
        if isinstance(condition, tuple):
            low, high = (min(max(x, Fraction(a.low)), Fraction(a.high)) for x in condition if isinstance(x, Fraction))
            return f"{name} {_from_to(a, low, high)}"
        found = sorted({a.find(text, self.where) for text in condition})
        step, width = (a.step, a.step) if isinstance(a, Numbers) else (Fraction(1), Fraction(0))
        ends = [(a.low + k * step, a.low + k * step + width) for k in found]
        told = ["other" if k == a.listed else _from_to(a, *pair) for k, pair in zip(found, ends, strict=True)]
        return f"{name} {' or '.join(told)}"

    def words(self, *, goals: bool = True, cells: bool = False) -> str:
        """As somebody would ask it; without its goals, target and weight are left out."""
        if self.ask == "matrix":
            return f"{self.data['shape'][0]} explicit rows"
        if self.ask == "row":
            return f"row {self.data['row'] + 1} of {self.whole.words()}"
        if self.ask == "steps":
            return f"{self.data['shape'][0]} rows along {self.data['of']}"
        if self.ask == "tally":
            return "tally of " + ", ".join(("±" if min(p["weights"]) < 0 else "") + p["of"] for p in self.data["over"])
        words = [str(self.ask)]
        words += [_quoted(self.of)] if self.of else []
        words += ["by " + ", ".join(map(_quoted, self.by))] if self.by else []
        words += (
            ["where " + " and ".join(self._said(n, c, cells) for n, c in self.conditions)] if self.conditions else []
        )
        if self.within is not None and goals:
            words.append(f"within {number_text(self.within)}" + (f" {self.unit}" if self.unit else ""))
        if self.weight != 1 and goals:
            words.append(f"weight {number_text(self.weight)}")
        return " ".join(words)

    def bound(self) -> Asked:
        if self.ask == "matrix":
            return self._matrix()
        if self.ask == "row":
            return self._picked()
        if self.ask in ("tally", "steps"):
            return self._strategy(self._tally() if self.ask == "tally" else self._steps())
        if self.ask in ("prefixes", "ranges"):
            return self._intervals()
        if self.ask == "marginals":
            return self._marginals()
        return self._grouped()

    def _asked(
        self,
        blocks: list[Block],
        labels: Sequence[str],
        groups: Iterable[dict[str, str]],
        recipes: Sequence[Recipe],
        *,
        unit: str = "",
        notes: Sequence[str] = (),
    ) -> Asked:
        """The answers under this question's title; a single one is called so too."""
        words = self.words()
        title = self.title or words
        if self.title and len(labels) == 1:
            labels = [self.title]
        parts = zip(labels, groups, recipes, strict=True)
        answers = [Answer(label, title, unit, self.within, recipe, named) for label, named, recipe in parts]
        return Asked(blocks, answers, [words], list(notes))

    def _rows(self, block: Block, *, over_all: bool = False) -> list[Recipe]:
        return [Recipe(k, block.unit, block.bias, over_all) for k in range(block.rows)]

    # -- counts, sums, means

    def _grouped(self) -> Asked:
        universe = self.universe
        groupings = sorted(
            (group(by, universe, self.where, edition=self._edition) for by in self.by), key=lambda g: g.axis
        )
        groups = {g.axis: g.groups for g in groupings}
        if len(groups) < len(groupings):
            raise refuse("groups an attribute twice", self.where)
        sizes = {g.axis: len(g.labels) for g in groupings}
        grouped, part = set(sizes), Fraction(1, math.prod(sizes.values()))
        for name, wanted in self.conditions:
            axis, kept = fulfil(name, wanted, universe, self.where, edition=self._edition)
            listed = universe.attributes[axis].listed
            if axis not in grouped and self._edition > 2:
                part *= Fraction(max(sum(v < listed for v in kept), 1), listed)
            sizes.setdefault(axis, 1)
            old = groups.get(axis, [0] * universe.shape[axis])
            groups[axis] = [g if v in kept else -1 for v, g in enumerate(old)]
        if math.prod(sizes.values()) > _MOST_ROWS:
            raise refuse("asks for too many rows", self.where)
        labels, named = self._labels(groupings), _in_groups(groupings)
        ones = {axis: [1] * len(g) for axis, g in groups.items()}
        if self.ask == "count":
            self._require_unit("")
            block = Table(groups, ones, sizes)
            return self._asked([block], labels, named, self._rows(block), notes=[*self._clamped(), *self._left_out()])
        of = resolve(self.of, universe, self.where)
        if of.numbers is None:
            raise refuse(f"{self.of} has no numbers", self.where)
        unit = of.unit(universe)
        self._require_unit(unit)
        used = [*(g.axis for g in groupings), *(resolve(n, universe, self.where).axis for n, _ in self.conditions)]
        weighed = of.attribute.in_sums(of.numbers, zero=self.missing == _MISSING["sum"])
        counted, size = weighed, universe.shape[of.axis]
        valid_only = self.missing == _MISSING["mean"] and of.attribute.other and not of.attribute.complete
        if valid_only:
            counted = list(of.numbers)
            groups[of.axis] = [*groups.get(of.axis, [0] * size)[:-1], -1]
            if max(groups[of.axis]) < 0:
                raise refuse("is a mean over invalid entries", self.where)
            sizes.setdefault(of.axis, 1)
            ones[of.axis] = [1] * size
        below, above = of.attribute.hides(of.name)
        low, high = min(counted), max(counted)
        parted = self.ask == "mean" and (bool(groups) or universe.absent is not None)
        centre = (low + high) / 2 if parted else Fraction(0)
        whole, step, bias = grid([x - centre for x in counted] + [Fraction(0)] * valid_only)
        if self._edition > 2:
            low, high = min(low, min(of.numbers) - below), max(high, max(of.numbers) + above)
        else:
            below = above = Fraction(0)
        with_x = {of.axis: [0] * size, **groups}
        sums = Table(with_x, {**ones, of.axis: whole}, {of.axis: 1, **sizes}, step, bias)
        notes = [*self._missing_notes(of, weighed[-1], unit, used), *self._in_cells(of, unit)]
        notes += [*self._clamped(), *self._left_out()]
        if not parted:
            ended = self.ask == "mean" and self._edition > 2
            shared = (self.ask == "mean", None, Fraction(0), low, high, below, above, ended)
            recipes = [Recipe(k, step, bias, *shared) for k in range(sums.rows)]
            return self._asked([sums], labels, named, recipes, unit=unit, notes=notes)
        counts = Table(groups, ones, sizes)
        recipes = [
            Recipe(k, step, bias, False, sums.rows + k, centre, low, high, below, above, part=part)
            for k in range(sums.rows)
        ]
        return self._asked([sums, counts], labels, named, recipes, unit=unit, notes=notes)

    def _labels(self, groupings: Sequence[Grouping]) -> list[str]:
        if not groupings:
            if not self.conditions:
                return [f"{self.ask} {self.of}".strip()]
            return [self.words(goals=False, cells=self._edition > 2)]
        labels = [", ".join(chosen) for chosen in product(*(g.labels for g in groupings))]
        return [f"{self.ask} {self.of}, {label}" for label in labels] if self.of else labels

    def _left_out(self) -> list[str]:
        """Whom no group holds."""
        grouped = [resolve(by.partition("[")[0].partition("/")[0].strip(), self.universe, self.where) for by in self.by]
        names = list(dict.fromkeys(of.attribute.name for of in grouped if of.attribute.other))
        if not names:
            return []
        which = " or ".join(names)
        if self._edition == 2:
            return [
                f"records whose {which} is missing or invalid are in no group; they are: count where {names[0]}=other"
            ]
        each = ", ".join(f"count where {name}=other" for name in names)
        return [f"records whose {which} is missing or invalid are in no group; to count them: {each}"]

    def _missing_notes(self, of: Named, value: Fraction, unit: str, used: Sequence[int]) -> list[str]:
        """How missing numbers count, unless groups or conditions leave them out."""
        a = of.attribute
        if not a.other or of.axis in used:
            return []
        if self.missing == _MISSING["mean"] and not a.complete:
            return [f"records whose {a.name} is missing or invalid are left out of means of {of.name}"]
        text = f"a missing or invalid {a.name} counts as {number_text(value)} {unit}".rstrip()
        if self.missing == _MISSING["sum"]:
            return [f"{text} in sums"]
        if a.complete:
            return [f"{text} in means; the policy says that there is none"]
        text += " in sums and means"
        if isinstance(a, (Integers, Numbers)):
            ends = f"{number_text(Fraction(a.low))}..{number_text(Fraction(a.high))}"
            text += f"; for valid ones only: {self.ask} {self.of} where {a.name}={ends}"
        return [text]

    def _in_cells(self, of: Named, unit: str) -> list[str]:
        """How far what a cell counts as may be from the number, and what lies outside the range."""
        if self._edition == 2:
            return _in_cells_2(of, unit)
        cells = of.attribute.entry if isinstance(of.attribute, Series) else of.attribute
        out = []
        if isinstance(cells, Numbers):
            behind = f" {unit}" if unit else ""
            end = {"low": "lower end", "middle": "middle", "high": "upper end"}[cells.cell_value]
            most = number_text(max(of.attribute.hides(of.name)))
            out.append(
                f"{of.name} counts as the {end} of its step of {number_text(cells.step)}{behind}: errors and intervals "
                f"include the most that this can hide, {most}{behind} of a mean, that much per record of a sum"
            )
        return out

    def _clamped(self) -> list[str]:
        """That the ends of a range which clamps hold more than their own."""
        if self._edition == 2:
            return []
        grouped = [self.of] if self.ask in ("prefixes", "ranges") else self.by
        names = [re.split(r"[/\[]", by)[0].strip() for by in grouped] + [name for name, _ in self.conditions]
        names += self.universe.names if self.ask == "marginals" else [self.of] if self.ask in _MISSING else []
        touched = [resolve(name, self.universe, self.where) for name in names]
        return [
            f"{named.name} outside its range counts as the nearest end, so its first and last value hold all that lies "
            "beyond: how far that moves an answer is not known"
            for named in touched
            if named.attribute.clamp
        ]

    def _require_unit(self, unit: str) -> None:
        if self._units and self.unit and self.unit != unit:
            raise refuse(f"its target is in {self.unit[:20]!r}, the answer in {unit[:20]!r}", self.where)

    # -- the others

    def _intervals(self) -> Asked:
        grouping = group(self.of, self.universe, self.where, edition=self._edition)
        n = len(grouping.labels)
        if self.ask == "prefixes":
            spans = [(0, k) for k in range(n)]
        elif n > _MOST_RANGES:
            raise refuse("asks for too many ranges", self.where)
        else:
            spans = [(a, b) for a in range(n) for b in range(a, n)]
        block = Along(grouping.axis, grouping.groups, spans)
        labels = [_interval_label(grouping.labels[a], grouping.labels[b]) for a, b in spans]
        return self._asked(
            [block], labels, [{grouping.column: label} for label in labels], self._rows(block), notes=self._clamped()
        )

    def _marginals(self) -> Asked:
        names = self.universe.names
        order = int(self.of) if re.fullmatch("[0-9]{1,4}", self.of) else 0
        if not 1 <= order <= len(names):
            raise refuse(f"tables of {self.of[:20]!r} attributes", self.where)
        blocks: list[Block] = []
        labels: list[str] = []
        groups: list[dict[str, str]] = []
        recipes: list[Recipe] = []
        for chosen in combinations(names, order):
            table = _Question({"ask": "count", "by": list(chosen)}, self.universe, self.where).bound()
            start = sum(b.rows for b in blocks)
            blocks += table.blocks
            labels += [f"{', '.join(chosen)}: {a.label}" for a in table.answers]
            groups += [a.groups for a in table.answers]
            recipes += [replace(a.recipe, row=a.recipe.row + start) for a in table.answers]
        return self._asked(blocks, labels, groups, recipes, notes=self._clamped())

    def _matrix(self) -> Asked:
        data, where, size = self.data, self.where, self.universe.cells
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
        return self._asked([block], labels, [{"row": label} for label in labels], self._rows(block))

    # -- what a plan counts in place of what was asked

    def _strategy(self, block: Block) -> Asked:
        labels = [f"row {k + 1}" for k in range(block.rows)]
        return self._asked([block], labels, [{} for _ in labels], self._rows(block))

    def _picked(self) -> Asked:
        """One row, called like the answer that it is, if it is one by itself."""
        whole = self.whole.bound()
        k = reading.whole(self.data["row"], self.where, 0, whole.rows - 1)
        start = 0
        for block in whole.blocks:
            if k < start + block.rows:
                break
            start += block.rows
        one = block.row(k - start)
        alone = next((a for a in whole.answers if a.recipe.rows == (k,)), None)
        if alone is None:
            return self._asked([one], [f"row {k + 1}"], [{}], self._rows(one))
        recipe = replace(alone.recipe, row=0)
        return self._asked([one], [alone.label], [alone.groups], [recipe], unit=alone.unit)

    def _axis(self, name: Any) -> int:
        if reading.text(name, self.where) not in self.universe.names:
            raise refuse(f"no attribute {name[:40]!r}", self.where)
        return self.universe.names.index(name)

    def _tally(self) -> Block:
        groups: dict[int, list[int]] = {}
        weights: dict[int, list[int]] = {}
        for part in reading.items(self.data["over"], self.where):
            given = reading.members(part, self.where, ("of", "groups", "weights"))
            axis = self._axis(given["of"])
            size = self.universe.shape[axis]
            if axis in groups:
                raise refuse("counts by an attribute twice", self.where)
            groups[axis] = reading.each(given["groups"], self.where, lambda x, w: reading.whole(x, w, -1, _MOST_ROWS))
            weights[axis] = reading.each(given["weights"], self.where, _entry)
            if not len(groups[axis]) == len(weights[axis]) == size or max(groups[axis]) < 0:
                raise refuse("its groups do not fit the attribute", self.where)
        if not groups or math.prod(max(g) + 1 for g in groups.values()) > _MOST_ROWS:
            raise refuse("counts by nothing, or by too much", self.where)
        return Table(groups, weights, {axis: max(g) + 1 for axis, g in groups.items()})

    def _steps(self) -> Block:
        data, where = self.data, self.where
        axis = self._axis(data["of"])
        shape = reading.each(data["shape"], where, lambda x, w: reading.whole(x, w, 1, _MOST_ROWS))
        if len(shape) != 2 or shape[1] != self.universe.shape[axis]:
            raise refuse("its rows do not fit the attribute", where)
        rows = reading.each(data["rows"], where, lambda x, w: reading.whole(x, w, 0, shape[0] - 1))
        values = reading.each(data["values"], where, lambda x, w: reading.whole(x, w, 0, shape[1] - 1))
        jumps = reading.each(data["jumps"], where, reading.whole)
        if not len(rows) == len(values) == len(jumps) or len(set(zip(rows, values, strict=True))) < len(rows):
            raise refuse("its jumps are damaged", where)
        matrix = [[0] * shape[1] for _ in range(shape[0])]
        for row, value, jump in zip(rows, values, jumps, strict=True):
            matrix[row][value] = jump
        summed = [list(accumulate(row)) for row in matrix]
        if any(abs(x) >= _LARGEST_ENTRY for row in summed for x in row):
            raise refuse("numbers beyond 53 bits", where)
        return Stepped(axis, summed, reading.positive(data["factor"], where))


def _entry(value: Any, where: str) -> int:
    return reading.whole(value, where, 1 - _LARGEST_ENTRY, _LARGEST_ENTRY - 1)


def _in_groups(groupings: Sequence[Grouping]) -> list[dict[str, str]]:
    """What each answer is grouped by, and its label there; the last attribute fastest."""
    named = [[(g.column, label) for label in g.labels] for g in groupings]
    return [dict(chosen) for chosen in product(*named)]


def _from_to(a: Numbers | Integers, low: Fraction, high: Fraction) -> str:
    """Of cells half open, but for the last one; where the range clamps, without its own ends."""
    first, last, cells = low <= a.low and a.clamp, high >= a.high, isinstance(a, Numbers)
    if last and a.clamp:
        return "any number" if first else f"{number_text(low)} or more"
    if first:
        return f"below {number_text(high)}" if cells else f"{number_text(high)} or less"
    if low == high:
        return number_text(low)
    return f"{number_text(low)} to {'below ' if cells and not last else ''}{number_text(high)}"


def _in_cells_2(of: Named, unit: str) -> list[str]:
    """How far the middle of a cell may be from the number, as edition 2 said it."""
    attribute = of.attribute
    cells, parts = attribute, 1
    if isinstance(attribute, Series):
        cells = attribute.entry
        parts = len(attribute.columns) if of.name == "total" else 1
    if not isinstance(cells, Numbers):
        return []
    behind = f" {unit}" if unit else ""
    clamped = "; numbers outside the range count as the nearest end" if cells.clamp else ""
    return [
        f"{of.name} counts as the middle of its step of {number_text(cells.step)}{behind}: this moves a mean by at "
        f"most {number_text(cells.step / 2 * parts)}{behind}, a sum by at most that much per record{clamped}"
    ]


def _write(name: str, condition: Condition) -> str:
    if isinstance(condition, tuple):
        ends = [number_text(x) if isinstance(x, Fraction) else x.isoformat() for x in condition]
        return f"{_quoted(name)}={'..'.join(ends)}"
    return f"{_quoted(name)}={'|'.join(_quoted(v, dots=len(condition) == 1) for v in condition)}"


def _quoted(text: str, *, dots: bool = False) -> str:
    """In quotes where it would be read as several words, or as something else.

    >>> print(_quoted("New York"), _quoted("by"), _quoted("d'Or"), _quoted("age[0, 18]"), _quoted("a..b", dots=True))
    'New York' 'by' "d'Or" age[0, 18] 'a..b'
    """
    bare = re.fullmatch(r"""(?:\[[^\]]*\]|[^\s=|,'"])+""", text) and text not in _KEYWORDS
    closed = text.count("[") == text.count("]") == len(re.findall(r"\[[^\]]*\]", text))
    if bare and closed and not (dots and ".." in text):
        return text
    mark = '"' if "'" in text and '"' not in text else "'"
    return mark + text.replace(mark, 2 * mark) + mark


def _interval_label(first: str, last: str) -> str:
    """From the start of one group to the end of another.

    >>> [_interval_label(*x) for x in (("0–9", "30–39"), ("0–9", "65+"), ("0 to 5", "5 to 7"), ("0 to 5", "9+"))]
    ['0–39', '0+', '0 to 7', '0+']
    """
    if first == last:
        return first
    if " to " in first and last.endswith("+"):
        return f"{first.partition(' to ')[0]}+"
    if " to " in first and " to " in last:
        return f"{first.partition(' to ')[0]} to {last.partition(' to ')[2]}"
    start = first.partition("–")[0]
    return f"{start}+" if last.endswith("+") else f"{start}–{last.rpartition('–')[2]}"
