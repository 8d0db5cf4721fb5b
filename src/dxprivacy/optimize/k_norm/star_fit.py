"""Tables whose noise agrees along one attribute each: which attribute, with which weights, so that all err least.

Every table belongs to one of its attributes, its *owner*.  The tables of an owner share the noise of its margin: summed
over everything else they tell the same counts u of the owner's values, and all u add up to 0.  A star is a margin with
its tables (the moments above).  By symmetry the noise of a table has one variance in each component of the counts (see
`optimize.tables.table_components`):

    the owner's own component      n v / (n - 1), v the variance of a count of the margin; all its tables tell the same
    any other component            (m z - v / m) / (m - 1), z the variance of a cell, m cells for a value of the owner

and noises of different components, and of different stars, do not mind one another.  So estimates of a component are
averaged by their precision, as everywhere, and with c_S what a component's error counts the total is sum c_S / known_S.

The weights are searched for in logarithms by gradients, owners by exchanging one at a time; all with totals on a
coarser grid where noise is wide.  As everywhere, this is a proposal, certified by whoever uses it.
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
# Everything is a convolution, by Fourier on whole numbers; nothing is divided by a small number.  Errors and plans are
# made of these numbers; privacy depends on none of them.


_FADED = 36.0  # e^-36 of a weight is nothing
_WIDTHS = 9.0  # standard deviations of a sum of many cells, behind which it is nothing
MOST_PLACES = 1 << 18


@dataclass(frozen=True)
class StarSpread:
    """The variance of a count of the margin, and of a cell of each table."""

    margin: float
    cells: tuple[float, ...]


class StarMoments:
    """Spreads of one star's shape for any weights; what one table says is kept while the others change."""

    def __init__(self, values: int, groups: Sequence[int]) -> None:
        self.values, self.groups = values, tuple(groups)
        self._known: dict[tuple[int, float, int], tuple[Floats, Floats]] = {}

    def spread(self, margin: float, weights: Sequence[float]) -> StarSpread:
        """Of a margin of this weight, 0 for none, and tables of these weights, on the whole numbers.

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
        """Places around a circle, so many that nothing comes around it."""
        reach = [_FADED / w + _WIDTHS * math.sqrt(2 * m) / w for m, w in zip(self.groups, weights, strict=True)]
        if margin > 0 and not self.groups:
            reach.append(_FADED / margin)
        wide = min((math.sqrt(2 * m) / w for m, w in zip(self.groups, weights, strict=True)), default=math.inf)
        wide = min(wide, math.sqrt(2) / margin if margin > 0 else math.inf)
        reach.append(_WIDTHS * wide * math.sqrt(self.values))
        size = 1 << (2 * int(max(reach)) + 3).bit_length()
        if size > MOST_PLACES:
            raise NotCertified("noise so wide: too much to work out its error", hints=[('method="matrix"', "")])
        return size

    def _group(self, m: int, weight: float, size: int) -> tuple[Floats, Floats]:
        """h of m cells, and the same times E[z^2 | sum] of one of them."""
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


# -- Tables whose noise agrees along one attribute each ----------------------------------------------------------------


_COARSE = 0.35  # the largest weight of a coarse grid
_HARDLY = 1e-4  # of its tables' weights: a margin's own, at least
_STEP = 1e-4  # of a logarithm, for derivatives
_ROUNDS, _FEWEST = 40, 8  # of a search by gradients
_WORK = 1_500  # rounds times tables
_FAR = 3.0  # how far the logarithm of a weight is looked for: a table of hardly any noise has no bounds
_EXCHANGES = 2  # times that all owners are looked at
MOST_TABLES = 200


@dataclass(frozen=True)
class Star:
    """The owner, and its tables: of which attributes each, the owner among them."""

    owner: int
    tables: tuple[Attributes, ...]


@dataclass(frozen=True, eq=False)
class Stars:
    """Stars with the weight of each margin and of each table, and the total squared error on whole numbers."""

    stars: tuple[Star, ...]
    margins: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    total: float


def spreads(
    sizes: Sequence[int], star: Star, margin: float, weights: Sequence[float]
) -> tuple[float, tuple[float, ...]]:
    """The variance of the owner's own component, and for each table that of every other component.

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
    """How many cells of each table belong to a value of the owner."""
    return tuple(cells(sizes, table) // sizes[star.owner] for table in star.tables)


def stars(
    sizes: Sequence[int], budgets: Budgets, workload: Mapping[Attributes, float], watch: Watch | None = None
) -> Stars | None:
    """The best that is found for a workload of tables, by the weight of each; None where there is nothing to share.

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
    """Variables are the tables' weights, then those of the margins of all attributes.

    `alone` are attributes of which nothing but the margin is asked: a star without tables.
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
        """The attributes that have a star."""
        return sorted({*owners, *self.alone})

    @cached_property
    def importance(self) -> Floats:
        keys = list(self.asked)
        return importances(of_sizes(self.sizes), keys, [self.asked[k] for k in keys], list(self.parts))

    @cached_property
    def loads(self) -> Floats:
        """Of each limit, what a unit of each variable takes."""
        everything = [MeasuredTable(t) for t in self.tables] + [MeasuredTable((a,)) for a in range(len(self.sizes))]
        lines = [[c.cost(t) / limit for t in everything] for c, limit in self.budgets.constraints(self.used)]
        return np.array(lines, dtype=np.float64)

    @cached_property
    def start(self) -> Floats:
        tables = [math.prod(self.sizes[a] for a in t) ** (1 / 3) for t in self.tables]
        return np.array(tables + [n ** (1 / 3) if a in self.alone else _HARDLY for a, n in enumerate(self.sizes)])

    def first_owners(self) -> Iterator[list[int]]:
        """The attribute of the strictest budget; of the most values."""
        strict = [min(t, key=lambda a: (self.budgets.of(a), -self.sizes[a], a)) for t in self.tables]
        yield strict
        large = [max(t, key=lambda a: (self.sizes[a], -self.budgets.of(a), -a)) for t in self.tables]
        if large != strict:
            yield large

    def scaled(self, w: Floats) -> Floats:
        """Within all limits: each weight over the largest load that it takes part in, until nothing is left."""
        takes = self.loads > 0
        for _ in range(3):
            w = w / np.where(takes, (self.loads @ w)[:, None], 0.0).max(axis=0)
        return w

    def star(self, owners: Sequence[int], owner: int) -> tuple[Star, list[int]]:
        """The star of an owner, and which tables are in it."""
        mine = [k for k, o in enumerate(owners) if o == owner]
        return Star(owner, tuple(self.tables[k] for k in mine)), mine

    def known(self, star: Star, spread: tuple[float, tuple[float, ...]]) -> Floats:
        """What a star tells of each component."""
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
        """Each table with the owner that is best at these weights, one after the other."""
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
        """The best weights near some, by gradients of the total's logarithm in those of the weights."""
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
        """What is told of each component, and its derivatives by the logarithms of the weights."""
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
        """How the logarithms of all weights move with the variables: they share limits."""
        out = np.zeros((len(w), len(x)))
        for k in range(len(x)):
            moved = x.copy()
            moved[k] += _STEP
            after = weights(moved) * coarser  # type: ignore[operator]
            with np.errstate(divide="ignore", invalid="ignore"):
                out[:, k] = np.where(w > 0, (after - w) / (w * _STEP), 0.0)
        return out

    def exactly(self, owners: Sequence[int], w: Floats) -> Stars | None:
        """With the total of the whole numbers."""
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
    """Spreads of stars, those of one shape kept together."""

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
