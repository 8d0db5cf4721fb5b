"""Which records are kept: each by itself, with a probability that is a whole number over 2^62, exactly.

Every record draws 62 bits of its own and is kept if they are below that number, so that the law is exact.  Whatever the
counts are, as many words are drawn as there are records, and every record takes the same steps.
"""

from collections.abc import Callable

import numpy as np

from dxprivacy.exact.arrays import Ints

Entropy = Callable[[int], bytes]

BITS = 62
_CHUNK = 1 << 16


def kept(counts: Ints, chances: Ints, entropy: Entropy) -> Ints:
    """How many of the records of each cell are kept, each with probability chances / 2^62.

    >>> kept(np.array([3, 5]), np.array([0, 1 << 62]), lambda n: bytes(n)).tolist()
    [0, 5]
    """
    if chances.shape != counts.shape or (chances < 0).any() or (chances > 1 << BITS).any():
        raise ValueError("a probability is a whole number from 0 to 2^62 for each cell")
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    out = np.zeros(len(counts), dtype=np.int64)
    for start in range(0, total, _CHUNK):
        places = np.arange(start, min(start + _CHUNK, total))
        cells = np.searchsorted(ends, places, side="right")
        words = np.frombuffer(entropy(8 * len(places)), dtype=np.uint64) >> np.uint64(64 - BITS)
        np.add.at(out, cells, (words.view(np.int64) < chances[cells]).astype(np.int64))
    return out
