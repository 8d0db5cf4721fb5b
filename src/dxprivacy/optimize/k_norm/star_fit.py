"""Choose stars for k-norm noise on tables: an owner attribute for each table, and weights, for the least error.

Every table belongs to one of its attributes, its *owner*.  The tables of an owner share the noise of its margin: summed
over everything else, they give the same counts u of the owner's values, and all u add up to 0.  A star is a margin with
its tables.  "Cells" are the counts of a table here.  By symmetry, the noise of a table has one variance in each
component of the counts (see `optimize.tables.table_components`):

    the owner's own component      n v / (n - 1), v the variance of a count of the margin; equal in all its tables
    any other component            (m z - v / m) / (m - 1), z the variance of a cell, m cells for a value of the owner

Noises of different components, and of different stars, are uncorrelated.  So estimates of a component are averaged by
their precision, and with the importance c_S of a component's error, the total is sum c_S / known_S.

The weights are found by L-BFGS in logarithms, the owners by exchanging one at a time, with totals on a coarser grid if
noise is wide.  The result is a proposal, certified by the caller.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.tables.measured_table import Budgets, MeasuredTable, cells, of_sizes
from dxprivacy.optimize.tables.table_components import Attributes, components, importances, subsets

# -- Variances of k-norm noise on a star: a margin of equal counts, each divided into groups of equal cells ------------
# Each of n counts u of the margin has the weight e^(-w |u|), and is the sum of a group of m_k cells z of weight e^(-w_k
# |z|) for every table k; the counts of the margin add up to 0.  With h_k the sums of m_k cells,
#
#     f(u) = e^(-w |u|) prod over k of h_k(u),        P(u) ~ f(u) o(u),        o the sums of n - 1 other counts,
#
# and E z^2 of a cell of table k is the sum of P(u) E[z^2 | u], E[z^2 | u] h_k(u) = (z^2 e^(-w_k |z|) * h_(m-1))(u).
# Everything is a convolution, by Fourier transforms on integers; nothing is divided by a small number.  These numbers
# are used for errors and plans; privacy does not depend on them.


_FADED = 36.0  # e^-36 is negligible
_WIDTHS = 9.0  # a sum of many cells is negligible beyond this many standard deviations
MOST_PLACES = 1 << 18


@dataclass(frozen=True)
class StarSpread:
    """The variance of a count of the margin, and of a cell of each table."""

    margin: float
    cells: tuple[float, ...]


class StarMoments:
    """Variances of a star of given shape for any weights; results for single tables are cached."""

    def __init__(self, values: int, groups: Sequence[int]) -> None:
        self.values, self.groups = values, tuple(groups)
        self._known: dict[tuple[int, float, int], tuple[Floats, Floats]] = {}

    def spread(self, margin: float, weights: Sequence[float]) -> StarSpread:
        """Return the variances for a margin of this weight (0 for none) and tables of these weights, on the integers.

        >>> two = StarMoments(2, (2,)).spread(0.0, (0.01,))
        >>> print(f"{two.margin * 1e-4:.3f} {two.cells[0] * 1e-4:.3f}")  # four equal cells: 7/8 of three
        1.400 1.050
        """
        size = self._size(margin, weights)
        tables = [self._group(m, w, size) for m, w in zip(self.groups, weights, strict=True)]
        place = np.minimum(np.arange(size), size - np.arange(size))
        own = np.exp(-margin * place)
        f = own * np.prod([h for h, _ in tables], axis=0) if tables else own
        others = np.maximum(np.fft.irfft(np.fft.rfft(f / f.sum()) ** (self.values - 1), size), 0.0)
        distribution = f * others
        everything = float(distribution.sum())
        squares = place.astype(np.float64) ** 2
        cells = []
        for k in range(len(tables)):
            rest = np.prod([h for j, (h, _) in enumerate(tables) if j != k], axis=0) * own * others
            cells.append(float(rest @ tables[k][1]) / everything)
        return StarSpread(float(distribution @ squares) / everything, tuple(cells))

    def _size(self, margin: float, weights: Sequence[float]) -> int:
        """Return the length of the cyclic transforms, so large that wrap-around is negligible."""
        reach = [_FADED / w + _WIDTHS * math.sqrt(2 * m) / w for m, w in zip(self.groups, weights, strict=True)]
        if margin > 0 and not self.groups:
            reach.append(_FADED / margin)
        wide = min((math.sqrt(2 * m) / w for m, w in zip(self.groups, weights, strict=True)), default=math.inf)
        wide = min(wide, math.sqrt(2) / margin if margin > 0 else math.inf)
        reach.append(_WIDTHS * wide * math.sqrt(self.values))
        size = 1 << (2 * int(max(reach)) + 3).bit_length()
        if size > MOST_PLACES:
            raise NotCertified("the noise is too wide to compute its error", hints=[('method="matrix"', "")])
        return size

    def _group(self, m: int, weight: float, size: int) -> tuple[Floats, Floats]:
        """Return h of m cells, and h times E[z^2 | sum] of one of them."""
        key = (m, weight, size)
        if key not in self._known:
            if len(self._known) > 4 * len(self.groups):
                self._known.clear()
            place = np.minimum(np.arange(size), size - np.arange(size)).astype(np.float64)
            one = np.exp(-weight * place)
            one /= one.sum()
            wave = np.fft.rfft(one)
            rest = wave ** (m - 1)
            h, top = (np.maximum(np.fft.irfft(x, size), 0.0) for x in (rest * wave, rest * np.fft.rfft(one * place**2)))
            self._known[key] = h / h[0], top / h[0]
        return self._known[key]


# -- Stars: tables that share the noise of a margin --------------------------------------------------------------------


_COARSE = 0.35  # the largest weight of a coarse grid
_HARDLY = 1e-4  # the smallest weight of a margin relative to its tables
_STEP = 1e-4  # of a logarithm, for derivatives
_ROUNDS, _FEWEST = 40, 8  # rounds of a gradient search
_WORK = 1_500  # rounds times tables
_FAR = 3.0  # the range of the search around the logarithm of a weight
_EXCHANGES = 2  # passes over all owners
MOST_TABLES = 200


@dataclass(frozen=True)
class Star:
    """The owner, and the attributes of each of its tables, which include the owner."""

    owner: int
    tables: tuple[Attributes, ...]


@dataclass(frozen=True, eq=False)
class Stars:
    """Stars with the weight of each margin and of each table, and the total squared error on the integers."""

    stars: tuple[Star, ...]
    margins: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    total: float


def spreads(
    sizes: Sequence[int], star: Star, margin: float, weights: Sequence[float]
) -> tuple[float, tuple[float, ...]]:
    """Return the variance of the owner's own component, and for each table that of every other component.

    >>> one, (others,) = spreads((2, 2), Star(0, ((0, 1),)), 0.0, (0.01,))
    >>> print(f"{one / 1e4:.2f} {others / 1e4:.2f}")
    2.80 1.40
    """
    return _spreads(sizes, star, StarMoments(sizes[star.owner], _groups(sizes, star)), margin, weights)


def _spreads(
    sizes: Sequence[int], star: Star, moments: StarMoments, margin: float, weights: Sequence[float]
) -> tuple[float, tuple[float, ...]]:
    n, found = sizes[star.owner], moments.spread(margin, weights)
    others = [(m * z - found.margin / m) / (m - 1) for m, z in zip(_groups(sizes, star), found.cells, strict=True)]
    return found.margin * n / (n - 1), tuple(others)


def _groups(sizes: Sequence[int], star: Star) -> tuple[int, ...]:
    """Return for each table the number of cells for one value of the owner."""
    return tuple(cells(sizes, table) // sizes[star.owner] for table in star.tables)


def stars(
    sizes: Sequence[int], budgets: Budgets, workload: Mapping[Attributes, float], watch: Watch | None = None
) -> Stars | None:
    """Return the best stars found for a workload of weighted tables; None if no table can belong to a star.

    >>> found = stars((3, 3), Budgets((0.1, 0.1)), {(0, 1): 1.0})
    >>> found.stars, round(found.total, -1)  # independent noise: 6,400
    ((Star(owner=0, tables=((0, 1),)),), 5440.0)
    """
    watch = watch or Watch()
    asked = {t: w for t, w in workload.items() if t}
    largest = [t for t in asked if not any(set(t) < set(other) for other in asked)]
    if not largest or len(largest) > MOST_TABLES or budgets.total_is_private:
        return None
    tables = tuple(sorted((t for t in largest if len(t) > 1), key=lambda t: (len(t), t)))
    problem = _Problem(tuple(sizes), budgets, asked, tables, tuple(sorted(t[0] for t in largest if len(t) == 1)))
    best: tuple[float, list[int], Floats] | None = None
    for owners in problem.first_owners():
        start = problem.scaled(problem.start)
        owners = problem.exchanged(owners, start, watch)
        total, w = problem.searched(owners, start, watch)
        for _ in range(_EXCHANGES):
            if watch.over:
                break
            other = problem.exchanged(owners, w, watch)
            if other == owners:
                break
            found = problem.searched(other, w, watch)
            if found[0] >= total:
                break
            owners, (total, w) = other, found
        if best is None or total < best[0]:
            best = total, owners, w
        if watch.over:
            break
    return None if best is None else problem.exactly(best[1], best[2])


@dataclass(frozen=True, eq=False)
class _Problem:
    """The optimization problem; its variables are the weights of tables, then those of the margins of all attributes.

    `alone` are attributes of which the workload has only the margin: stars without tables.
    """

    sizes: tuple[int, ...]
    budgets: Budgets
    asked: Mapping[Attributes, float]
    tables: tuple[Attributes, ...]
    alone: Attributes

    @cached_property
    def used(self) -> Attributes:
        return tuple(sorted({a for t in self.tables for a in t} | set(self.alone)))

    @cached_property
    def parts(self) -> dict[Attributes, int]:
        return {s: k for k, s in enumerate(components([*self.tables, *((a,) for a in self.alone)]))}

    def owning(self, owners: Sequence[int]) -> list[int]:
        """Return the attributes that have a star."""
        return sorted({*owners, *self.alone})

    @cached_property
    def importance(self) -> Floats:
        keys = list(self.asked)
        return importances(of_sizes(self.sizes), keys, [self.asked[k] for k in keys], list(self.parts))

    @cached_property
    def loads(self) -> Floats:
        """The fraction of each limit that a unit of each variable uses."""
        everything = [MeasuredTable(t) for t in self.tables] + [MeasuredTable((a,)) for a in range(len(self.sizes))]
        lines = [[c.cost(t) / limit for t in everything] for c, limit in self.budgets.constraints(self.used)]
        return np.array(lines, dtype=np.float64)

    @cached_property
    def start(self) -> Floats:
        tables = [math.prod(self.sizes[a] for a in t) ** (1 / 3) for t in self.tables]
        return np.array(tables + [n ** (1 / 3) if a in self.alone else _HARDLY for a, n in enumerate(self.sizes)])

    def first_owners(self) -> Iterator[list[int]]:
        """Yield initial owners: the attribute with the strictest budget, and the one with the most values."""
        strict = [min(t, key=lambda a: (self.budgets.of(a), -self.sizes[a], a)) for t in self.tables]
        yield strict
        large = [max(t, key=lambda a: (self.sizes[a], -self.budgets.of(a), -a)) for t in self.tables]
        if large != strict:
            yield large

    def scaled(self, w: Floats) -> Floats:
        """Scale weights to keep all limits: divide each by its largest load, several times to reduce slack."""
        takes = self.loads > 0
        for _ in range(3):
            w = w / np.where(takes, (self.loads @ w)[:, None], 0.0).max(axis=0)
        return w

    def star(self, owners: Sequence[int], owner: int) -> tuple[Star, list[int]]:
        """Return the star of an owner, and the indices of its tables."""
        mine = [k for k, o in enumerate(owners) if o == owner]
        return Star(owner, tuple(self.tables[k] for k in mine)), mine

    def known(self, star: Star, spread: tuple[float, tuple[float, ...]]) -> Floats:
        """Return the precision of each component from a star."""
        out = np.zeros(len(self.parts))
        out[self.parts[(star.owner,)]] += 1 / (spread[0] * self.sizes[star.owner])
        for table, v in zip(star.tables, spread[1], strict=True):
            told = 1 / (v * cells(self.sizes, table))
            for s in subsets(table, 1):
                if s != (star.owner,):
                    out[self.parts[s]] += told
        return out

    def total_of(self, known: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float((self.importance / known).sum())

    def told(self, owners: Sequence[int], w: Floats, moments: "_Moments") -> Floats:
        out = np.zeros(len(self.parts))
        for owner in self.owning(owners):
            star, mine = self.star(owners, owner)
            out += self.known(star, moments.of(star, w[len(self.tables) + owner], w[mine]))
        return out

    def exchanged(self, owners: Sequence[int], w: Floats, watch: Watch) -> list[int]:
        """Change the owner of one table after another to the best one at these weights."""
        out, moments = list(owners), _Moments(self.sizes)
        coarser = max(_COARSE / float(w.max()), 1.0)
        w = w * coarser
        least = self.total_of(self.told(out, w, moments))
        for k, table in enumerate(self.tables):
            for other in table:
                if other == out[k] or watch.over:
                    continue
                changed = [*out[:k], other, *out[k + 1 :]]
                total = self.total_of(self.told(changed, w, moments))
                if total < least * (1 - 1e-6):
                    out, least = changed, total
        return out

    def searched(self, owners: Sequence[int], start: Floats, watch: Watch) -> tuple[float, Floats]:
        """Find the best weights near a start by L-BFGS on the logarithm of the total, in logarithms of the weights."""
        from scipy.optimize import minimize

        used, tables = self.owning(owners), len(self.tables)
        free = [*range(tables), *(tables + a for a in used)]
        moments = _Moments(self.sizes)
        best: list[tuple[float, Floats]] = []

        def weights(x: Floats) -> Floats:
            w = np.zeros(len(start))
            w[free] = np.exp(x)
            return self.scaled(w)

        def value(x: Floats) -> tuple[float, Floats]:
            w = weights(x)
            coarser = max(_COARSE / float(w.max()), 1.0)
            w = w * coarser
            known, slopes = self._slopes(owners, used, w, moments)
            total = self.total_of(known)
            if not best or total * coarser**2 < best[0][0]:
                best[:] = [(total * coarser**2, w / coarser)]
            along = (-self.importance / known**2) @ slopes / total  # of ln total, by ln w
            jacobian = self._jacobian(weights, x, coarser, w)
            return math.log(total * coarser**2), along @ jacobian

        def stop(_: Floats) -> None:
            if watch.over:
                raise StopIteration

        large = [*range(tables), *(tables + a for a in self.alone)]
        least, most = float(start[large].min()), float(start[large].max())
        x = np.log(np.maximum(start[free], _HARDLY * least))
        hardly = (math.log(_HARDLY * least), math.log(most) + _FAR)
        ends = [(y - _FAR, y + _FAR) if k in large else hardly for k, y in zip(free, x.tolist(), strict=True)]
        rounds = max(min(_ROUNDS, _WORK // len(free)), _FEWEST)
        options = {"maxiter": rounds, "maxfun": 2 * rounds, "ftol": 1e-6}
        minimize(value, x, jac=True, method="L-BFGS-B", bounds=ends, callback=stop, options=options)
        return best[0]

    def _slopes(
        self, owners: Sequence[int], used: Sequence[int], w: Floats, moments: "_Moments"
    ) -> tuple[Floats, Floats]:
        """Return the precision of each component, and its derivatives by the logarithms of the weights."""
        known, slopes = np.zeros(len(self.parts)), np.zeros((len(self.parts), len(w)))
        for owner in used:
            star, mine = self.star(owners, owner)
            places = [len(self.tables) + owner, *mine]
            base = self.known(star, moments.of(star, w[places[0]], w[mine]))
            known += base
            for place in places:
                moved = w.copy()
                moved[place] *= 1 + _STEP
                slopes[:, place] += (self.known(star, moments.of(star, moved[places[0]], moved[mine])) - base) / _STEP
        return known, slopes

    @staticmethod
    def _jacobian(weights: "object", x: Floats, coarser: float, w: Floats) -> Floats:
        """Return the derivatives of the logarithms of all weights by the variables, which share limits."""
        out = np.zeros((len(w), len(x)))
        for k in range(len(x)):
            moved = x.copy()
            moved[k] += _STEP
            after = weights(moved) * coarser  # type: ignore[operator]
            with np.errstate(divide="ignore", invalid="ignore"):
                out[:, k] = np.where(w > 0, (after - w) / (w * _STEP), 0.0)
        return out

    def exactly(self, owners: Sequence[int], w: Floats) -> Stars | None:
        """Return the stars with the total on the integers."""
        found, moments = [], _Moments(self.sizes)
        for owner in self.owning(owners):
            star, mine = self.star(owners, owner)
            found.append((star, float(w[len(self.tables) + owner]), tuple(w[mine].tolist())))
        try:
            total = self.total_of(self.told(owners, w, moments))
        except NotCertified:
            return None
        return Stars(tuple(s for s, _, _ in found), tuple(m for _, m, _ in found), tuple(t for _, _, t in found), total)


class _Moments:
    """A cache of variances of stars; stars of one shape share one `StarMoments`."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self._shapes: dict[Star, StarMoments] = {}
        self._known: dict[tuple[object, ...], tuple[float, tuple[float, ...]]] = {}

    def of(self, star: Star, margin: float, weights: Floats) -> tuple[float, tuple[float, ...]]:
        key = (star, float(margin), tuple(weights.tolist()))
        if key not in self._known:
            if len(self._known) > 1000:
                self._known.clear()
            if star not in self._shapes:
                self._shapes[star] = StarMoments(self.sizes[star.owner], _groups(self.sizes, star))
            self._known[key] = _spreads(self.sizes, star, self._shapes[star], key[1], key[2])
        return self._known[key]
