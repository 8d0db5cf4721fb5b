import csv
from pathlib import Path

from diffprivlib import tools

people = list(csv.DictReader(Path("people.csv").read_text().splitlines()))
towns = ["Aldon", "Berry", "Corin", "Dale", "Elm"]
codes = [towns.index(p["town"]) for p in people]
counts, _ = tools.histogram(codes, epsilon=1, bins=5, range=(0, 5))
print(dict(zip(towns, counts.tolist(), strict=True)))
