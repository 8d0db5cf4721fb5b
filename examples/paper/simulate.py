"""Writes random records that fit a policy: python simulate.py FOLDER people.csv [NUMBER]."""

import csv
import random
import sys
from pathlib import Path

import dxprivacy as dx


def simulate(policy: dx.Policy, target: Path, records: int = 1000) -> None:
    """Each attribute by itself, one entry in a hundred missing."""
    rng = random.Random(2026)
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column for attribute in policy.universe.attributes for column in attribute.reads])
        for _ in range(records):
            row: list[str] = []
            for attribute in policy.universe.attributes:
                entries = _entries(attribute, rng.randrange(attribute.listed))
                row += [""] * len(entries) if rng.random() < 0.01 else entries
            writer.writerow(row)


def _entries(attribute: dx.Attribute, index: int) -> list[str]:
    """How a value stands in the data: places by their id, series column by column."""
    if isinstance(attribute, dx.Points):
        return [attribute.ids[index]]
    if isinstance(attribute, dx.Series):
        return [attribute.entry.label(k) for k in attribute.entries(index)]
    return [attribute.label(index)]


if __name__ == "__main__":
    folder, target, *number = sys.argv[1:]
    simulate(dx.Policy.load(Path(folder) / "policy.toml"), Path(target), *map(int, number))
