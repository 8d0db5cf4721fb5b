"""Names for the arrays that we pass around."""

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

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
