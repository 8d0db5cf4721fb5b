"""Policies over files of places: `dxp check`, then `dxp plan` of counts by state and a mean."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.commands import Took, judged, took
from benchmarks.figures import Figure

QUERIES = ("count by home.state", "mean home.elevation")
SIZES = ((3_300, 3), (41_000, 20), (400_000, 200))


def run() -> list[Figure]:
    figures = []
    for places, limit in SIZES:
        with tempfile.TemporaryDirectory() as here:
            policy = write_places(Path(here), places)
            done = both(policy, limit)
        figures += judged(f"check and plan counts by state and a mean, {places:,} places", done, limit)
        if done.megabytes is not None:
            figures.append(Figure(f"that: peak memory, {places:,} places", done.megabytes, None, None, unit="MB"))
    return figures


def both(policy: Path, limit: float) -> Took:
    """The seconds of both commands together, the memory of the larger one."""
    check = took("check", policy, patience=2 * limit + 10)
    if check.seconds is None:
        return check
    out = policy.parent / "plan.json"
    plan = took("plan", policy, *QUERIES, "--n-records", "20000", "--out", out, patience=2 * limit + 10)
    if plan.seconds is None:
        return plan
    return Took(check.seconds + plan.seconds, max(check.megabytes or 0, plan.megabytes or 0))


def write_places(folder: Path, places: int) -> Path:
    """Places at random between the coasts, in states of a grid, with heights that change smoothly but for a little."""
    rng = np.random.default_rng(places)
    degrees = np.round(np.stack([rng.uniform(25, 49, places), rng.uniform(-124, -67, places)], axis=1), 5)
    state = ((degrees[:, 0] - 25) // 4 * 9 + (degrees[:, 1] + 124) // 6.5).astype(int)
    height = np.round(1000 + 800 * np.sin(degrees[:, 0]) + rng.normal(0, 30, places)).astype(int)
    lines = [f"z{k},{a},{b},S{s:02d},{h}" for k, ((a, b), s, h) in enumerate(zip(degrees, state, height, strict=True))]
    (folder / "places.csv").write_text("id,latitude,longitude,state,elevation\n" + "\n".join(lines) + "\n")
    policy = folder / "policy.toml"
    attribute = '[attributes.home]\npoints = "places.csv"\nepsilon = 1\nper = "100 km"\n'
    policy.write_text('title = "places"\ndataset = "places"\n' + attribute)
    return policy


if __name__ == "__main__":
    for figure in run():
        print(figure)
