"""Lower bounds on the total error of independent Laplace noise, by duality; valid for any multipliers.

For any mu >= 0 on the pairs, with L its Laplacian and h = tr sqrt(G^1/2 L G^1/2), every strategy of load 1 has
tr(G M^+) >= h^2 / max sum_e mu_e |A_i - A_j|_2^2  (Cauchy-Schwarz), and the maximum is at most
  sum_e mu_e d_e^2                    since the l2 norm is at most the l1 norm ("l2"), or
  sum_classes d^2 maxcut(mu_class)    since of l1 norm at most d, a random cut separates i and j with probability at
                                      least |A_i - A_j|_2^2 / d^2 ("laplace"); maxcut by its spectral dual.
If a class of equal limits is bipartite, its largest cut contains all its pairs, and the two agree.  The first is
maximized by multiplicative updates (with a strategy for Gaussian noise that attains it), the second by L-BFGS.

Three kinds of noise, three limits:
  independent   Laplace noise with a density, one variable for each row: the limits above.
  additive      *any* noise z with a density on the cells, for all data: half of them.  The score s(z) of a density
                that changes by at most exp(d_ij) has |s_i - s_j| <= d_ij, so its Fisher information E ss' is a mean of
                ss' of such s, and Cov(z) is at least its inverse (Cramer-Rao); s is a strategy of one row, for which
                the bounds of sum_e mu_e |s_i - s_j|^2 above hold.  Laplace noise has twice the inverse: hence a half.
  unbiased      *any* unbiased answers, also integers: `unbiased_limit`.  Integer noise can be below the other two
                limits for budgets from about 3 on.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies.pair_structure import bipartite, classes
from dxprivacy.optimize.strategies.strategy_problem import StrategyProblem

_ROUNDING = 1 - 1e-9  # covers the rounding of eigenvalues in floats
_LARGE = 200  # cells; larger problems get fewer iterations
_MOST_CLASSES = 4


@dataclass(frozen=True)
class Limit:
    """A lower bound on the total of independent Laplace noise, and the argument that proves it."""

    value: float
    which: Literal["l2", "laplace"]

    @property
    def additive(self) -> float:
        """The lower bound for any additive noise with a density, k-norm noise included: half of it."""
        return self.value / 2


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The multipliers of the l2 limit, the limit, and M = A'A of a strategy under l2 that nearly attains it."""

    multipliers: Floats
    value: float
    gap: float
    moments: Floats


def limit(problem: StrategyProblem, *, cuts: bool = True, watch: Watch | None = None) -> Limit:
    """Return the larger of the two limits that the searches find; without `cuts`, only the fast one.

    >>> line = StrategyProblem(np.eye(3), np.array([0, 1]), np.array([1, 2]), np.ones(2))
    >>> print(f"{limit(line).value:.3f}")
    7.464
    """
    watch = watch or Watch()
    if not len(problem.root):
        return Limit(0.0, "l2")
    unit = problem.essential.normalized
    back = float(np.trace(problem.centered)) / float(problem.essential.limits.max()) ** 2
    odd = [c for c in classes(unit) if not bipartite(unit.cells, unit.first[c], unit.second[c])]
    by_cuts = 0 < len(odd) <= _MOST_CLASSES
    patient = cuts and not by_cuts
    iterations, tolerance = (_often(unit, 1000), 1e-4) if patient else (40, 1e-2)
    best = Limit(l2_limit(unit, iterations=iterations, tolerance=tolerance, watch=watch).value * back, "l2")
    if not (cuts and by_cuts):
        return best
    value = _laplace_limit(unit, odd, watch) * back
    return Limit(value, "laplace") if value > best.value else best


def unbiased_limit(problem: StrategyProblem, workload_rows: Floats) -> float:
    """Return a lower bound on the total variance of unbiased answers to the queries, if every cell has a record.

    If one record moves from i to j, a query's mean changes by |q_i - q_j| and every probability by a factor between
    exp(-d) and exp(d), of mean 1 and so of variance (e^d - 1)(1 - e^-d) = 4 sinh(d/2)^2 at most: the variance of the
    answer is at least |q_i - q_j|^2 / (4 sinh(d/2)^2) (Hammersley, Chapman and Robbins).  The largest over all pairs is
    that over the listed ones: along a path sum |dq_e| <= r sum 2 sinh(d_e/2) <= r 2 sinh(sum d_e/2).

    >>> line = StrategyProblem(np.eye(3), np.array([0, 1]), np.array([1, 2]), np.ones(2))
    >>> print(f"{unbiased_limit(line, np.eye(3)):.3f}")
    2.762
    """
    with np.errstate(over="ignore"):
        square = 4 * np.sinh(problem.limits / 2) ** 2
    lines, most = np.ascontiguousarray(workload_rows.T), np.zeros(len(workload_rows))
    for i, j, x in zip(problem.first.tolist(), problem.second.tolist(), square.tolist(), strict=True):
        change = lines[i] - lines[j]
        change *= change
        change /= x
        np.maximum(most, change, out=most)
    return float(most.sum()) * _ROUNDING


def _often(problem: StrategyProblem, iterations: int) -> int:
    """Reduce a number of iterations for large problems to a few seconds: each decomposes matrices of that size."""
    return min(iterations, max(40, int(iterations * (_LARGE / problem.cells) ** 3)))


