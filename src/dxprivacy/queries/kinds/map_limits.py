"""Maps that are too large, and what to write instead: every number that is advised was tried.

What it takes grows with cells and with parts (cells that any place has something of, place by place).  Wider cells mean
fewer of both.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from dxprivacy.errors import Hint, TooLarge
from dxprivacy.queries.kinds.maps import MOST_ENTRIES, Map, rounded
from dxprivacy.universe.blocks.bell import MOST_ROWS

_WIDEST = Fraction(16, 100)  # of the longer side: no width that is left open is chosen wider, a tenth in one digit
_TRIED = 40


def require_few_cells(drawn: Map, groups: int, *, chosen: bool) -> None:
    """Refuse a map of too many cells; `chosen`: its width is not decided yet."""
    most = _most_cells(drawn, groups)
    if drawn.cells > most:
        each = f" in each of {groups:,} groups" if most < drawn.most_cells else ""
        raise TooLarge(
            f"{drawn.cells:,} cells of {drawn.length(drawn.every)} are more than {most:,}{each}",
            hints=_wider_cells(drawn, groups, chosen=chosen),
        )


def require_few_parts(drawn: Map, groups: int) -> None:
    """Refuse a map of which places have too many parts."""
    if drawn.parts > MOST_ENTRIES:
        raise TooLarge(too_many_parts(drawn), hints=_wider_cells(drawn, groups, chosen=False))


def too_many_parts(drawn: Map) -> str:
    """That they are, in words."""
    places = int((drawn.inside >= 0).sum())
    return (
        f"{places:,} places have something in {drawn.parts // places:,} cells each: these are {drawn.parts:,} parts, "
        f"and more than {MOST_ENTRIES:,}"
    )


def _most_cells(drawn: Map, groups: int) -> int:
    return min(drawn.most_cells, max(MOST_ROWS // groups, 1))


def _wider_cells(drawn: Map, groups: int, *, chosen: bool) -> list[Hint]:
    """The size of cells to write, if there is any."""
    width, most = max(drawn.width, drawn.longer * _WIDEST) if chosen else drawn.width, _most_cells(drawn, groups)

    def fits(every: Fraction) -> bool:
        wider = replace(drawn, every=every, width=width)
        return wider.cells <= most and wider.parts <= MOST_ENTRIES

    found = next((every for every in larger(drawn.every, drawn.cells / most, drawn.longer) if fits(every)), None)
    if found is None:
        return [("where …", "fewer places; or coarser ones in the policy, which cost no noise")]
    return [(f"every {drawn.length(found)}", "has few enough")]


def larger(length: Fraction, times: float, most: Fraction) -> Iterator[Fraction]:
    """Lengths in two digits, each a little larger than the one before, from about where cells are so often fewer."""
    length *= Fraction(math.sqrt(max(times, 1.0)))
    for _ in range(_TRIED):
        if (length := rounded(length, up=True)) > most:
            return
        yield length
        length *= Fraction(11, 10)
