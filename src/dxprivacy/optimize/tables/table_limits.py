"""Lower bounds on the error of tables: no strategy with independent Laplace noise, of tables or not, can be better.

For any prices p >= 0 of the constraints, `2 (sum_S sqrt(c_S u_S))^2 / sum_k p_k f_k budget_k^2` is such a limit.  Here
u_S is the trace, on the component S, of the mean of (e_i - e_j)(e_i - e_j)' over the pairs of a constraint (times the
number of possible records), and f is the largest fraction of these pairs that a cut can separate:

    attribute a   pairs that differ in a alone: 2 n_a prod_{S without a} (n_b - 1) if a is in S; floor(n_a^2 / 4) of
                  n_a (n_a - 1) / 2 pairs of values
    together      all pairs of the N records: 2 dim_S N / (N - 1) except for the total; floor(N^2 / 4) of N (N - 1) / 2
    presence      every record and `absent`: dim_S, also for the total; all pairs

Every result of the maximizer is a valid limit.  It holds for the discrete metric: any two values of attribute a are
`budget_a` apart.  If some are farther apart (a line), strategies other than tables may have smaller errors.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.tables.measured_table import PRESENCE, TOGETHER, Budgets, of_sizes
from dxprivacy.optimize.tables.table_components import Attributes, components, importances

_HUGE = 700.0  # a larger budget allows an error of about 0, and would overflow


def limit(
    sizes: Sequence[int],
    budgets: Sequence[float] | Budgets,
    workload: Sequence[Attributes],
    weights: Sequence[float],
) -> float:
    """Return a lower bound on the weighted squared error of these tables, each with increasing attributes.

    It holds for independent continuous Laplace noise; half of it holds for any additive noise with a density
    (`strategies/strategy_limits.py`).
    """
    budgets = Budgets.checked(budgets, sizes)
    parts = [s for s in components(workload, budgets.least) if all(sizes[a] > 1 for a in s)]
    parts = [s for s in parts if not s or any(math.isfinite(budgets.of(a)) for a in s)]
    if not parts:
        return 0.0
    c = importances(of_sizes(sizes), workload, weights, parts)
    used = sorted({a for s in parts for a in s})
    reach, room = [], []
    for constraint, budget in budgets.constraints(used):
        reach.append([_reach(sizes, s, constraint.about, used) for s in parts])
        room.append(budget**2 * _separable(sizes, constraint.about, used))
    reached: Floats = np.array(reach)
    tells = reached.max(axis=1) > 0
    return 2 * _maximized(c / c.max(), reached[tells], np.array(room)[tells]) * float(c.max())


def _reach(sizes: Sequence[int], s: Attributes, about: int, used: Sequence[int]) -> float:
    """Return the trace on a component, per unit of a constraint's price."""
    if about == PRESENCE:
        return float(math.prod(sizes[b] - 1 for b in s))
    if about == TOGETHER:
        everything = math.prod(sizes[a] for a in used)
        return 2 * math.prod(sizes[b] - 1 for b in s) * (everything / (everything - 1)) if s else 0.0
    return 2.0 * sizes[about] * math.prod(sizes[b] - 1 for b in s if b != about) if about in s else 0.0


