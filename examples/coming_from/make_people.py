"""Simulates people.csv: 1,000 people of five towns, with their ages.

The seed is that of the data; no noise has one.
"""

from pathlib import Path
from random import Random

TOWNS = {"Aldon": 40, "Berry": 25, "Corin": 20, "Dale": 10, "Elm": 5}


def main() -> None:
    chance = Random(2026)
    towns = chance.choices(list(TOWNS), TOWNS.values(), k=1000)
    lines = [f"{town},{min(round(chance.gammavariate(6, 7.5)), 100)}\n" for town in towns]
    Path(__file__).with_name("people.csv").write_text("town,age\n" + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
