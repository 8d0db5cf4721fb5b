"""What the tests of pictures budget: plans of every kind, and how to look into a specification."""

import dxprivacy as dx

_M = dx.metrics

METRICS = {
    "line": ([[1, 0, 1]], _M.line(3, 1)),
    "standard DP": ([[1, 0, 1], [0, 1, 1]], _M.constant(3, 1)),
    "two elements, strict": ([[1, 0]], _M.constant(2, "0.001")),
    "one element": ([[1]], _M.constant(1, 1)),
    "the same for all": ([[1, 1, 1]], _M.constant(3, 1)),
    "everything public": ([[1, 0, 1]], _M.constant(3, float("inf"))),
    "some differences public": ([[1, 0, 1, 0], [0, 0, 1, 1]], _M.graph([("a", "b"), ("c", "d", 3)])),
    "identical elements": ([[1, 1, 0]], _M.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])),
    "tiny epsilon": ([[1, 0, 1]], _M.line(3, "1e-9")),
    "huge epsilon": ([[1, 0, 1]], _M.line(3, "1e6")),
    "negative entries": ([[-5, 3, 0.5], [1e6, -1e6, 0]], _M.euclidean([[0, 0], [1, 1], [2, 5]], epsilon_per_unit=1)),
    "capped": ([[0, 1, 2, 3]], _M.capped(_M.line(4, 1), 2)),
    "smooth": ([[0, 1, 5]], _M.smooth([[0.0], [1.0], [4.0]], 1, threshold=2)),
    "series": ([[k % 4 for k in range(9)]], _M.series_linf([3, 3], 1)),
    "added and removed": (["count", "table element"], _M.with_absent(_M.line(3, 1), "0.25", max_records=100)),
    "unicode": ("count by element", _M.constant(dx.Universe.listed(["Zürich", "東京", "القاهرة", "a\"b<c>&d'"]), 1)),
}


def marks(picture, key):
    """All values of a key, anywhere."""
    return list(_found(picture.to_dict(), key))


def _found(thing, key):
    if isinstance(thing, dict):
        for k, v in thing.items():
            if k == key:
                yield v
            yield from _found(v, key)
    elif isinstance(thing, list):
        for v in thing:
            yield from _found(v, key)


def numbers(picture, field=None):
    """The numbers in the data, of one field or of all."""
    rows = [row for values in marks(picture, "values") for row in values if isinstance(row, dict)]
    return [v for row in rows for k, v in row.items() if field in (None, k) and isinstance(v, (int, float))]


def texts(picture):
    """The words in the data."""
    rows = [row for values in marks(picture, "values") for row in values if isinstance(row, dict)]
    return {v for row in rows for v in row.values() if isinstance(v, str)}
