import csv
from pathlib import Path

from diffprivlib import BudgetAccountant, tools
from diffprivlib.utils import BudgetError

people = list(csv.DictReader(Path("people.csv").read_text().splitlines()))
towns = ["Aldon", "Berry", "Corin", "Dale", "Elm"]
codes, ages = [towns.index(p["town"]) for p in people], [int(p["age"]) for p in people]

accountant = BudgetAccountant(epsilon=1, delta=0)
tools.histogram(codes, epsilon=0.5, bins=5, range=(0, 5), accountant=accountant)
print("left:", accountant.remaining())
tools.mean(ages, epsilon=0.3, bounds=(0, 100), accountant=accountant)
print("left:", accountant.remaining())
try:
    tools.median(ages, epsilon=0.3, bounds=(0, 100), accountant=accountant)
except BudgetError as error:
    print("refused:", error)
tools.median(ages, epsilon=0.2, bounds=(0, 100), accountant=accountant)
print("left:", accountant.remaining())