def l2_limit(problem: StrategyProblem, *, iterations: int, tolerance: float, watch: Watch) -> Spectrum:
    """Maximize 2 h^2 / sum mu d^2 over mu by multiplicative updates with the use of each pair."""
    squares = problem.limits**2
    mu = 1 / squares / len(squares)
    R, best = problem.root, Spectrum(mu, 0.0, np.inf, np.zeros((0, 0)))
    upper = np.inf
    for _ in range(iterations):
        s, P = np.linalg.eigh(R @ laplacian(problem, mu) @ R.T)
        if not s[-1] > 0:  # distances of too different sizes for floats: the limit found so far is valid
            break
        s = np.sqrt(np.maximum(s, s[-1] * 1e-15))
        h = float(s.sum())
        value = 2 * h * h / float(mu @ squares) * _ROUNDING
        K = P.T @ R
        M = (K.T / s) @ K
        used = np.maximum(pair_values(problem, M), 0.0) / squares  # rounding must not make mu negative
        most = float(used.max())
        if 2 * most * h < upper:  # the strategy M / most keeps all pairs and has this error
            upper = 2 * most * h
            best = Spectrum(best.multipliers, best.value, best.gap, M / most)
        if value > best.value:
            best = Spectrum(mu, value, best.gap, best.moments)
        if upper <= best.value * (1 + tolerance) or watch.over:
            break
        mu = mu * used
        mu = mu / float(mu @ squares)
    return Spectrum(best.multipliers, best.value, upper / best.value - 1 if best.value else np.inf, best.moments)


def principal(moments: Floats) -> Floats:
    """Return orthogonal rows A with A'A = `moments`; few if the workload is smooth."""
    values, vectors = np.linalg.eigh(moments)
    keep = values > values[-1] * 1e-12
    return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T[::-1], dtype=np.float64)


def laplacian(problem: StrategyProblem, mu: Floats) -> Floats:
    """Return L with x'Lx = sum of mu (x_i - x_j)^2."""
    n = problem.cells
    flat = np.bincount(problem.first * n + problem.second, mu, minlength=n * n).reshape(n, n)
    flat = flat + flat.T
    return np.asarray(np.diag(flat.sum(axis=0)) - flat, dtype=np.float64)


def pair_values(problem: StrategyProblem, M: Floats) -> Floats:
    """Return (e_i - e_j)' M (e_i - e_j) for every pair; M is symmetric."""
    diagonal = np.diagonal(M)
    i, j = problem.first, problem.second
    return np.asarray(diagonal[i] + diagonal[j] - 2 * M[i, j], dtype=np.float64)


def _laplace_limit(problem: StrategyProblem, odd: list[Ints], watch: Watch) -> float:
    """Return the limit by cuts.  Multipliers start equal, which works better than those of the l2 limit."""
    from scipy.optimize import minimize

    def stop(_: Floats) -> None:
        if watch.over:
            raise StopIteration

    n = problem.cells
    mu = 1 / problem.limits**2
    start = [np.log(mu)]
    for c in odd:
        degree = np.bincount(problem.first[c], mu[c], n) + np.bincount(problem.second[c], mu[c], n)
        start.append(np.log(np.maximum(degree / degree.max(), 1e-4)))
    y = np.concatenate(start)
    best = cut_limit(problem, odd, y, None)[0]
    for power, iterations in ((50, _often(problem, 150)), (400, _often(problem, 300))):
        done = minimize(
            lambda y, power=power: tuple(-x for x in cut_limit(problem, odd, y, power)),
            y,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-60.0, 30.0)] * len(y),
            callback=stop,
            options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 20},
        )
        y = np.asarray(done.x, dtype=np.float64)
        best = max(best, cut_limit(problem, odd, y, None)[0])
        if watch.over:
            break
    return 2 * float(np.exp(best)) * _ROUNDING


def cut_limit(problem: StrategyProblem, odd: list[Ints], y: Floats, power: float | None) -> tuple[float, Floats]:
    """Return log (h^2 / denominator) at y = (log mu, log gamma of each odd class), and its gradient.

    maxcut(mu) <= lambda_max(Gamma^-1/2 L Gamma^-1/2) sum(gamma) / 4 for every gamma > 0.  The largest eigenvalue is
    smoothed by a power (from above, so the bound stays valid), or exact if that is None.
    """
    n, m = problem.cells, len(problem.first)
    mu = np.exp(y[:m])
    R = problem.root
    s, P = np.linalg.eigh(R @ laplacian(problem, mu) @ R.T)
    s = np.sqrt(np.maximum(s, s[-1] * 1e-15))
    h = float(s.sum())
    K = P.T @ R
    slope = pair_values(problem, (K.T / s) @ K) / h  # of log h^2 by mu
    squares = problem.limits**2
    by_mu, by_gamma, bottom = squares.copy(), [], 0.0
    plain = np.ones(m, dtype=bool)
    for k, c in enumerate(odd):
        plain[c] = False
        gamma = np.exp(y[m + k * n : m + (k + 1) * n])
        part = np.zeros(m)
        part[c] = mu[c]
        q = 1 / np.sqrt(gamma)
        Z = laplacian(problem, part) * q[:, None] * q
        e, E = np.linalg.eigh(Z)
        top, weights = float(e[-1]), np.zeros(n)
        weights[-1] = 1.0
        if power is not None:
            z = (np.maximum(e, 0) / top) ** power
            weights = z / np.maximum(e / top, 1e-300) / z.sum()
            size = float(z.sum() ** (1 / power))
            top, weights = top * size, weights * size
        unit = squares[c[0]] * float(gamma.sum()) / 4
        bottom += top * unit
        Q = (E * weights) @ E.T
        by_mu[c] = unit * pair_values(problem, Q * q[:, None] * q)[c]
        by_gamma.append(top * squares[c[0]] / 4 * gamma - unit * (Q * Z).sum(axis=1))
    bottom += float(mu[plain] @ squares[plain])
    gradient = np.concatenate([(slope - by_mu / bottom) * mu, *(-g / bottom for g in by_gamma)])
    return 2 * float(np.log(h)) - float(np.log(bottom)), gradient
