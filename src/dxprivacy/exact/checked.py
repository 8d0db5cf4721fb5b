"""Nothing that is no number may pass for a small one.

`max(0.0, nan)` is 0.0, and so a loss of "infinitely often nothing" once became a guarantee of ε = 0.  Where numbers
decide about privacy, an operation that gives no number is an error, and the largest of several is taken by `highest`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.rounding import Exact

Value = TypeVar("Value", bound=Exact)


def highest(*values: Value) -> Value:
    """The largest; none of them may be no number.

    >>> highest(1.0, 2.5)
    2.5
    """
    if any(value != value for value in values):
        raise _no_number()
    return max(values)


@contextmanager
def numbers_only() -> Iterator[None]:
    """Within it, 0 times infinity, infinity less infinity and their kin stop the calculation."""
    try:
        with np.errstate(invalid="raise"):
            yield
    except FloatingPointError:
        raise _no_number() from None


def _no_number() -> NotCertified:
    return NotCertified("a loss or a distance is no number", hints=["this is a bug: please report it"])
