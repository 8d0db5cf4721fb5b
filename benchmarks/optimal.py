"""The optimal plan of a hundred queries over ten thousand places, in a process of its own."""

import numpy as np

from benchmarks.figures import Failed, Figure, TooLong, alone, timed, within

POINTS, ROWS = 10_000, 100
LIMIT, MEGABYTES, GAP = 60, 2_000, 1e-6


def run() -> list[Figure]:
    name = f"optimal plan of {ROWS} smooth rows over {POINTS:,} points"
    try:
        done = alone("optimal.plan", POINTS, ROWS, patience=4 * LIMIT)
    except (TooLong, Failed) as error:
        return [Figure(name, None, LIMIT, float("inf"), "≤ 1", note=str(error))]
    seconds, gap = done.told
    return [
        within(name, seconds, LIMIT),
        within(f"{name}: peak memory", done.megabytes, MEGABYTES, "MB"),
        within(f"{name}: gap to the least noise there can be", gap, GAP, ""),
    ]


def plan(points: int, rows: int) -> list[float]:
    """For `alone`: seconds and the gap."""
    import dxprivacy as dx

    rng = np.random.default_rng(points)
    at = rng.uniform(0, 100, (points, 2))
    Q = np.cos(at @ rng.normal(0, 0.05, (2, rows)) + rng.uniform(0, 2 * np.pi, rows)).T  # random plane waves
    dx.plan(Q[:3, :20], dx.metrics.euclidean(at[:20], epsilon_per_unit=1), method="optimal")  # loads all
    metric = dx.metrics.euclidean(at, epsilon_per_unit="0.01")
    took, found = timed(lambda: dx.plan(Q, metric, method="optimal"))
    return [took, float(found.certificate.gap)]


if __name__ == "__main__":
    for figure in run():
        print(figure)
