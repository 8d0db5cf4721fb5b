"""Routes for drawing a small database, and whether one is feasible, decided from public numbers only.

*enumeration*   all multisets, streamed, if candidates x rows are few enough
*answer table*  dynamic programming over answer vectors: few rows with small numbers, any number of candidates
*rejection*     uniform proposals, accepted with their weight, if the weights differ by a bounded factor

A refusal after an attempt would depend on the data.
"""

import math
from dataclasses import dataclass

from dxprivacy.errors import TooLarge, UsageError
from dxprivacy.wording import digits

# -- The size of a small database and its error: the paper's numbers, corrected ----------------------------------------
# There are K rows over N possible records, each of range 1 (`max_i q_i - min_i q_i`). x has n records and y has m; they
# are compared by q(x) and (n/m) q(y).
#
# *Size* (Theorem 9, corrected). The mean of m records drawn from x has an error above alpha in a row with probability
# at most 2 exp(-2 m alpha^2) (Hoeffding). For K rows together that is below 1 if m > ln(2K) / (2 alpha^2), and then
# some y is within alpha n in all rows. The printed m = ln K / alpha^2 is 0 for one row.
#
# *Error* (Proposition 1, corrected). Apply Theorem 4 to all C(N + m - 1, m) databases y: with probability 1 - beta the
# largest error is at most `bias + alpha n + 2c (ln C(N + m - 1, m) + ln 1/beta)`.
#
# *With gamma* (Theorem 6, corrected). The mechanism at alpha/2 has m <= (2 ln(2K) + 1) / alpha^2 for alpha <= 1, and ln
# C(N + m - 1, m) <= m ln N. So the error is at most alpha n as soon as `alpha^3 n >= c gamma`, where `gamma = (8 ln(2K)
# + 4) ln N + 4 ln 1/beta`. For alpha > 1 the step fails, and no statement is made.


def database_size(alpha: float, rows: int) -> int:
    """Return the least m that guarantees alpha: `floor(ln(2K) / (2 alpha^2)) + 1`.

    >>> database_size(0.5, 1), database_size(0.2, 10)
    (2, 38)
    """
    require_alpha(alpha)
    if rows < 1:
        raise UsageError("ask at least one query")
    return math.floor(math.log(2 * rows) / (2 * alpha * alpha)) + 1


def alpha_of(size: int, rows: int) -> float:
    """Return the alpha that m records guarantee: `sqrt(ln(2K) / (2m))`.

    For every larger alpha some y satisfies it. There are finitely many y, so one of them satisfies all, and this one,
    too.

    >>> round(alpha_of(38, 10), 4)
    0.1985
    """
    return math.sqrt(math.log(2 * rows) / (2 * size))


def log_databases(cells: int, size: int) -> float:
    """Return ln C(N + m - 1, m), the logarithm of the number of multisets of m records.

    >>> round(log_databases(50, 38) / math.log(10), 1)
    24.8
    """
    return math.lgamma(cells + size) - math.lgamma(size + 1) - math.lgamma(cells)


def error_bound(n: int, alpha: float, c: float, log_candidates: float, beta: float) -> float:
    """Return `alpha n + 2c (ln |R| + ln 1/beta)`, for rows of range 1."""
    return alpha * n + 2 * c * (log_candidates + math.log(1 / beta))


def gamma_of(cells: int, rows: int, beta: float) -> float:
    """Return `(8 ln(2K) + 4) ln N + 4 ln 1/beta`."""
    return (8 * math.log(2 * rows) + 4) * math.log(cells) + 4 * math.log(1 / beta)


def alpha_by_gamma(c: float, n: int, gamma: float) -> float | None:
    """Return the alpha with alpha^3 = c gamma / n, at which the error is at most alpha n; None if it is above 1.

    >>> round(alpha_by_gamma(1.0, 1000, 8.0), 9), alpha_by_gamma(1.0, 4, 8.0)
    (0.2, None)
    """
    alpha = float((c * gamma / n) ** (1 / 3))
    return alpha if alpha <= 1 else None


def require_alpha(alpha: object) -> float:
    """Return alpha as a float in (0, 1], or raise."""
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not 0 < alpha <= 1:
        raise UsageError(f"alpha is {str(alpha)[:40]}; it lies above 0 and is at most 1", hints=["alpha=0.5"])
    return float(alpha)


