"""Variances, standard deviations, covariances and correlations (docs/formats.md, sections 4 and 7)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block
from dxprivacy.verify.grouping import Named, resolve
from dxprivacy.verify.queries.answers import HALF_THE_RANGE, Asked, Recipe, Source, Sources, WorkedOut
from dxprivacy.verify.queries.grid import ends_of, grid
from dxprivacy.verify.queries.grouped import ByGroups, Grouped, weighed
from dxprivacy.verify.queries.notes import clamped, left_out, left_out_of
from dxprivacy.verify.queries.worded import Worded
from dxprivacy.verify.queries.written import quoted
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

Span = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class _Sum:
    """Sums of a record's number: their unit and bias, the largest number in size, and whether it may be negative."""

    unit: Fraction
    bias: Fraction
    most: Fraction
    signed: bool


@dataclass(frozen=True)
class Spread(WorkedOut):
    """From sums of x y, x (and y), x² and y² (of a correlation), and the number of records, where it is private."""

    kind: str
    sums: tuple[_Sum, ...]
    reach: tuple[Fraction, Fraction]
    hides: tuple[Fraction, Fraction]
    counted: bool
    part: Fraction
    groups: int  # rows of each block

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(k * self.groups for k in range(len(self.sums) + self.counted))

    @property
    def _single(self) -> bool:
        return self.kind in ("variance", "sd")

    @property
    def _ends(self) -> tuple[float, float]:
        product = float((self.reach[0] + self.hides[0]) * (self.reach[1] + self.hides[1]))
        return {
            "variance": (0.0, product),
            "sd": (0.0, float(self.reach[0] + self.hides[0])),
            "covariance": (-product, product),
            "correlation": (-1.0, 1.0),
        }[self.kind]

    @property
    def _hidden(self) -> Fraction:
        (rx, ry), (hx, hy) = self.reach, self.hides
        return rx * hy + ry * hx + hx * hy

    @property
    def _slope(self) -> float:
        """Of the answer, where numbers lie evenly over half of their ranges."""
        rx, ry = map(float, self.reach)
        if self.kind in ("variance", "covariance"):
            return 1.0
        if rx == 0 or ry == 0:
            return 0.0
        return math.sqrt(3) / rx if self.kind == "sd" else 12 / (rx * ry)

    def expected(self, distributions: Sequence[Any], records: int) -> tuple[float, float, list[float]]:
        rx, ry = map(float, self.reach)
        units = [float(s.unit) for s in self.sums]
        pulls = [units[0]]
        pulls += [2 * rx * units[1]] if self._single else [ry * units[1], rx * units[2]]
        if self.kind == "correlation":
            pulls += [units[3] * (ry / rx if rx else 0.0) / 2, units[4] * (rx / ry if ry else 0.0) / 2]
        pulls += [rx * ry] if self.counted else []
        size = max(float(records * self.part), 1.0)
        pulls = [pull * self._slope / size for pull in pulls]
        each = self._each(distributions)
        low, high = self._ends
        hidden = float(self.hides[0]) if self.kind == "sd" else float(self._hidden) * self._slope
        bias = sum(float(s.bias) for s in self.sums) * self._slope + hidden
        squares = math.sqrt(
            sum(distribution.variance * p * p for distribution, p in zip(distributions, pulls, strict=True))
        )
        sizes = sum(distribution.mean_absolute * p for distribution, p in zip(distributions, pulls, strict=True))
        widths = [0.0]
        for distribution, p in zip(distributions, pulls, strict=True):
            widths = [w + float(h) * p for w in widths for h in distribution.widths(each)][:64]
        return (
            min(squares, high - low) + bias,
            min(sizes, high - low) + bias,
            [min(w, high - low) + bias for w in widths],
        )

    def _each(self, distributions: Sequence[Any]) -> Fraction:
        noisy = sum(1 for distribution in distributions if distribution.variance > 0)
        return 1 - Fraction(1, 20 * max(noisy, 1))

    def released(
        self, rows: Sequence[int | float | Fraction], distributions: Sequence[Any], records: int
    ) -> list[tuple[float, float, float, bool]]:
        value, each, ends = self._value(rows, records), self._each(distributions), self._ends
        out = []
        for number in distributions[-1].widths(each) if self.counted else [Fraction(0)]:
            count = Fraction(rows[-1]) if self.counted else Fraction(records)
            if count - number < 1:
                out.append((value, *ends, True))
                continue
            sizes = (count - number, count + number)
            spans = [
                self._total(s, Fraction(row), distribution.widths(each)[0], sizes[1])
                for s, row, distribution in zip(self.sums, rows, distributions, strict=False)
            ]
            low, high = self._together(spans, sizes)
            low, high = max(min(low, value), ends[0]), min(max(high, value), ends[1])
            out.append((value, low, high, low <= ends[0] and high >= ends[1]))
        return out

    def _total(self, s: _Sum, row: Fraction, wide: Fraction, most: Fraction) -> Span:
        low = s.unit * (row - wide) - s.bias * most
        high = s.unit * (row + wide) + s.bias * most
        return max(low, -s.most * most if s.signed else Fraction(0)), min(high, s.most * most)

    def _together(self, spans: Sequence[Span], sizes: Span) -> tuple[float, float]:
        hx, hy = self.hides
        if self._single:
            low, high = _root(spans[0], spans[1], sizes, hx)
            return (low, high) if self.kind == "sd" else (low * low, high * high)
        corners = [a * b for a in spans[1] for b in spans[2]]
        least, most = _ends_over(spans[0], (min(corners), max(corners)), sizes)
        low, high = float(least - self._hidden), float(most + self._hidden)
        if self.kind == "covariance":
            return low, high
        x, y = _root(spans[3], spans[1], sizes, hx), _root(spans[4], spans[2], sizes, hy)
        narrow, wide = x[0] * y[0], x[1] * y[1]
        if narrow <= 0:
            return -1.0, 1.0
        return low / (narrow if low < 0 else wide), high / (wide if high < 0 else narrow)

    def _value(self, rows: Sequence[int | float | Fraction], records: int) -> float:
        size = float(rows[-1] if self.counted else records)
        if size <= 0:
            return 0.0
        averages = [float(row) * float(s.unit) / size for s, row in zip(self.sums, rows, strict=False)]
        found = averages[0] - averages[1] * (averages[1] if self._single else averages[2])
        if self.kind == "sd":
            found = math.sqrt(max(found, 0.0))
        if self.kind == "correlation":
            x, y = averages[3] - averages[1] * averages[1], averages[4] - averages[2] * averages[2]
            found = found / math.sqrt(x * y) if min(x, y) > 0 else 0.0
        return min(max(found, self._ends[0]), self._ends[1])

    def moved(self) -> float:
        return self._ends[1] - self._ends[0] + float(self.sums[0].unit)


