import csv
from pathlib import Path

import opendp.prelude as dp

dp.enable_features("contrib")
people = list(csv.DictReader(Path("people.csv").read_text().splitlines()))
towns, ages = [p["town"] for p in people], [int(p["age"]) for p in people]

metric = dp.symmetric_distance()
texts, numbers = dp.vector_domain(dp.atom_domain(T=str)), dp.vector_domain(dp.atom_domain(T=int))

by_town = dp.t.then_count_by_categories(["Aldon", "Berry", "Corin", "Dale", "Elm"], null_category=False)
counts = (texts, metric) >> by_town >> dp.m.then_laplace(scale=1.0)
print("counts", counts(towns), "ε", counts.map(d_in=1))

total = (numbers, metric) >> dp.t.then_clamp((0, 100)) >> dp.t.then_sum() >> dp.m.then_laplace(scale=200.0)
size = (numbers, metric) >> dp.t.then_count() >> dp.m.then_laplace(scale=2.0)
both = dp.c.make_composition([total, size])
above, below = both(ages)
print("mean", above / below, "ε", both.map(d_in=1))

candidates = list(range(101))
median = dp.m.make_private_quantile(numbers, metric, dp.max_divergence(), candidates, alpha=0.5, scale=1.0)
print("median", median(ages), "ε", median.map(d_in=1))
