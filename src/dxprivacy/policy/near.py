"""Places so close to one another that no question should tell them apart.

The criterion, from the policy alone: two places *nearly coincide* if they are less than a twentieth as far apart as
places usually are from the second nearest to them (the median over all places).  The second nearest, so that a list of
which most places stand twice still has a usual distance; places that share their coordinates are told elsewhere.
"""

import numpy as np

from dxprivacy.metrics import Places

PART = 20
MOST_PLACES = 5_000  # all pairs are looked at: a few seconds
_BLOCK = 1 << 22


def nearly_coinciding(places: Places) -> list[tuple[tuple[int, int], float]]:
    """The pairs that nearly coincide and how far apart they are, the closest first; none for fewer than three places.

    >>> from dxprivacy import metrics
    >>> nearly_coinciding(metrics.euclidean([[0, 0], [0, 1], [50, 0], [0, 60]], epsilon_per_unit=1))
    [((0, 1), 1.0)]
    """
    n = places.universe.size
    if not 3 <= n <= MOST_PLACES:
        return []
    second = np.zeros(n)
    near: list[tuple[int, int, float]] = []
    every = np.arange(n, dtype=np.int64)
    rows = max(1, _BLOCK // n)
    for start in range(0, n, rows):
        some = every[start : start + rows]
        lengths = places.lengths(np.repeat(some, n), np.tile(every, len(some))).reshape(len(some), n)
        lengths[np.arange(len(some)), some] = np.inf
        second[some] = np.partition(lengths, 1, axis=1)[:, 1]
        nearest = lengths.argmin(axis=1)
        near += zip(some.tolist(), nearest.tolist(), lengths.min(axis=1).tolist(), strict=True)
    usual = float(np.median(second)) / PART
    found = {(min(i, j), max(i, j)): length for i, j, length in near if 0 < length < usual}
    return sorted(found.items(), key=lambda item: (item[1], item[0]))
