"""Nested counts whose noise agrees: do they nest, do they add up, how far do sums of them err (docs/formats.md, 10).

The distribution of the noise z of the cells, sum z = 0, is proportional to exp(-sum of |count of z| / scale).  For
every set of the nest, w(s) is the weight of all z inside it that add up to s, and m_i(s) the same times z_i; both are
products of exp(-|s| / scale) and of convolutions of those of its two parts.  What lies outside has a weight o(s) alike,
so that for cells of different parts E[z_i z_j] is the sum of o(l + r) m_i(l) m_j(r) over that of o(l + r) w(l) w(r).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import Undecided
from dxprivacy.verify.reading import refuse

_WHERE = "measured"
MOST_CELLS = 600
_TOLD = 34.5  # e^-34.5 of the largest sum is what a transform tells
_FADED = 40.0  # e^-40 of a weight is nothing in floats
_MOST_PLACES = 60_000
_MOST_TOGETHER = 4_000
_FEW = 1e-16
_SHORT = 1 << 16  # products of a convolution, one by one


@dataclass
class Part:
    """A set of cells, the row that counts it if any, and its two parts if it is more than one cell."""

    cells: list[int]
    row: int | None
    halves: "tuple[Part, Part] | None" = None


def nested(rows: Mapping[int, frozenset[int]], size: int) -> Part:
    """The tree of sets of cells 0 .. size - 1 by their rows; refuses sets that cross, or a cell without its own."""
    around: dict[int, list[int]] = {}
    last: list[int | None] = [None] * size
    for row in sorted(rows, key=lambda r: -len(rows[r])):
        outer = {last[cell] for cell in rows[row]}
        if len(outer) != 1 or not 0 < len(rows[row]) < size:
            raise refuse("counts that are not nested in one another", _WHERE)
        (holder,) = outer
        if holder is not None and len(rows[holder]) == len(rows[row]):
            raise refuse("counts the same cells twice", _WHERE)
        around.setdefault(-1 if holder is None else holder, []).append(row)
        for cell in rows[row]:
            last[cell] = row
    if any(row is None or len(rows[row]) != 1 for row in last):
        raise refuse("does not count every cell by itself", _WHERE)

    def part(row: int | None, inner: Sequence[int]) -> Part:
        """Built without recursion: chains are as deep as they are long."""
        return Part(sorted(c for r in inner for c in rows[r]) if row is None else sorted(rows[row]), row)

    top = part(None, around[-1])
    waiting = [(top, around[-1])]
    while waiting:
        whole, inner = waiting.pop()
        if not inner:
            continue
        middle = len(inner) // 2
        made = []
        for some in (inner[:middle], inner[middle:]):
            alone = some[0] if len(some) == 1 else None
            made.append(part(alone, some))
            waiting.append((made[-1], around.get(alone, []) if alone is not None else some))
        whole.halves = made[0], made[1]
    return top


def check_sums(top: Part, noisy: Mapping[int, int], records: int) -> list[int]:
    """The noisy cells; every count must be the sum of its cells, and all together the number of records."""
    cells = [0] * len(top.cells)
    for part in _all(top):
        if part.halves is None and part.row is not None:
            cells[part.cells[0]] = noisy[part.row]
    for part in _all(top):
        wanted = records if part is top else None if part.row is None else noisy[part.row]
        if wanted is not None and sum(cells[c] for c in part.cells) != wanted:
            raise refuse("counts that do not add up", "noisy")
    return cells


def _all(top: Part) -> list[Part]:
    """Every part, proportional costs first."""
    out = [top]
    for part in out:
        out += part.halves or ()
    return out


def covariances(top: Part, weights: Mapping[int, float]) -> Any:
    """E[z_i z_j] of all cells, as an array."""
    return errors(top, weights)[0]


def errors(top: Part, weights: Mapping[int, float]) -> tuple[Any, dict[frozenset[int], Any]]:
    """E[z_i z_j] of all cells, as an array; and the distribution of the noise of every set that a row counts."""
    import numpy as np

    if len(top.cells) > MOST_CELLS:
        raise Undecided("too many cells to repeat the errors here", where=_WHERE)
    parts = _all(top)
    inside: dict[int, tuple[Any, Any]] = {}
    for part in reversed(parts):
        inside[id(part)] = _inside(part, inside, weights)
    found, outside = np.zeros((len(top.cells), len(top.cells))), {id(top): np.ones(1)}
    distributions: dict[frozenset[int], Any] = {}
    for part in parts:
        o = outside[id(part)]
        if part.row is not None:
            p = inside[id(part)][0] * o
            distributions[frozenset(part.cells)] = p / p.sum()
        if part.halves is None:
            p = distributions[frozenset(part.cells)]
            found[part.cells[0], part.cells[0]] = float(p @ _places(p) ** 2)
            continue
        o = o * np.exp(-_rate(part, weights) * np.abs(_places(o)))
        one, other = part.halves
        for mine, theirs in ((one, other), (other, one)):
            around = _sums(o[None], inside[id(theirs)][0], len(inside[id(mine)][0]) // 2)[0]
            outside[id(mine)] = around / around.max()
        block = _across(*inside[id(one)], *inside[id(other)], o)
        order = _order(part)
        rows, columns = order[: len(one.cells)], order[len(one.cells) :]
        found[np.ix_(rows, columns)] = block
        found[np.ix_(columns, rows)] = block.T
    return found, distributions


def _rate(part: Part, weights: Mapping[int, float]) -> float:
    return 0.0 if part.row is None else weights[part.row]


def _places(table: Any) -> Any:
    import numpy as np

    return np.arange(-(len(table) // 2), len(table) // 2 + 1)


def _inside(part: Part, known: Mapping[int, tuple[Any, Any]], weights: Mapping[int, float]) -> tuple[Any, Any]:
    """w and the m_i of a set, as far out as they do not fade."""
    import numpy as np

    rate = _rate(part, weights)
    if part.halves is None:
        ends = int(_FADED / rate) + 1
        if ends > _MOST_PLACES:
            raise Undecided("noise too wide to repeat the errors here", where=_WHERE)
        places = np.arange(-ends, ends + 1)
        w = np.exp(-rate * np.abs(places))
        return w, (w * places)[None]
    (f, mine), (g, theirs) = (known[id(half)] for half in part.halves)
    ends = (len(f) + len(g)) // 2
    fade = np.exp(-rate * np.abs(np.arange(-ends, ends + 1)))
    w = _sums(f[None], g, ends)[0] * fade
    m = np.vstack([_sums(mine, g, ends), _sums(theirs, f, ends)]) * fade
    told = _FADED if len(f) * len(g) <= _SHORT else _TOLD
    kept = max(int(np.flatnonzero(w > np.exp(-told) * w.max())[-1]) - ends, 1)
    return _cut(w, kept) / w.max(), _cut(m, kept) / w.max()


def _order(part: Part) -> list[int]:
    """Cells in the order of the parts: the left half's first, all the way down."""
    out, waiting = [], [part]
    while waiting:
        now = waiting.pop()
        if now.halves is None:
            out += now.cells
        else:
            waiting += reversed(now.halves)
    return out


