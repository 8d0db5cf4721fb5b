import csv
from pathlib import Path

from diffprivlib import tools

people = list(csv.DictReader(Path("people.csv").read_text().splitlines()))
ages = [int(p["age"]) for p in people]
print(tools.mean(ages, epsilon=1, bounds=(0, 100)))
