"""How large a small database must be, and how well it answers: the paper's numbers, corrected.

K rows over N cells, each of range 1 (`max_i q_i - min_i q_i`); x has n records and y has m, compared by q(x) and
(n/m) q(y).

*Size* (Theorem 9, corrected).  The mean of m records drawn from x is off by more than alpha in a row with probability
at most 2 exp(-2 m alpha^2) (Hoeffding); for K rows together that is below 1 if m > ln(2K) / (2 alpha^2), and then
some y is right within alpha n in all rows.  The printed m = ln K / alpha^2 is 0 for one row.

*Error* (Proposition 1, corrected).  Theorem 4 over all C(N + m - 1, m) databases y: with probability 1 - beta the
largest error is at most `bias + alpha n + 2c (ln C(N + m - 1, m) + ln 1/beta)`.

*With gamma* (Theorem 6, corrected).  The mechanism at alpha/2 has m <= (2 ln(2K) + 1) / alpha^2 for alpha <= 1, and
ln C(N + m - 1, m) <= m ln N, so that the error is at most alpha n as soon as
`alpha^3 n >= c gamma`, `gamma = (8 ln(2K) + 4) ln N + 4 ln 1/beta`.  For alpha > 1 the step fails, and nothing is said.
"""

import math

from dxprivacy.errors import UsageError


def database_size(alpha: float, rows: int) -> int:
    """The least m that guarantees alpha: `floor(ln(2K) / (2 alpha^2)) + 1`.

    >>> database_size(0.5, 1), database_size(0.2, 10)
    (2, 38)
    """
    require_alpha(alpha)
    if rows < 1:
        raise UsageError("ask at least one question")
    return math.floor(math.log(2 * rows) / (2 * alpha * alpha)) + 1


def alpha_of(size: int, rows: int) -> float:
    """The alpha that m records guarantee: `sqrt(ln(2K) / (2m))`.

    For every larger alpha some y keeps it, and there are finitely many y, so one keeps all of them and this too.

    >>> round(alpha_of(38, 10), 4)
    0.1985
    """
    return math.sqrt(math.log(2 * rows) / (2 * size))


def log_databases(cells: int, size: int) -> float:
    """ln C(N + m - 1, m): how many multisets of m records there are.

    >>> round(log_databases(50, 38) / math.log(10), 1)
    24.8
    """
    return math.lgamma(cells + size) - math.lgamma(size + 1) - math.lgamma(cells)


def error_bound(n: int, alpha: float, c: float, log_candidates: float, beta: float) -> float:
    """`alpha n + 2c (ln |R| + ln 1/beta)`, for rows of range 1."""
    return alpha * n + 2 * c * (log_candidates + math.log(1 / beta))


def gamma_of(cells: int, rows: int, beta: float) -> float:
    """`(8 ln(2K) + 4) ln N + 4 ln 1/beta`."""
    return (8 * math.log(2 * rows) + 4) * math.log(cells) + 4 * math.log(1 / beta)


def alpha_by_gamma(c: float, n: int, gamma: float) -> float | None:
    """The alpha with alpha^3 = c gamma / n, at which the error is at most alpha n; None where that is above 1.

    >>> round(alpha_by_gamma(1.0, 1000, 8.0), 9), alpha_by_gamma(1.0, 4, 8.0)
    (0.2, None)
    """
    alpha = float((c * gamma / n) ** (1 / 3))
    return alpha if alpha <= 1 else None


def require_alpha(alpha: object) -> float:
    """A number in (0, 1]."""
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not 0 < alpha <= 1:
        raise UsageError(f"alpha is {str(alpha)[:40]}; it lies above 0 and is at most 1", hints=["alpha=0.5"])
    return float(alpha)


def require_beta(beta: object) -> float:
    """A number between 0 and 1."""
    if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 0 < beta < 1:
        raise UsageError(f"beta is {str(beta)[:40]}; a probability between 0 and 1 is needed", hints=["beta=0.05"])
    return float(beta)