def _across(f: Any, mine: Any, g: Any, theirs: Any, o: Any) -> Any:
    """E[z_i z_j] of cells of two parts, only as far out as anything is left."""
    import numpy as np

    m, n = (_reach(a * _sums(o[None], b, len(a) // 2)[0]) for a, b in ((f, g), (g, f)))
    if max(m, n) > _MOST_TOGETHER:
        raise Undecided("noise too wide to repeat the errors here", where=_WHERE)
    f, mine, g, theirs = _cut(f, m), _cut(mine, m), _cut(g, n), _cut(theirs, n)
    sums = np.arange(-m, m + 1)[:, None] + np.arange(-n, n + 1)
    outer = _cut(o, m + n)[sums + m + n]
    return mine @ (outer @ theirs.T) / float(f @ outer @ g)


def _reach(p: Any) -> int:
    import numpy as np

    return int(np.flatnonzero(p > _FEW * p.max())[-1]) - len(p) // 2


def _sums(lines: Any, table: Any, ends: int) -> Any:
    """The convolution of each line with a table, from -ends to ends.

    Of short tables term by term: noise that is hardly ever there has weights that a transform would lose.
    """
    import numpy as np

    if lines.size * len(table) <= _SHORT:
        return _cut(np.array([np.convolve(line, table) for line in lines]), ends)
    size = 1 << (lines.shape[1] + len(table)).bit_length()
    found = np.fft.irfft(np.fft.rfft(lines, size) * np.fft.rfft(table, size), size)
    return _cut(found[:, : lines.shape[1] + len(table) - 1], ends)


def _cut(lines: Any, ends: int) -> Any:
    """From -ends to ends, with zeros where there is nothing."""
    import numpy as np

    now = lines.shape[-1] // 2
    if now >= ends:
        return lines[..., now - ends : now + ends + 1]
    return np.pad(lines, [(0, 0)] * (lines.ndim - 1) + [(ends - now, ends - now)])
