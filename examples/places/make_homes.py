"""Homes in twelve invented towns, in a square of 400 km: `make(path)` writes them, always the same."""

import csv
import random
from pathlib import Path

SIDE, TOWNS, HOMES, SPREAD = 400.0, 12, 20_000, 9.0


def make(path: Path) -> Path:
    """A row for each home: where it lies, in kilometers from a corner."""
    rng = random.Random(4)
    towns = [(rng.uniform(40, 360), rng.uniform(40, 360)) for _ in range(TOWNS)]
    sizes = [rng.gammavariate(0.7, 1) for _ in towns]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y"])
        for _ in range(HOMES):
            x, y = rng.choices(towns, sizes)[0]
            spot = [min(max(rng.gauss(middle, SPREAD), 0.0), SIDE) for middle in (x, y)]
            writer.writerow([round(c, 3) for c in spot])
    return path


if __name__ == "__main__":
    print(make(Path("homes.csv")))
