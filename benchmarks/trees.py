"""Many places: Lipschitz constants by walks over trees against all pairs in numpy, and policies over points files.

Processor time; of 100,000 points the peer looks at one pair in fifty, and its time is multiplied.
"""

import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dxprivacy as dx
from dxprivacy.exact.arrays import Floats
from dxprivacy.metrics import Metric

_BLOCK = 1 << 22


def run() -> list[dict[str, object]]:
    """Load what is loaded once, then measure."""
    _constant(_points(2_000), _smooth(_points(2_000)))
    rows = []
    seconds: dict[tuple[str, int], float] = {}
    for name, query in (("smooth", _smooth), ("rough", _rough)):
        for n, part in ((10_000, 1), (100_000, 50)):
            points = _points(n)
            values = query(points)
            seconds[name, n] = _constant(points, values)
            peer = _all_pairs(points, values, part)
            what = f"Lipschitz constant of a {name} row over {n:,} points, against all pairs in blocks of numpy"
            target = "≥ 8" if n == 10_000 else "≥ 100"
            ours = seconds[name, n]
            rows.append({"what": what, "ours_s": ours, "peer_s": peer, "ratio": peer / ours, "target": target})
        large, megabytes = _alone(name, 1_000_000)
        growth = math.log(large / seconds[name, 10_000]) / math.log(100)
        what = f"growth exponent of that, 10,000 to 1,000,000 points ({megabytes:,.0f} MB at most)"
        first = seconds[name, 10_000]
        rows.append({"what": what, "ours_s": large, "peer_s": first, "ratio": growth, "target": "≤ 1.15, 1,500 MB"})
    rows.append(_sphere())
    return rows + [_policy(n, most) for n, most in ((3_300, 3), (41_000, 20))]


def _points(n: int) -> Floats:
    return np.random.default_rng(n).random((n, 2))


def _smooth(points: Floats) -> Floats:
    return np.sin(5 * points[:, 0]) * np.cos(3 * points[:, 1])


def _rough(points: Floats) -> Floats:
    return np.random.default_rng(7).random(len(points))


def _timed(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


def _constant(points: Floats, values: Floats, make: Callable[..., Metric] = dx.metrics.euclidean) -> float:
    """From coordinates to a certified constant with its pair; the metric is given."""
    metric = make(points, epsilon_per_unit=1)
    return _timed(lambda: dx.sensitivity(values[None], metric))


def _all_pairs(points: Floats, values: Floats, part: int) -> float:
    """Blocks of rows against all columns behind them."""
    n = len(points)
    columns = [np.ascontiguousarray(points[:, k]) for k in range(points.shape[1])]
    rows = max(1, _BLOCK // n)

    def look() -> float:
        best = 0.0
        for start in range(0, n - 1, rows * part):
            some = slice(start, min(start + rows, n))
            d = np.sqrt(sum((c[some, None] - c[None, start:]) ** 2 for c in columns))
            top = np.abs(values[some, None] - values[None, start:])
            with np.errstate(invalid="ignore", divide="ignore"):
                best = max(best, float(np.nanmax(top / d)))
        return best

    return _timed(look) * part


def _alone(name: str, n: int) -> tuple[float, float]:
    """In a process of its own: seconds and megabytes."""
    code = f"from benchmarks import trees; trees.report({name!r}, {n})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), float(out[1])


def report(name: str, n: int) -> None:
    """For `_alone`."""
    query = {"smooth": _smooth, "rough": _rough}[name]
    _constant(_points(2_000), query(_points(2_000)))
    points = _points(n)
    print(_constant(points, query(points)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def _sphere() -> dict[str, object]:
    """Great circles against the plane, for the same points."""
    points = _points(100_000)
    values = _smooth(points)
    plane = _constant(points, values)
    degrees = np.stack([25 + 24 * points[:, 0], -124 + 57 * points[:, 1]], axis=1)
    sphere = _timed(_of_degrees(degrees, values))
    what = "Lipschitz constant over 100,000 points on great circles, against the plane"
    return {"what": what, "ours_s": sphere, "peer_s": plane, "ratio": sphere / plane, "target": "≤ 3"}


def _of_degrees(degrees: Floats, values: Floats) -> Callable[[], object]:
    metric = dx.metrics.great_circle(degrees, epsilon_per_km=1)
    return lambda: dx.sensitivity(values[None], metric)


def _policy(n: int, most: int) -> dict[str, object]:
    """`check`, then a plan of counts by state and a mean; the peer is what may be waited for."""
    rng = np.random.default_rng(n)
    degrees = np.round(np.stack([rng.uniform(25, 49, n), rng.uniform(-124, -67, n)], axis=1), 5)
    state = ((degrees[:, 0] - 25) // 4 * 9 + (degrees[:, 1] + 124) // 6.5).astype(int)
    height = np.round(1000 + 800 * np.sin(degrees[:, 0]) + rng.normal(0, 30, n)).astype(int)
    lines = [f"z{k},{a},{b},S{s:02d},{h}" for k, ((a, b), s, h) in enumerate(zip(degrees, state, height, strict=True))]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "places.csv").write_text("id,latitude,longitude,state,elevation\n" + "\n".join(lines) + "\n")
        policy = Path(folder) / "policy.toml"
        attribute = '[attributes.place]\npoints = "places.csv"\nepsilon = 1\nper = "100 km"\n'
        policy.write_text('title = "places"\ndataset = "places"\n' + attribute)

        def work() -> object:
            loaded = dx.Policy.load(policy)
            loaded.check()
            return dx.plan([dx.count(by="place.state"), dx.mean_of("place.elevation")], loaded.metric, rows=20_000)

        ours = _timed(work)
    what = f"check and plan counts by state and a mean, {n:,} places, against the seconds that may pass"
    return {"what": what, "ours_s": ours, "peer_s": float(most), "ratio": ours / most, "target": "≤ 1"}
