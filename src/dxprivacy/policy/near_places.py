"""Places so close to one another that no question should tell them apart.

The criterion, from the policy alone: two places *nearly coincide* if they are less than a twentieth as far apart as
places usually are from the second nearest to them (the median over all places).  The second nearest, so that a list of
which most places stand twice still has a usual distance; places that share their coordinates are told elsewhere.
"""

import numpy as np

from dxprivacy.metrics.place_metrics import Places
from dxprivacy.trees import second_nearest

PART = 20


def nearly_coinciding(places: Places) -> list[tuple[tuple[int, int], float]]:
    """The pairs that nearly coincide and how far apart they are, the closest first; none for fewer than three places.

    >>> from dxprivacy import metrics
    >>> nearly_coinciding(metrics.euclidean([[0, 0], [0, 1], [50, 0], [0, 60]], epsilon_per_unit=1))
    [((0, 1), 1.0)]
    """
    n = places.universe.size
    if n < 3 or not places.embedding.tame:
        return []
    nearest, second = second_nearest(places.embedding)
    every = np.arange(n, dtype=np.int64)
    usual = float(np.median(places.lengths(every, second))) / PART
    lengths = places.lengths(every, nearest)
    near = np.flatnonzero((lengths > 0) & (lengths < usual))
    pairs = zip(every[near].tolist(), nearest[near].tolist(), lengths[near].tolist(), strict=True)
    found = {(min(i, j), max(i, j)): length for i, j, length in pairs}
    return sorted(found.items(), key=lambda item: (item[1], item[0]))
