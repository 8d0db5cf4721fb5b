"""Writes people.csv: 2,000 simulated people, some of them with missing or impossible entries."""

import csv
import random
from pathlib import Path


def main() -> None:
    rng = random.Random(2026)
    with (Path(__file__).parent / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", "sex", "native", "age", "children"])
        for person in range(1, 2001):
            sex = rng.choices(["M", "F", ""], [49, 50, 1])[0]
            native = rng.choices(["Y", "N", "unknown"], [80, 19, 1])[0]
            age = rng.choices([int(rng.triangular(0, 100, 35)), 999], [99, 1])[0]
            writer.writerow([person, sex, native, age, min(8, int(rng.expovariate(0.7)))])


if __name__ == "__main__":
    main()
