"""The small case of synthesis: 80 cells (2 x 2 x 2 x 10), random boxes, random tables of 10,000 records."""

import numpy as np

from dxprivacy.queries.asking import count, gather
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

BOXES = Universe(
    [Values(name=n, values=("p", "q"), has_other=False) for n in "abc"]
    + [Integers(name="v", low=0, high=9, has_other=False)]
)
RECORDS = 10_000


def random_boxes(rng, number=100):
    out = []
    for _ in range(number):
        where = {}
        for name in "abc":
            first, last = sorted(rng.integers(0, 2, 2).tolist())
            where[name] = ["p", "q"][first : last + 1]
        where["v"] = tuple(sorted(rng.integers(0, 10, 2).tolist()))
        out.append(count(**where))
    return gather(*out)


def random_table(rng):
    return rng.multinomial(RECORDS, rng.dirichlet(np.full(BOXES.cells, 0.5)))
