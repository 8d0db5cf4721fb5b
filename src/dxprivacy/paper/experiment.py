"""What an experiment is: pieces that can be measured anywhere in any order, and what follows from all of them.

A piece depends on the settings and its own arguments alone, so that results depend neither on the number of processes
nor on which figures were asked for.
"""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.output.charts import Picture
from dxprivacy.paper.figures import FIGURES

QUICK, FULL = 20, 200  # universes
MOST = 100_000
SEED = 2020
_POINTS, _QUERIES = 1, 2  # streams of random numbers
SIZE, SIDE = 50, 100.0  # the paper's N, and the square it draws points from


@dataclass(frozen=True)
class Settings:
    """How much to draw, and from which seed.

    >>> Settings(universes=3).points(0).shape
    (50, 2)
    """

    universes: int = FULL
    seed: int = SEED
    quick: bool = False

    def __post_init__(self) -> None:
        _whole("universes", self.universes, 1, MOST)
        _whole("seed", self.seed, 0, 2**63 - 1)

    @property
    def queries(self) -> int:
        """Random queries for each universe, where they are cheap."""
        return 200 if self.quick else 1000

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {"universes": self.universes, "seed": self.seed, "quick": self.quick}

    def points(self, universe: int) -> Floats:
        """A universe: 50 points, uniform in a square of 100 by 100."""
        return np.random.default_rng([self.seed, _POINTS, universe]).uniform(0, SIDE, (SIZE, 2))

    def random(self, universe: int, purpose: int = 0) -> np.random.Generator:
        """A source of random queries for a universe, of its own for each purpose."""
        return np.random.default_rng([self.seed, _QUERIES, universe, purpose])

    def uniform_queries(self, universe: int) -> Floats:
        """The random queries of Fig. 1b, 3 and 4: coefficients uniform in [0, 1]."""
        return self.random(universe).uniform(0, 1, (self.queries, SIZE))


def _whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{name} is {value!r}; a whole number from {least} to {most} is needed")


@dataclass(frozen=True)
class ResultTable:
    """The plotted numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> "ResultTable":
        """Of any sequences."""
        return cls(tuple(columns), tuple(tuple(row) for row in rows))

    def to_csv(self) -> str:
        """As text: seven significant digits, so that roundings of another machine do not show.

        >>> ResultTable.of(["K", "gain"], [(1, 2.5), (2, 1 / 3)]).to_csv()
        'K,gain\\n1,2.5\\n2,0.3333333\\n'
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([[_cell(x) for x in row] for row in self.rows])
        return out.getvalue()


def _cell(x: Any) -> str:
    if x is None:
        return ""
    if isinstance(x, (float, np.floating)):
        return f"{float(x):.7g}" if math.isfinite(x) else str(float(x))
    return str(x)


@dataclass(frozen=True)
class ExperimentOutcome:
    """What came out: the plotted numbers, the picture, our figure in words, and the figures it rests on by name."""

    table: ResultTable
    picture: Picture
    found: str
    facts: dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """One figure: what it asks, what the paper says, how it is measured and drawn."""

    name: str
    title: str
    query: str
    claim: str  # of the paper; empty where it has none
    pieces: Callable[[Settings], Sequence[Any]]
    measure: Callable[[Settings, Any], Any]
    conclude: Callable[[Settings, Sequence[Any]], ExperimentOutcome]

    def run(self, settings: Settings) -> ExperimentOutcome:
        """Everything, here and now."""
        return self.conclude(settings, [self.measure(settings, piece) for piece in self.pieces(settings)])


def experiment(name: str) -> Experiment:
    """The experiment of a figure."""
    module = import_module(f"dxprivacy.paper.{next(f.module for f in FIGURES if f.name == name)}")
    found: Experiment = next(e for e in module.EXPERIMENTS if e.name == name)
    return found


def measure(name: str, settings: Settings, piece: Any) -> Any:
    """One piece of one figure, for another process."""
    return experiment(name).measure(settings, piece)


def each_universe(settings: Settings) -> Sequence[int]:
    """A piece for each universe."""
    return range(settings.universes)
