"""Texts in an order, perhaps at places of their own."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.base import SPELLING
from dxprivacy.verify.attributes.listed import Listed
from dxprivacy.verify.orders import RankOrder
from dxprivacy.verify.reading import refuse


class Ordered(Listed):
    """Texts, each further on than the one before; their numbers are their places, where they have some."""

    optional = ("places", *SPELLING)
    ranked = True

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where)
        if "places" in spec:
            self.numbers: Sequence[Fraction] | None = reading.each(spec["places"], f"{where} places", reading.fraction)
            if len(self.numbers) != self.listed or any(a >= b for a, b in pairwise(self.numbers)):
                raise refuse("needs a place for each value, and places that grow", where)

    def order(self, where: str) -> RankOrder:
        return RankOrder(where, self.values)