def require_beta(beta: object) -> float:
    """Return beta as a float between 0 and 1, or raise."""
    if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 0 < beta < 1:
        raise UsageError(f"beta is {str(beta)[:40]}; a probability between 0 and 1 is needed", hints=["beta=0.05"])
    return float(beta)


# -- The choice of a route ---------------------------------------------------------------------------------------------


AT_ONCE = 2e8  # candidates x rows in about a second
AT_MOST = 2e9  # candidates x rows in about ten seconds
TABLE_STEPS = 3e8  # additions
TABLE_CELLS = 2e7
TABLE_ROUNDS = 1_000_000  # shifts of the table, regardless of its size
LONG_NUMBERS = 30.0  # slowdown if counts exceed 64 bits
LONGEST_TABLE_BITS = 8_000
REJECTION_EXPONENT = 10.0  # accepted at least once in e^10 = 22,000 proposals
MOST_RECORDS = 2_000  # of a small database
CHUNK_NUMBERS = 8_000_000  # numbers in one chunk of an enumeration
MOST_CHUNKS = 20_000
MATRIX_NUMBERS = 20_000_000


@dataclass(frozen=True)
class Route:
    """The name of a route, and the natural logarithm of the number of candidates."""

    name: str
    log_candidates: float
    quick: bool = True  # about a second

    @property
    def candidates(self) -> str:
        """The number of candidates as text."""
        return number_of(self.log_candidates)


def number_of(log: float) -> str:
    """Format a number, given its natural logarithm, with three digits.

    >>> number_of(math.log(1500)), number_of(71.2)
    ('1,500', '8.35e+30')
    """
    if log < math.log(1e15):
        return digits(round(math.exp(log)) if log < 30 else math.exp(log))
    power = math.floor(log / math.log(10))
    return f"{math.exp(log - power * math.log(10)):.2f}e+{power}"


def route(cells: int, size: int, rows: int, spans: list[int], exponent: float, log_candidates: float) -> Route:
    """Return the route for N possible records, m records, K rows with these ranges, and the largest exponent of a
    weight.
    """
    if size > MOST_RECORDS:
        raise _refusal(log_candidates, [f"{size:,} records are too many for a small database."])
    work = log_candidates + math.log(rows)
    if not _chunks_fit(cells, size, rows):
        work = math.inf
    if work <= math.log(AT_ONCE):
        return Route("enumeration", log_candidates)
    if _table_fits(cells, size, spans, log_candidates):
        return Route("answer table", log_candidates)
    if exponent <= REJECTION_EXPONENT:
        return Route("rejection", log_candidates)
    if work <= math.log(AT_MOST):
        return Route("enumeration", log_candidates, quick=False)
    raise _refusal(log_candidates, [])


def tail_length(cells: int, size: int, rows: int, numbers: int = CHUNK_NUMBERS) -> int:
    """Return how many of the m records one chunk of an enumeration runs over.

    >>> tail_length(10, 3, 2), tail_length(100_000, 3, 2)
    (3, 1)
    """
    length = 1
    while length < size and math.comb(cells + length, length + 1) * (rows + length + 1) <= numbers:
        length += 1
    return length


def _chunks_fit(cells: int, size: int, rows: int) -> bool:
    if cells * rows > MATRIX_NUMBERS:
        return False
    head = size - tail_length(cells, size, rows)
    return math.lgamma(cells + head) - math.lgamma(head + 1) - math.lgamma(cells) <= math.log(MOST_CHUNKS) + 1e-6


def _table_fits(cells: int, size: int, spans: list[int], log_candidates: float) -> bool:
    if cells * size > TABLE_ROUNDS or cells * len(spans) > MATRIX_NUMBERS:
        return False
    vectors = math.log(size + 1) + sum(math.log(span * size + 1) for span in spans)
    slow = log_candidates > 62 * math.log(2)
    if log_candidates > LONGEST_TABLE_BITS * math.log(2) or vectors > math.log(TABLE_CELLS / (10 if slow else 1)):
        return False
    return math.exp(vectors) * cells * (LONG_NUMBERS if slow else 1) <= TABLE_STEPS


def _refusal(log_candidates: float, details: list[str]) -> TooLarge:
    return TooLarge(
        f"{number_of(log_candidates)} small databases are too many to choose among exactly",
        where="smalldb",
        details=[*details, "Nothing spent, no data read."],
        hints=[
            ("alpha=0.5", "a larger alpha makes them fewer"),
            ("mwem", "answers many queries over many possible records"),
        ],
    )
