"""Many places: Lipschitz constants by walks over trees against all pairs in numpy.

Processor time; of 100,000 points the peer looks at one pair in fifty, and its time is multiplied.
"""

import math
from collections.abc import Callable

import numpy as np

import dxprivacy as dx
from benchmarks.figures import Figure, alone, faster, seconds, within
from dxprivacy.exact.arrays import Floats
from dxprivacy.metrics import Metric

_BLOCK = 1 << 22


def run() -> list[Figure]:
    """Load what is loaded once, then measure."""
    constant(points_of(2_000), smooth(points_of(2_000)))
    figures = []
    for name, query in (("smooth", smooth), ("rough", rough)):
        small = 0.0
        for n, part, times, target in ((10_000, 1, 5, "≥ 8"), (100_000, 50, 3, "≥ 100")):
            points = points_of(n)
            values = query(points)
            ours = min(constant(points, values) for _ in range(times))
            small = small or ours
            what = f"Lipschitz constant of a {name} row over {n:,} points, against all pairs in blocks of numpy"
            figures.append(faster(what, ours, all_pairs(points, values, part), target))
        large = alone("trees.report", name, 1_000_000)
        growth = math.log(large.told / small) / math.log(100)
        what = f"growth exponent of a {name} row's constant, 10,000 to 1,000,000 points"
        figures.append(Figure(what, large.told, small, growth, "≤ 1.15"))
        what = f"Lipschitz constant of a {name} row over 1,000,000 points: peak memory"
        figures.append(within(what, large.megabytes, 1_500, "MB"))
    return [*figures, _sphere()]


def points_of(n: int) -> Floats:
    return np.random.default_rng(n).random((n, 2))


def smooth(points: Floats) -> Floats:
    return np.sin(5 * points[:, 0]) * np.cos(3 * points[:, 1])


def rough(points: Floats) -> Floats:
    return np.random.default_rng(7).random(len(points))


def constant(points: Floats, values: Floats, make: Callable[..., Metric] = dx.metrics.euclidean) -> float:
    """From coordinates to a certified constant with its pair; the metric is given."""
    metric = make(points, epsilon_per_unit=1)
    return seconds(lambda: dx.sensitivity(values[None], metric))


def all_pairs(points: Floats, values: Floats, part: int, block: int = _BLOCK) -> float:
    """Blocks of rows against all columns behind them, so many pairs a block."""
    n = len(points)
    columns = [np.ascontiguousarray(points[:, k]) for k in range(points.shape[1])]
    rows = max(1, block // n)

    def look() -> float:
        best = 0.0
        for start in range(0, n - 1, rows * part):
            some = slice(start, min(start + rows, n))
            d = np.sqrt(sum((c[some, None] - c[None, start:]) ** 2 for c in columns))
            top = np.abs(values[some, None] - values[None, start:])
            with np.errstate(invalid="ignore", divide="ignore"):
                best = max(best, float(np.nanmax(top / d)))
        return best

    return seconds(look) * part


def report(name: str, n: int) -> float:
    """For `alone`: the seconds of one constant."""
    query = {"smooth": smooth, "rough": rough}[name]
    constant(points_of(2_000), query(points_of(2_000)))
    points = points_of(n)
    return constant(points, query(points))


def _sphere() -> Figure:
    """Great circles against the plane, for the same points."""
    points = points_of(100_000)
    values = smooth(points)
    plane = min(constant(points, values) for _ in range(3))
    degrees = np.stack([25 + 24 * points[:, 0], -124 + 57 * points[:, 1]], axis=1)
    sphere = min(seconds(_of_degrees(degrees, values)) for _ in range(3))
    what = "Lipschitz constant over 100,000 points on great circles, against the plane"
    return Figure(what, sphere, plane, sphere / plane, "≤ 3")


def _of_degrees(degrees: Floats, values: Floats) -> Callable[[], object]:
    metric = dx.metrics.great_circle(degrees, epsilon_per_km=1)
    return lambda: dx.sensitivity(values[None], metric)


if __name__ == "__main__":
    for figure in run():
        print(figure)
