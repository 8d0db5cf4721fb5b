"""Small worlds of people with several rows, and what is guaranteed to them, worked out by brute force."""

import itertools
import random
from collections import Counter
from fractions import Fraction
from hashlib import md5, sha256

import numpy as np

import dxprivacy as dx

Row = tuple[str, ...]
Person = tuple[Row, ...]


class NoNoise:
    """For whoever wants to see what was counted."""

    def laplace(self, scales):
        return np.zeros(len(scales), dtype=np.int64)


AGE = "[attributes.age]\nintegers = [0, 9]\nepsilon = 0.5\nper = 1\n"
SEX = '[attributes.sex]\nfrom = "person"\nvalues = ["F", "M"]\nepsilon = 0.5\n'


def visits(*attributes: str, max_rows: int, wards: str = '"A", "B"', table: bool = False) -> str:
    """A policy of patients and their visits to wards, perhaps with a table of patients, and further attributes."""
    people = f'[people]\nkey = "patient"\nmax_rows = {max_rows}\n'
    if table:
        people += '[people.table]\ndata = "patients.csv"\nkey = "id"\n'
    ward = f"[attributes.ward]\nvalues = [{wards}]\nepsilon = 1.0\n"
    return f'title = "Visits"\ndataset = "visits"\n{people}{ward}{"".join(attributes)}'


def policy_text(rng: random.Random, max_rows: int) -> str:
    """A policy over one or two attributes with few values, in tenths."""
    presence = f"epsilon_presence = {rng.randint(1, 30) / 10}\n" if rng.random() < 0.4 else ""
    parts = [f'title = "T"\ndataset = "t"\n{presence}[people]\nkey = "who"\nmax_rows = {max_rows}\n']
    for name in ("a", "b")[: rng.choice([1, 1, 2])]:
        kind = rng.choice(["equal", "own", "line", "public"])
        if kind == "line":
            parts.append(f"[attributes.{name}]\nintegers = [0, 1]\nepsilon = {rng.randint(1, 20) / 10}\nper = 1\n")
            continue
        epsilon = {
            "equal": f"{rng.randint(1, 20) / 10}",
            "own": f"{{ x = {rng.randint(1, 20) / 10}, y = {rng.randint(1, 20) / 10} }}",
            "public": "inf" if name == "b" else "0.7",
        }[kind]
        parts.append(f'[attributes.{name}]\nvalues = ["x", "y"]\nepsilon = {epsilon}\n')
    return "".join(parts)


def every_row(universe: dx.Policy) -> list[Row]:
    """All possible rows as texts, `?` for what is no value."""
    texts = [[*a.texts, "?"] if hasattr(a, "values") else ["0", "1", "?"] for a in universe.attributes]
    return list(itertools.product(*texts))


def kept_by_hand(key: str, cells: list[int], max_rows: int) -> Counter[int]:
    """The rule of docs/data.md, read literally."""
    seen: Counter[int] = Counter()
    numbered = []
    for cell in cells:
        seen[cell] += 1
        told = f"{sha256(key.encode()).hexdigest()[:32]}|{cell}|{seen[cell]}"
        numbered.append((md5(told.encode()).hexdigest(), cell))
    return Counter(cell for _, cell in sorted(numbered)[:max_rows])


def apart(metric: dx.metrics.Metric, a: Counter[int], b: Counter[int], max_rows: int) -> tuple[Fraction, Fraction]:
    """The average and the largest distance of the best matching, each by trying all of them."""
    absent = metric.universe.absent
    one, two = ([*x.elements(), *[absent] * (max_rows - x.total())] for x in (a, b))
    ways = [
        [Fraction(metric.exact(i, j)) for i, j in zip(one, way, strict=True)] for way in itertools.permutations(two)
    ]
    return min(sum(way) for way in ways) / max_rows, min(max(way) for way in ways)
