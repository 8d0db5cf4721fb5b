"""A table like that of the RAND Health Insurance Experiment, invented: 1,500 people with a row for each year."""

import csv
import random
from pathlib import Path

PEOPLE = 1_500


def make(path: Path, seed: int = 1974) -> Path:
    """Write the years as CSV."""
    rng = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["zper", "year", "female", "xage", "mdvis", "income"])
        for k in range(PEOPLE):
            female, age, income = rng.randint(0, 1), rng.uniform(0, 60), max(0.0, rng.gauss(9_000, 5_000))
            often = rng.gammavariate(1, 2 + 0.02 * age + female)
            for year in range(1, rng.choice([3, 3, 5]) + 1):
                visits = int(rng.expovariate(1 / (often + 0.1)))
                writer.writerow([125_000 + k, year, female, f"{age + year - 1:.5f}", visits, f"{income:.2f}"])
    return path


if __name__ == "__main__":
    print(make(Path(__file__).with_name("health.csv")))