def _root(square: Span, total: Span, sizes: Span, hides: Fraction) -> tuple[float, float]:
    """Between which numbers a standard deviation lies."""
    squares = sorted((total[0] ** 2, total[1] ** 2))
    if total[0] <= 0 <= total[1]:
        squares[0] = Fraction(0)
    low, high = _ends_over(square, (squares[0], squares[1]), sizes)
    wide = float(hides)
    return max(math.sqrt(float(max(low, Fraction(0)))) - wide, 0.0), math.sqrt(float(max(high, Fraction(0)))) + wide


def _ends_over(a: Span, b: Span, m: Span) -> Span:
    """The least and the largest a / m - b / m²: at the ends, or where it neither rises nor falls with m."""

    def values(x: Fraction, y: Fraction) -> list[Fraction]:
        places = [*m] + ([2 * y / x] if x and m[0] < 2 * y / x < m[1] else [])
        return [x / place - y / place**2 for place in places]

    return min(values(a[0], b[1])), max(values(a[1], b[0]))


class _Spreads(ByGroups):
    """Of one number of each record, or of two."""

    optional = ("by", "where", *Worded.optional)
    noun: ClassVar[str]

    @property
    def names(self) -> list[str]:
        """What it is about."""
        return [self.of]

    @property
    def touched(self) -> list[str]:
        return [*super().touched, *self.names]

    def bound(self) -> Asked:
        found = self.grouped()
        of = [self._named(name) for name in self.names]
        unit = self._unit([each.unit(self.universe) for each in (of[0], of[-1])])
        self.require_unit(unit)
        notes = [said for each in of for said in left_out_of(each, self.called, each.unit(self.universe))]
        notes += [*clamped(self), *left_out(self)]
        centered = [self._centered(each) for each in of]
        for each in of:
            if each.attribute.other and not each.attribute.complete:
                self.leave_out_other(found, each.axis)
        products = [(0, len(of) - 1), *((k,) for k in range(len(of)))]
        products += [(k, k) for k in range(len(of))] if self.ask == "correlation" else []
        made = [self._sums(found, [(of[k], centered[k]) for k in which]) for which in products]
        counted = bool(found.groups) or self.universe.absent is not None
        blocks: list[Block] = [block for block, _ in made]
        groups = blocks[0].rows
        reach = [max(map(abs, numbers)) for numbers in centered]
        hides = [sum(each.attribute.hides(each.name), Fraction(0)) / 2 for each in of]
        way = Spread(
            self.ask,
            tuple(one for _, one in made),
            (reach[0], reach[-1]),
            (hides[0], hides[-1]),
            counted,
            found.part,
            groups,
        )
        first = made[0][1]
        recipe = Recipe(
            first.unit,
            first.bias,
            ratio=True,
            below=max(hides),
            above=max(hides),
            part=found.part,
            noun=self.noun,
            assumed=HALF_THE_RANGE if self.ask in ("sd", "correlation") else "",
            worked_out=way,
        )

        def make(start: int) -> list[Source]:
            return [(recipe, start + k, None) for k in range(groups)]

        blocks += [found.counts()] if counted else []
        return self.asked(blocks, found.labels, found.named, Sources([recipe], make), unit=unit, notes=notes)

    def _unit(self, units: list[str]) -> str:
        if not all(units):
            return ""
        return f"{units[0]}²" if units[0] == units[1] else "·".join(units)

    def _named(self, name: str) -> Named:
        of = resolve(name, self.universe, self.where)
        if of.numbers is None:
            raise refuse(f"{name} has no numbers", self.where)
        return of

    def _centered(self, of: Named) -> list[Fraction]:
        """From the middle of the range; nothing for what is no number."""
        assert of.numbers is not None
        middle = sum(ends_of(of.numbers), Fraction(0)) / 2
        declared = of.attribute.in_sums(of.numbers, zero=False)[-1] - middle if of.attribute.complete else Fraction(0)
        return [*(x - middle for x in of.numbers), *[declared] * of.attribute.other]

    def _sums(self, found: Grouped, factors: list[tuple[Named, list[Fraction]]]) -> tuple[Block, _Sum]:
        (one, x), (two, y) = factors[0], factors[-1]
        most = max(map(abs, x))
        if len(factors) == 1 or one.axis == two.axis:
            numbers = x if len(factors) == 1 else [a * b for a, b in zip(x, y, strict=True)]
            whole, unit, bias = grid(numbers)
            found_sum = _Sum(unit, bias, max(map(abs, numbers)), len(factors) == 1 or min(numbers) < 0)
            return weighed(found, {one.axis: whole}, unit, bias), found_sum
        (first, u, b), (second, v, c) = grid(x), grid(y)
        other = max(map(abs, y))
        bias = b * other + c * (most + b)
        block = weighed(found, {one.axis: first, two.axis: second}, u * v, bias)
        return block, _Sum(u * v, bias, most * other, signed=True)


class Variance(_Spreads):
    """`variance`."""

    ask = "variance"
    noun = "variances"


class Deviation(_Spreads):
    """`sd`."""

    ask = "sd"
    noun = "standard deviations"

    def _unit(self, units: list[str]) -> str:
        return units[0]


class _OfTwo(_Spreads):
    needed = ("of", "beside")

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.beside = reading.text(data["beside"], where)

    @property
    def names(self) -> list[str]:
        return [self.of, self.beside]

    def about(self) -> str:
        return f"{self.ask} {quoted(self.of)}, {quoted(self.beside)}"

    @property
    def called(self) -> str:
        return f"{self.ask} {self.of} & {self.beside}"


class Covariance(_OfTwo):
    """`covariance`."""

    ask = "covariance"
    noun = "covariances"


class Correlation(_OfTwo):
    """`correlation`."""

    ask = "correlation"
    noun = "correlations"

    def _unit(self, units: list[str]) -> str:  # noqa: ARG002
        return ""
