"""Ordered values: names in an order, such as never, rarely, often, optionally with declared positions on a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from dxprivacy.errors import Hint, PolicyError
from dxprivacy.exact.rounding import common_tick, written_fraction
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.ordering.order import Scale
from dxprivacy.universe.ordering.order_of_names import Ranks

_FARTHEST = 1 << 40  # ticks, so that distances in ticks stay far below 64 bits


@dataclass(frozen=True, kw_only=True)
class Ordered(Values):
    """Values in an order, one step apart, or at the declared positions `places` on a line.

    Declared places count as numbers in sums and means; without them, the values are not numbers.

    >>> smoking = Ordered(name="smoking", values=("never", "rarely", "often"), places=(0, 1, 4))
    >>> list(smoking.positions), smoking.unit_step, [int(x) for x in smoking.numbers]
    ([0, 1, 4], Fraction(1, 1), [0, 1, 4])
    >>> list(Ordered(name="smoking", values=("never", "rarely", "often")).order().inside("rarely", "often"))
    [1, 2]
    """

    places: tuple[Fraction, ...] = ()
    kind: str = field(init=False, default="ordered")
    takes_budgets = False
    ranked = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", tuple(Fraction(x) for x in self.places))
        super().__post_init__()
        if self.facts:
            raise PolicyError(f"{self.name}: values in an order have no properties")
        if not self.places:
            return
        if len(self.places) != self.listed:
            raise PolicyError(f"{self.name} has {self.listed:,} values and {len(self.places):,} places")
        if any(a >= b for a, b in pairwise(self.places)):
            raise PolicyError(f"{self.name}: places must grow, as the order of the values does")
        if self.positions[-1] >= _FARTHEST:
            raise PolicyError(
                f"{self.name}: its places are too far apart for how finely they are given",
                hints=["round them, or take another unit"],
            )

    @cached_property
    def unit_step(self) -> Fraction:
        """The largest length such that all distances of places are whole multiples of it."""
        apart = [b - a for a, b in pairwise(self.places)]
        return common_tick(apart) if apart else Fraction(1)

    @cached_property
    def positions(self) -> Sequence[int]:
        if not self.places:
            return range(self.listed)
        return [int((x - self.places[0]) / self.unit_step) for x in self.places]

    @property
    def numbers(self) -> Sequence[Fraction] | None:
        return self.places or None

    @property
    def instead_of_numbers(self) -> tuple[Hint, ...]:
        example = ", ".join(map(str, range(1, min(self.listed, 4) + 1))) + (", …" if self.listed > 4 else "")
        return (
            (f"places = [{example}]", f"in the policy, at {self.name}: a number for each value"),
            (f"prefixes {self.name}", "needs the order alone"),
            (f'dxp select "median {self.name}"', "the value in the middle"),
        )

    def order(self, fact: Property | None = None) -> Scale | None:
        return Ranks(self.name, self.values) if fact is None else super().order(fact)

    @property
    def length_unit(self) -> str:
        return self.unit or "steps"

    @property
    def coarser(self) -> str:
        return f"{self.name}/10"

    def spec(self) -> dict[str, Any]:
        return super().spec() | ({"places": [str(x) for x in self.places]} if self.places else {})

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        return super().own_arguments(spec) | {"places": tuple(written_fraction(x) for x in spec.get("places", ()))}
