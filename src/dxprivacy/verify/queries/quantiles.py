"""Quantiles from rows of ramps (docs/formats.md, sections 4 and 7)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block, Table
from dxprivacy.verify.grouping import resolve
from dxprivacy.verify.queries.answers import HALF_THE_RANGE, Asked, Recipe, Source, Sources, WorkedOut
from dxprivacy.verify.queries.grouped import ByGroups, Grouped
from dxprivacy.verify.queries.notes import clamped, left_out, left_out_of
from dxprivacy.verify.queries.worded import Worded
from dxprivacy.verify.queries.written import quoted
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.soft import Soft
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.words import number_text

_MOST_RAMPS = 2_000
_USUAL = 64
_HALF = Fraction(1, 2)
_COVERAGE, _OF_COUNT, _OF_END = Fraction(95, 100), Fraction(98, 100), Fraction(97, 100)


@dataclass(frozen=True)
class Ramps:
    """Where the first starts, how wide each is, how many, in how many ticks each rises, and the largest number."""

    start: Fraction
    width: Fraction
    number: int
    ticks: int
    end: Fraction

    def at(self, ramps: Fraction) -> Fraction:
        """The number so many ramps behind the start, within the range."""
        return min(max(self.start + ramps * self.width, self.start), self.end)


@dataclass(frozen=True)
class Quantile(WorkedOut):
    """The rows of the ramps, and how far behind the first of them the row of the number of records is, if it is one."""

    ramps: Ramps
    at: Fraction
    less: Fraction
    hides: tuple[Fraction, Fraction]
    count: int | None
    public: bool
    part: Fraction

    @property
    def rows(self) -> tuple[int, ...]:
        return (*range(self.ramps.number), *(() if self.count is None else (self.count,)))

    @property
    def may_be_exact(self) -> bool:
        return self.ramps.ticks == 1

    @property
    def _each(self) -> Fraction:
        """How often the row that decides about an end stays within its width; of ramps, some is left for two more."""
        both = _COVERAGE if self.count is None else _OF_END
        return both if self.ramps.ticks == 1 else 1 - (1 - both) * Fraction(8, 10)

    @property
    def _inner(self) -> Fraction:
        """The same of these two."""
        return 1 - (1 - (_COVERAGE if self.count is None else _OF_END)) / 10

    @property
    def _steps(self) -> int:
        return self.ramps.ticks * self.less.denominator

    @property
    def _reach(self) -> float:
        return float(self.ramps.end - self.ramps.start) / 2

    def expected(self, distributions: Sequence[Any], records: int) -> tuple[float, float, list[float]]:
        slope = self._reach / max(float(records * self.part), 1.0)
        unit, hidden = 1 / self._steps, float(max(self.hides))
        blurred = float(self.ramps.width) if self.ramps.ticks > 1 else 0.0
        middle = distributions[self.ramps.number // 2]
        squares, sizes = middle.variance * unit**2, middle.mean_absolute * unit
        widths = [float(h) * unit for h in middle.widths(self._each)]
        if self.count is not None:
            times = abs(float(self.at - self.less))
            squares += distributions[-1].variance * times**2
            sizes += distributions[-1].mean_absolute * times
            widths = [w + float(h) * times for w in widths for h in distributions[-1].widths(_OF_COUNT)]
        most = 2 * self._reach
        moved = blurred * (1 + 2 * abs(float(self.at) - 0.5)) / 8
        return (
            min(math.sqrt(squares * slope**2 + moved**2), most) + hidden,
            min(sizes * slope + moved, most) + hidden,
            [min(w * slope + blurred, most) + hidden for w in widths],
        )

    def released(
        self, rows: Sequence[int | float | Fraction], distributions: Sequence[Any], records: int
    ) -> list[tuple[float, float, float, bool]]:
        whole = float(self.ramps.start - self.hides[0]), float(self.ramps.end + self.hides[1])
        value = min(max(self._value(rows, records), whole[0]), whole[1])
        bare = float(self.ramps.start), float(self.ramps.end)
        out = []
        for number in distributions[-1].widths(_OF_COUNT) if self.count is not None else [Fraction(0)]:
            size = Fraction(records) if self.count is None else Fraction(rows[-1])
            ends = whole if size - number < 1 else self._ends(rows, distributions, (size - number, size + number))
            low, high = ends
            if ends != whole:
                low, high = min(max(low, whole[0]), value), max(min(high, whole[1]), value)
            out.append((value, low, high, low <= bare[0] and high >= bare[1]))
        return out

    def _ends(
        self, rows: Sequence[int | float | Fraction], distributions: Sequence[Any], sizes: tuple[Fraction, Fraction]
    ) -> tuple[float, float]:
        wanted = sorted((self.at - self.less) * self._steps * size for size in sizes)
        number = self.ramps.number
        spans = [(Fraction(rows[k]), distributions[k].widths(self._each)[0]) for k in range(number)]
        first = next((k for k, (row, wide) in enumerate(spans) if row + wide >= wanted[0]), number)
        last = max((k for k, (row, wide) in enumerate(spans) if row - wide < wanted[1]), default=-1)
        lowest, highest = (level * sizes[1] * self._steps for level in (-self.less, 1 - self.less))

        def counts(k: int, side: int) -> Fraction:
            """What a row may count, on one side; before the first ramp nobody, behind the last everybody."""
            if k < 0 or k >= number:
                return lowest if k < 0 else highest
            found = Fraction(rows[k]) + side * Fraction(distributions[k].widths(self._inner)[0])
            return min(max(found, lowest), highest)

        ticks, low, high = self.ramps.ticks, 1, self.ramps.ticks - 1
        here, before = counts(first - 1, 1), counts(first - 2, -1)
        if before <= here < wanted[0]:
            low = max(math.ceil(ticks * (wanted[0] - here) / (wanted[0] - before)), low)
        here, behind = counts(last + 1, -1), counts(last + 2, 1)
        if wanted[1] < here <= behind:
            high = min(math.floor(ticks * (behind - here) / (behind - wanted[1])), high)
        ends = self.ramps.at(first - 1 + Fraction(low, ticks)), self.ramps.at(last + 1 + Fraction(high, ticks))
        return float(ends[0] - self.hides[0]), float(ends[1] + self.hides[1])

    def _value(self, rows: Sequence[int | float | Fraction], records: int) -> float:
        heights = _rising([Fraction(rows[k]) for k in range(self.ramps.number)])
        if self.count is not None:
            size = Fraction(rows[-1]) * self._steps
        elif self.public:
            size = Fraction(records) * self._steps
        else:
            size = max(heights[-1] / (1 - self.less), -heights[0] / self.less)
        if size <= 0:
            return float(self.ramps.start + self.ramps.end) / 2
        ends = -self.less * size, (1 - self.less) * size
        wanted = (self.at - self.less) * size
        if self.ramps.ticks == 1:
            first = next((k for k, h in enumerate(heights) if h >= wanted), self.ramps.number)
            return float(self.ramps.at(Fraction(first)))
        points = [ends[0], *(min(max(h, ends[0]), ends[1]) for h in heights), ends[1]]
        left = max(k for k, height in enumerate(points) if height < wanted)
        right = min(k for k, height in enumerate(points) if height > wanted) - 1
        crossed = [k + (wanted - points[k]) / (points[k + 1] - points[k]) for k in (left, right)]
        return float(self.ramps.at(sum(crossed, Fraction(0)) / 2 - _HALF))

    def moved(self) -> float:
        return 2 * self._reach


def _rising(heights: Sequence[Fraction]) -> list[Fraction]:
    """The closest rising numbers: whatever falls is averaged with its neighbors."""
    blocks: list[list[Fraction]] = []
    for height in heights:
        blocks.append([height])
        while len(blocks) > 1 and _mean(blocks[-2]) >= _mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [_mean(block) for block in blocks for _ in block]


def _mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


class Quantiles(ByGroups):
    """`quantile`."""

    ask = "quantile"
    needed = ("of", "at")
    optional = ("by", "where", "width", *Worded.optional)

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.at = [reading.fraction(x, where) for x in reading.items(data["at"], where)]
        if not self.at or len(set(self.at)) < len(self.at) or not all(0 < x < 1 for x in self.at):
            raise refuse("asks for quantiles that are none", where)
        self.width = reading.fraction(data["width"], where) if "width" in data else None
        if self.width is not None and self.width < 0:
            raise refuse("has a negative width", where)

    @property
    def _which(self) -> str:
        return "median" if self.at == [_HALF] else "quantile " + ", ".join(map(number_text, self.at)) + " of"

    def about(self) -> str:
        return f"{self._which} {quoted(self.of)}"

    @property
    def called(self) -> str:
        return f"{self._which} {self.of}"

    def further(self, *, cells: bool = False) -> list[str]:  # noqa: ARG002
        return [] if self.width is None else [f"width {number_text(self.width)}"]

    @property
    def touched(self) -> list[str]:
        return [*super().touched, self.of]

    def bound(self) -> Asked:
        of = resolve(self.of, self.universe, self.where)
        if of.numbers is None:
            raise refuse(f"{self.of} has no numbers", self.where)
        unit = of.unit(self.universe)
        self.require_unit(unit)
        found = self.grouped()
        ramps, places = self._ramps(of.numbers)
        notes = left_out_of(of, self.called, unit)
        if ramps.ticks > 1:
            wide = f"{number_text(ramps.width)} {unit}".rstrip()
            notes.append(
                f"{self.called}: ranks are smoothed over {wide}, so an answer may be off by half of that; the interval "
                "holds for the number itself"
            )
        notes += [*clamped(self), *left_out(self)]
        if of.attribute.other and not of.attribute.complete:
            self.leave_out_other(found, of.axis)
        if found.sizes.get(of.axis, 1) > 1:
            raise refuse("groups by what it is a quantile of", self.where)
        public = not found.groups and self.universe.absent is None
        less = Fraction(0) if public else self.at[len(self.at) // 2]
        inside = found.groups.get(of.axis, [0] * self.universe.shape[of.axis])
        columns = [self._column(place, ramps, less) if g >= 0 else {} for place, g in zip(places, inside, strict=True)]
        beside = _beside(found, of.axis)
        block = Soft(of.axis, ramps.number, columns, beside, Fraction(1, ramps.ticks * less.denominator), Fraction(0))
        counted = not public and self.at != [less]
        blocks: list[Block] = [block, *([found.counts()] if counted else [])]
        groups, hides = beside.rows, of.attribute.hides(of.name)

        def recipe(at: Fraction, group: int) -> Recipe:
            behind = block.rows + group - group * ramps.number if counted and at != less else None
            way = Quantile(ramps, at, less, hides, behind, public, found.part)
            return Recipe(
                block.unit,
                Fraction(0),
                ratio=True,
                below=hides[0],
                above=hides[1],
                part=found.part,
                noun="quantiles",
                assumed=HALF_THE_RANGE,
                worked_out=way,
            )

        recipes = [recipe(at, group) for group in range(groups) for at in self.at]

        def make(start: int) -> list[Source]:
            each = ((k // len(self.at)) * ramps.number for k in range(len(recipes)))
            return [(r, start + behind, None) for r, behind in zip(recipes, each, strict=True)]

        labels, named = list(found.labels), list(found.named)
        if len(self.at) > 1:
            levels = [number_text(x) for x in self.at]
            labels = [label.replace(self.called, f"quantile {s} of {self.of}", 1) for label in labels for s in levels]
            named = [(*groups, ("quantile", s)) for groups in named for s in levels]
        return self.asked(blocks, labels, named, Sources(recipes, make), unit=unit, notes=notes)

    def _ramps(self, numbers: Sequence[Fraction]) -> tuple[Ramps, list[int]]:
        """Ramps in whole ticks, and how many ticks each value lies behind the least; `other` as the least does."""
        different = sorted(set(numbers))
        if len(different) == 1:
            raise refuse("is a quantile of a single value", self.where)
        common = math.lcm(*(x.denominator for x in different))
        tick = Fraction(math.gcd(*(int((x - different[0]) * common) for x in different)), common)
        ticks = int((different[-1] - different[0]) / tick)
        wide = Fraction(ticks, _USUAL) if self.width is None else self.width / tick
        rise = max(math.ceil(wide), 1)
        number = -(-ticks // rise)
        if (rise > ticks and self.width is not None) or number > _MOST_RAMPS:
            raise refuse("has ramps that are too wide, or too many", self.where)
        attribute = resolve(self.of, self.universe, self.where).attribute
        places = [int((x - different[0]) / tick) for x in numbers]
        if attribute.other:
            declared = min(max(attribute.in_sums(numbers, zero=False)[-1], different[0]), different[-1])
            places.append(int((declared - different[0]) // tick))
        return Ramps(different[0], rise * tick, number, rise, different[-1]), places

    def _column(self, place: int, ramps: Ramps, less: Fraction) -> dict[int, int]:
        """How much of a value lies below the end of each ramp, less a fraction of it."""
        whole = ramps.ticks
        heights = (min(max((k + 1) * whole - place, 0), whole) for k in range(ramps.number))
        return {k: height * less.denominator - whole * less.numerator for k, height in enumerate(heights)}


def _beside(found: Grouped, axis: int) -> Table:
    """Groups and conditions of all other attributes."""
    groups = {a: g for a, g in found.groups.items() if a != axis}
    return Table(groups, {a: [1] * len(g) for a, g in groups.items()}, found.sizes)