def _separable(sizes: Sequence[int], about: int, used: Sequence[int]) -> float:
    """Return the largest fraction of a constraint's pairs that a cut separates."""
    if about == PRESENCE:
        return 1.0
    n = math.prod(sizes[a] for a in used) if about == TOGETHER else sizes[about]
    return (n * n // 4) / (n * (n - 1) // 2)


def unbiased_limit(
    sizes: Sequence[int], budgets: Sequence[float], workload: Sequence[Attributes], weights: Sequence[float]
) -> float:
    """Return a lower bound on the error of any unbiased answers: 1 / (4 sinh(d/2)^2) for each count of each table.

    d is the smallest budget of its attributes; proof in `strategies/strategy_limits.py: unbiased_limit`.

    >>> print(f"{unbiased_limit((2, 3), (1, 0.5), [(0,), (0, 1)], [1, 1]):.3f}")
    25.348
    """
    total = 0.0
    for table, weight in zip(workload, weights, strict=True):
        least = min((float(budgets[a]) for a in table if sizes[a] > 1), default=math.inf)
        if least < _HUGE:
            total += weight * math.prod(sizes[a] for a in table) / (4 * math.sinh(least / 2) ** 2)
    return total * (1 - 1e-12)


def _maximized(c: Floats, reach: Floats, room: Floats) -> float:
    """Maximize (sum sqrt(c u))^2 / (p . room) over p, u = reach' p: concave in p at fixed scale, smooth in log p."""
    from scipy.optimize import minimize

    def value(y: Floats) -> tuple[float, Floats]:
        p = np.exp(y - y.max()) / room  # the value does not change with the size of p
        u = reach.T @ p
        h, total = float(np.sqrt(c * u).sum()), float(p @ room)
        slope = (reach @ np.sqrt(c / u)) / h - room / total
        return -(2 * math.log(h) - math.log(total)), -slope * p

    def start() -> Floats:
        return np.zeros(len(room))

    found = minimize(
        value, start(), jac=True, method="L-BFGS-B", bounds=[(-60, 60)] * len(room), options={"maxiter": 500}
    )
    return math.exp(-min(float(found.fun), value(start())[0]))


# -- A closer limit for tables under equal budgets, by isoperimetry ----------------------------------------------------
# No set of records has a small border in all directions at once.  "Cells" are the possible records in this section.
#
# **Theorem.**  Let mu >= 0 be prices of the pairs, c(X) the price of the pairs that a set X of cells cuts, and H a
# positive semidefinite matrix with H1 = 0 and 1_X' H 1_X <= c(X)^2 for every X.  Then every strategy A of independent
# continuous Laplace noise with |A_i - A_j|_1 <= d_ij leaves an error of at least
#
#     2 tr(G M^+)  >=  2 (sum_j eig_j(H^1/2 G H^1/2)^(1/3))^3 / (mu . d)^2 .
#
# *Proof.*  The workload is W = B A up to constants, with error 2 sum_k |b_k|^2, b_k the columns of B.  Let t_k be the
# price sum_e mu_e |a_ki - a_kj| of row a_k: sum t_k <= mu . d.  By Hoelder sum |b_k|^2 (sum t_k)^2 >= (sum_k (|b_k|
# t_k)^(2/3))^3.  A row is an integral of its level sets, a_k = int 1_{a_k > s} ds and a constant, so |H^1/2 a_k| <= int
# |H^1/2 1_{a_k > s}| ds <= int c({a_k > s}) ds = t_k.  W H^1/2 = sum_k b_k (H^1/2 a_k)', and the sum of the singular
# values to the power 2/3 is subadditive (Rotfel'd): sum_k (|b_k| |H^1/2 a_k|)^(2/3) >= sum_j sigma_j(W H^1/2)^(2/3).
#
# **Tables.**  Cells are records of attributes; components S as in `table_components`, P_S the projections.  With prices
# mu_a along attribute a and H = sum_S eta_S P_S, let w_S = |P_S 1_X|^2 and l_S = sum_{a in S} mu_a n_a: c(X) = l . w,
# and the condition is eta . w <= (l . w)^2.  eta depends only on how many attributes of each kind (of the same size) S
# has: a class.  For a set of n cells, Delsarte: w = n/N K A >= 0, K the Krawtchouk numbers of N cells in total, A_t the
# mean number of cells of X that differ from one of X by class t: A_0 = 1, sum A = n, 0 <= A_t <= their total number.
# As in `limit`, any two values of an attribute are its budget apart; mu_a = 1.
#
# **Certification.**  Floats propose eta, and for every n (from n1 to n2 at once) a tau and multipliers of these
# inequalities.  Let B be an upper bound of (eta - 2 n1 tau l) . w/n over them: any multipliers y, u, v >= 0 give one
# (weak duality, z takes what is left), computed in fractions.  Then for s >= 0, with s tau in place of tau, s eta . w/n
# - n1 (l . w/n)^2 <= s B + n1 (s tau)^2, so s eta is valid if s <= -B / (n1 tau^2).  The least such s of all n up to
# N/2 (a set and its complement have the same w) makes eta valid: no search has to be trusted.


_MOST_CLASSES = 12
_MOST_CELLS = 100_000  # possible records
_ONE_BY_ONE = 64  # set sizes up to this are treated one by one
_WIDER = 1.04  # larger sizes are treated in ranges whose ends differ by this factor
_SWEEPS = 8  # over all sizes
_TANGENTS = 8  # of a square, for one size
_ALIKE = 1.5  # times the least budget
_ROUNDING = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Scheme:
    """The association scheme of attributes, given as (size, number of attributes): its classes and eigenvalues."""

    kinds: tuple[tuple[int, int], ...]

    @property
    def cells(self) -> int:
        """The number of possible records."""
        return math.prod(n**k for n, k in self.kinds)

    @property
    def classes(self) -> list[tuple[int, ...]]:
        """All classes: the number of attributes of each kind; the class of none comes first."""
        return list(itertools.product(*(range(k + 1) for _, k in self.kinds)))

    @property
    def numbers(self) -> list[list[int]]:
        """The Krawtchouk numbers K[S][T], products over the kinds; K[S][0] is the dimension of S and the size of T.

        >>> Scheme(((2, 2),)).numbers
        [[1, 1, 1], [2, 0, -2], [1, -1, 1]]
        """
        out = [[1]]
        for n, k in self.kinds:
            one = [[_krawtchouk(n, k, i, x) for x in range(k + 1)] for i in range(k + 1)]
            out = [[a * b for a in row for b in along] for row in out for along in one]
        return out

    def border(self) -> list[int]:
        """Return l_S: the eigenvalues of the Laplacian of all pairs that differ in one attribute, at price 1 each."""
        return [sum(c * n for c, (n, _) in zip(each, self.kinds, strict=True)) for each in self.classes]


def _krawtchouk(n: int, k: int, i: int, x: int) -> int:
    terms = ((-1) ** j * (n - 1) ** (i - j) * math.comb(x, j) * math.comb(k - x, i - j) for j in range(i + 1))
    return sum(terms)


@dataclass(frozen=True)
class Multipliers:
    """A dual proof for sets of n1 to n2 records: the tangent, and the multipliers of classes, of n2 and of n1."""

    n1: int
    n2: int
    tangent: Fraction
    classes: tuple[Fraction, ...]
    most: Fraction
    least: Fraction


def largest_factor(scheme: Scheme, eta: Sequence[Fraction], proof: Multipliers) -> Fraction:
    """Return the largest s for which the multipliers prove (s eta) . w <= (l . w)^2 on these sets; exact."""
    K, border, N = scheme.numbers, scheme.border(), scheme.cells
    if proof.tangent <= 0 or min((*proof.classes, proof.most, proof.least), default=Fraction(0)) < 0:
        return Fraction(0)
    slope = [e - 2 * proof.n1 * proof.tangent * b for e, b in zip(eta, border, strict=True)]
    gains = [sum(a * row[t] for a, row in zip(slope, K, strict=True)) / N for t in range(len(K))]
    bound = gains[0] + sum(y * row[0] for y, row in zip(proof.classes, K[1:], strict=True))
    bound += (proof.n2 - 1) * proof.most - (proof.n1 - 1) * proof.least
    for t in range(1, len(K)):
        spent = sum(y * row[t] for y, row in zip(proof.classes, K[1:], strict=True))
        bound += K[t][0] * max(gains[t] + spent - proof.most + proof.least, Fraction(0))
    return max(Fraction(-bound) / (proof.n1 * proof.tangent * proof.tangent), Fraction(0))


def sizes_together(cells: int) -> list[tuple[int, int]]:
    """Return ranges that cover all set sizes up to half of the records; large sizes share a range.

    >>> sizes_together(6)
    [(1, 1), (2, 2), (3, 3)]
    """
    found, n = [], 1
    while n <= cells // 2:
        last = n if n <= _ONE_BY_ONE else min(int(n * _WIDER), cells // 2)
        found.append((n, last))
        n = last + 1
    return found


class _Sets:
    """The linear relaxation of sets of n1 to n2 records, in floats; its tangents are reused for the next eta."""

    def __init__(self, scheme: Scheme, n1: int, n2: int) -> None:
        K = np.array(scheme.numbers, dtype=np.float64)
        self.n1, self.n2 = n1, n2
        self.spectra = K / scheme.cells  # of w/n by A
        self.border = np.array(scheme.border(), dtype=np.float64) @ self.spectra
        rest = len(K) - 1
        self.A = np.vstack([-K[1:, 1:], np.ones((1, rest)), -np.ones((1, rest))])
        self.b = np.concatenate([K[1:, 0], [n2 - 1.0, 1.0 - n1]])
        self.bounds = [(0.0, float(v)) for v in K[1:, 0]]
        self.tangents = [float(self.border[0])]

    def worst(self, eta: Floats) -> Floats | None:
        """Return w/n of a set that most violates eta . w/n <= n1 (l . w/n)^2, in floats; None if there is no set."""
        from scipy.optimize import linprog

        gain = eta @ self.spectra
        size = float(np.abs(gain).max())
        found = None
        for _ in range(_TANGENTS):
            t = np.array(self.tangents)
            # s >= n1 (2 t c - t^2), c = border . A with A_0 = 1
            rows = np.column_stack([2 * self.n1 * np.outer(t, self.border[1:]), -np.full(len(t), size)])
            right = self.n1 * (t * t - 2 * t * self.border[0])
            done = linprog(
                np.append(-gain[1:] / size, 1.0),
                A_ub=np.vstack([np.column_stack([self.A, np.zeros(len(self.A))]), rows / size]),
                b_ub=np.concatenate([self.b, right / size]),
                bounds=[*self.bounds, (None, None)],
                method="highs",
            )
            if done.status != 0:
                return found
            A = np.concatenate([[1.0], done.x[:-1]])
            found = self.spectra @ A
            c = float(self.border @ A)
            if self.n1 * c * c - float(done.x[-1]) * size <= 1e-7 * size or c <= 0:
                break
            self.tangents.append(c)
        return found

    def proof(self, eta: Floats, w: Floats, border: Floats) -> Multipliers | None:
        """Return multipliers for the tangent at w/n, or None if the linear program fails."""
        from scipy.optimize import linprog

        tangent = float(border @ w)
        gain = (eta - 2 * self.n1 * tangent * border) @ self.spectra
        size = float(np.abs(gain).max()) or 1.0
        done = linprog(-gain[1:] / size, A_ub=self.A, b_ub=self.b, bounds=self.bounds, method="highs")
        if done.status != 0:
            return None
        y = [Fraction(max(-float(m) * size, 0.0)) for m in done.ineqlin.marginals]
        return Multipliers(self.n1, self.n2, Fraction(tangent), tuple(y[:-2]), y[-2], y[-1])


def isoperimetric_limit(
    sizes: Sequence[int], budgets: Sequence[float], workload: Sequence[Attributes], weights: Sequence[float]
) -> float:
    """Return a lower bound on the error of independent Laplace noise for about equal budgets; 0 if none is known.

    >>> tables = [(0, 1), (0, 2), (1, 2)]
    >>> print(f"{isoperimetric_limit((3, 3, 3), (1, 1, 1), tables, (1, 1, 1)):.0f}")
    369
    """
    used = sorted({a for t in workload for a in t if sizes[a] > 1})
    each = [float(budgets[a]) for a in used]
    if len(used) < 2 or not 0 < max(each) < math.inf or max(each) > _ALIKE * min(each):
        return 0.0  # one attribute only, or one so strict that a few records would dominate
    kinds = sorted({sizes[a] for a in used})
    scheme = Scheme(tuple((n, sum(sizes[a] == n for a in used)) for n in kinds))
    if len(scheme.classes) > _MOST_CLASSES or scheme.cells > _MOST_CELLS:
        return 0.0
    parts = [s for s in components(workload) if all(sizes[a] > 1 for a in s)]
    dimensions = np.array([math.prod(sizes[a] - 1 for a in s) for s in parts], dtype=np.float64)
    g = importances(of_sizes(sizes), workload, weights, parts) * scheme.cells / dimensions
    at = {c: k for k, c in enumerate(scheme.classes)}
    kind = np.array([at[tuple(sum(sizes[a] == n for a in s) for n in kinds)] for s in parts])
    importance = np.bincount(kind, dimensions * np.cbrt(g), minlength=len(at)).astype(np.float64)
    eta = _proposed(scheme, importance)
    if eta is None:
        return 0.0
    factor = certified_factor(scheme, eta)
    price = sum(scheme.cells * (sizes[a] - 1) / 2 * budget for a, budget in zip(used, each, strict=True))
    total = 2 * float(importance @ np.cbrt(eta)) ** 3 / price**2
    return total * float(factor) * _ROUNDING


def certified_factor(scheme: Scheme, eta: Floats) -> Fraction:
    """Return the largest s for which s eta is proved valid for all sets: exact, whatever the floats propose."""
    exact = [Fraction(e) for e in eta.tolist()]
    border = np.array(scheme.border(), dtype=np.float64)
    least: Fraction | None = None
    for n1, n2 in sizes_together(scheme.cells):
        sets = _Sets(scheme, n1, n2)
        w = sets.worst(eta)
        proof = None if w is None else sets.proof(eta, w, border)
        factor = Fraction(0) if proof is None else largest_factor(scheme, exact, proof)
        least = factor if least is None else min(least, factor)
    return least or Fraction(0)


def _proposed(scheme: Scheme, importance: Floats) -> Floats | None:
    """Propose eta on the relevant classes by cutting planes: the best eta for the sets so far, then violated sets."""
    used = np.flatnonzero(importance > 0)
    border = np.array(scheme.border(), dtype=np.float64)
    all_sets = [_Sets(scheme, n1, n2) for n1, n2 in sizes_together(scheme.cells)]
    single = np.array([row[0] for row in scheme.numbers]) / scheme.cells
    cuts = [single[used] / float(border @ single) ** 2]
    eta = np.zeros(len(importance))
    for _ in range(_SWEEPS):
        eta[used] = _best_under(np.array(cuts), importance[used])
        found = []
        for sets in all_sets:
            w = sets.worst(eta)
            c = 0.0 if w is None else float(border @ w)
            if w is None or c <= 0:
                continue
            cut = w[used] / (sets.n1 * c * c)
            if float(cut @ eta[used]) > 1 + 1e-4:
                found.append(cut)
        if not found:
            break
        cuts += found
    return eta if (eta[used] > 0).all() else None


def _best_under(cuts: Floats, importance: Floats) -> Floats:
    """Maximize the sum of importance * eta^(1/3) over eta > 0 with cuts @ eta <= 1: smoothed, then scaled."""
    from scipy.optimize import minimize

    y = -np.log(np.maximum(cuts.max(axis=0), 1e-300)) - math.log(len(importance))
    for power in (20.0, 200.0, 2000.0):

        def value(y: Floats, power: float = power) -> tuple[float, Floats]:
            eta = np.exp(y)
            used = cuts @ eta
            most = float(used.max())
            z = (used / most) ** power
            h = importance * np.cbrt(eta)
            slope = (cuts.T @ (z / z.sum() / used)) * eta - h / h.sum()
            return math.log(most) + math.log(z.sum()) / power - 3 * math.log(h.sum()), slope

        y = np.asarray(minimize(value, y, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x)
    eta = np.exp(y)
    return np.asarray(eta / (cuts @ eta).max(), dtype=np.float64)
