"""Numbers in half-open bins of one width, such as an income in steps of 1000."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.errors import PolicyError, UsageError
from dxprivacy.exact.answer_grid import Evenly
from dxprivacy.exact.rounding import exact, number_text
from dxprivacy.universe.attributes.attribute import OTHER, Attribute, Property
from dxprivacy.universe.ordering.order import OrderedBins, Scale
from dxprivacy.universe.ordering.order_of_names import range_words, round_starts, short_number
from dxprivacy.universe.reading.codecs import NumbersInBins
from dxprivacy.universe.reading.text_formats import NumberFormat

_MOST_BINS = 1 << 26
_EXACT_IN_FLOATS = 1 << 50
BIN_VALUES = {"low": Fraction(0), "middle": Fraction(1, 2), "high": Fraction(1)}
"""The number that a bin may count as in sums: its distance from the start of the bin, in steps."""
_COUNTS_AS = {"low": "lower end", "middle": "middle", "high": "upper end"}


@dataclass(frozen=True, kw_only=True)
class Numbers(Attribute):
    """Numbers from `low` to `high` in half-open bins of width `step`; `high` itself belongs to the last one.

    A number is rounded to float64 and compared with the bin edges, rounded in the same way: 0.3 lies at the start of
    the bin from 0.3 to 0.4, whether it is given as text, as a decimal or as a float.  In sums it counts as the middle
    of its bin, or as the lower or upper end (`bin_value`).

    >>> income = Numbers(name="income", low=0, high=3000, step=1000)
    >>> income.encode([0, 999.99, "1000", 3000, -1]).tolist(), [str(x) for x in income.numbers]
    ([0, 0, 1, 2, 3], ['500', '1500', '2500'])
    """

    low: Fraction
    high: Fraction
    step: Fraction
    clamp: bool = False
    bin_value: str = "middle"
    kind: str = field(init=False, default="numbers")
    neighbors = "steps"
    counts_more = True  # a range is half open, and a single number means the bin that it lies in

    def __post_init__(self) -> None:
        for key in ("low", "high", "step"):
            try:
                value = Fraction(exact(getattr(self, key), what=f"{self.name}'s {key}"))
            except UsageError as error:
                raise PolicyError(error.what, hints=["numbers = [0, 200000]", "step = 1000"]) from None
            object.__setattr__(self, key, value)
        if self.high <= self.low:
            raise PolicyError(
                f"{self.name} runs from {number_text(self.low)} to {number_text(self.high)}, which is empty"
            )
        if self.bin_value not in BIN_VALUES:
            raise PolicyError(f"{self.name}: a bin counts as its {', '.join(BIN_VALUES)}, not {self.bin_value!r}")
        bins = (self.high - self.low) / self.step if self.step > 0 else Fraction(0)
        if bins < 1 or bins.denominator != 1:
            raise PolicyError(
                f"{self.name} from {number_text(self.low)} to {number_text(self.high)} cannot be cut into steps of "
                f"{number_text(self.step)}",
                hints=["the range must be a whole number of steps"],
            )
        start, width, whole = self.codec.grid
        end = start + int(bins) * width
        if bins >= _MOST_BINS or max(abs(start), abs(end), whole) >= _EXACT_IN_FLOATS:
            raise PolicyError(f"{self.name} has more values than we can hold", hints=["use fewer, wider steps"])
        NumberFormat.of(self.format)
        super().__post_init__()

    @cached_property
    def codec(self) -> NumbersInBins:
        return NumbersInBins(self.low, self.high, self.step, self.clamp, self.format)

    @property
    def edges(self) -> tuple[float, ...]:
        """The bin edges as float64 numbers, one more than there are bins."""
        return self.codec.edges

    @property
    def listed(self) -> int:
        return self.codec.listed

    def start(self, index: int) -> Fraction:
        """Return the lower end of a bin."""
        return self.low + index * self.step

    def label(self, index: int) -> str:
        if index >= self.listed:
            return OTHER
        return f"{number_text(self.start(index))} to {number_text(self.start(index + 1))}"

    def place(self, number: float) -> int:
        """Return the bin of a number; `listed` if it is in none."""
        return self.codec.place(number)

    def find(self, value: object) -> int:
        if value == OTHER:
            index = self.listed
        else:
            try:
                index = self.place(float(exact(value)))
            except (UsageError, OverflowError):
                raise self._unknown(value) from None
            if index == self.listed:
                raise self._unknown(value)
        if index == self.listed and not self.has_other:
            raise self._unknown(value)
        return index

    @cached_property
    def numbers(self) -> Evenly:
        """The number that each bin counts as: its middle, or one of its ends."""
        return Evenly(self.start(0) + self.step * BIN_VALUES[self.bin_value], self.step, self.listed)

    def hides(self, fact: Property | None = None) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """Return the distances from the number that a bin counts as to its ends."""
        below = self.step * BIN_VALUES[self.bin_value]
        return below, self.step - below

    @property
    def clamps(self) -> bool:
        return self.clamp

    def beyond(self, value: object) -> bool:
        """Return whether a value is a number outside a clamped range."""
        if not self.clamp or value == OTHER:
            return False
        try:
            return not self.edges[0] <= float(exact(value)) <= self.edges[-1]
        except (UsageError, OverflowError):
            return False  # not a number

    def spec(self) -> dict[str, Any]:
        return self._base_spec() | {
            "range": [str(self.low), str(self.high)],
            "step": str(self.step),
            "outside": "clamp" if self.clamp else OTHER,
            **({} if self.bin_value == "middle" else {"bin_value": self.bin_value}),
        }

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        low, high = (Fraction(x) for x in spec["range"])
        counts = {"bin_value": spec["bin_value"]} if "bin_value" in spec else {}
        return {"low": low, "high": high, "step": Fraction(spec["step"]), "clamp": spec["outside"] == "clamp", **counts}

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The lower end of the first bin and the upper end of the last."""
        return self.low, self.high

    @property
    def limits(self) -> tuple[str, str]:
        return number_text(self.low), number_text(self.high)

    @property
    def unit_step(self) -> Fraction:
        return self.step

    def order(self, fact: Property | None = None) -> Scale | None:
        if fact is not None:
            return super().order(fact)
        return OrderedBins(self.name, Evenly(self.low, self.step, self.listed), step=self.step)

    @property
    def needed(self) -> str:
        ends = f"a number from {number_text(self.low)} to {number_text(self.high)}"
        return f"{'a finite number' if self.clamp else ends}{self._written}"

    @property
    def length_unit(self) -> str:
        return self.unit

    @property
    def counts_as(self) -> str:
        return f"the {_COUNTS_AS[self.bin_value]} of its step of {number_text(self.step)}"

    def range_words(self, low: Fraction, high: Fraction) -> str:
        return range_words((low, high), self.span, clamp=self.clamp, half_open=True)

    def value_words(self, index: int) -> str:
        return self.range_words(self.start(index), self.start(index + 1)) if index < self.listed else OTHER

    def coarse(self, most: int) -> list[int]:
        """Return groups that start at round numbers."""
        return round_starts(float(self.low), float(self.step), self.listed, most) or super().coarse(most)

    def stretch(self, first: int, last: int) -> str:
        """Return a label such as `10k – 20k`, also for a single bin."""
        return f"{short_number(float(self.start(first)))} – {short_number(float(self.start(last + 1)))}"
