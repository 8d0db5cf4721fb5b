"""How a small database would be drawn, and whether it can be: decided from public numbers alone (MATH section 6).

*enumeration*   all multisets, streamed: candidates x rows within reach
*answer table*  a dynamic programme over answer vectors: few rows with small numbers, any number of candidates
*rejection*     uniform proposals, kept with their weight: the weights differ by a bounded factor

Refusing only after an attempt would depend on the data.
"""

import math
from dataclasses import dataclass

from dxprivacy.errors import TooLarge
from dxprivacy.wording import digits

AT_ONCE = 2e8  # candidates x rows that take about a second
AT_MOST = 2e9  # and that take some ten seconds
TABLE_STEPS = 3e8  # additions
TABLE_CELLS = 2e7
TABLE_ROUNDS = 1_000_000  # shifts of the table, however small it is
LONG_NUMBERS = 30.0  # so many times slower where counts leave 64 bits
LONGEST_TABLE_BITS = 8_000
REJECTION_EXPONENT = 10.0  # kept at least once in e^10 = 22,000 proposals
MOST_RECORDS = 2_000  # of a small database
CHUNK_NUMBERS = 8_000_000  # numbers that one chunk of an enumeration takes
MOST_CHUNKS = 20_000
MATRIX_NUMBERS = 20_000_000


@dataclass(frozen=True)
class Route:
    """The name of the way, and the natural logarithm of the number of candidates."""

    name: str
    log_candidates: float
    quick: bool = True  # about a second

    @property
    def candidates(self) -> str:
        """Their number in words."""
        return number_of(self.log_candidates)


def number_of(log: float) -> str:
    """A number from its natural logarithm, three digits.

    >>> number_of(math.log(1500)), number_of(71.2)
    ('1,500', '8.35e+30')
    """
    if log < math.log(1e15):
        return digits(round(math.exp(log)) if log < 30 else math.exp(log))
    power = math.floor(log / math.log(10))
    return f"{math.exp(log - power * math.log(10)):.2f}e+{power}"


def route(cells: int, size: int, rows: int, spans: list[int], exponent: float, log_candidates: float) -> Route:
    """The way for N cells, m records, K rows with these ranges on the grid, and this largest exponent of a weight."""
    if size > MOST_RECORDS:
        raise _refusal(log_candidates, [f"{size:,} records are no small database."])
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
    """How many of the m records one chunk of an enumeration runs over.

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
            ("mwem", "answers many questions over many cells"),
        ],
    )
