"""Rejection: uniform proposals, kept with probability exp(-S rate).  For weights that differ by a bounded factor.

How many proposals it takes depends on the data: the plan chooses this route only where e^10 of them are enough on
average, and the documentation says that its time is not constant.
"""

from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.sampling.exact_selection import is_below
from dxprivacy.mechanisms.smalldb.drawn_database import Draw, uniform_multiset

_BITS = 53


def by_rejection(draw: Draw) -> Ints:
    """A small database, exactly from its law."""
    while True:
        members = uniform_multiset(draw.cells, draw.size, draw.entropy)
        units = int.from_bytes(draw.entropy(8), "little") >> (64 - _BITS)
        if is_below(units, _BITS, draw.score(members) * draw.rate, draw.entropy):
            return draw.histogram(members)
