"""Names for the arrays that we pass around."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dxprivacy.errors import NotCertified
from dxprivacy.exact.rounding import Exact

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

A = TypeVar("A", bound="np.ndarray[Any, Any]")


def read_only(array: A) -> A:
    """The same numbers, which nobody changes by mistake: what was certified for them stays true.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.setflags(write=False)
    return view


# -- Nothing that is no number may pass for a small one ----------------------------------------------------------------
# `max(0.0, nan)` is 0.0, and so a loss of "infinitely often nothing" once became a guarantee of ε = 0.  Where numbers
# decide about privacy, an operation that gives no number is an error, and the largest of several is taken by `highest`.


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


# -- Frozen values that differ in few fields, by the hundred thousand --------------------------------------------------


V = TypeVar("V")


def changed(value: V, **fields: Any) -> V:
    """The same frozen value with other fields; `dataclasses.replace` calls the constructor, ten times as slow.

    For plain values only: nothing is checked, and nothing remembered may depend on the fields.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int
    >>> changed(Point(1, 2), y=5)
    Point(x=1, y=5)
    """
    other = object.__new__(type(value))
    kind: Any = type(value)
    for name in _names(kind):  # one by one: a dictionary as a whole would take three times the memory
        _put(other, name, fields[name] if name in fields else getattr(value, name))
    return other


_put = object.__setattr__


@lru_cache(maxsize=64)
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))
