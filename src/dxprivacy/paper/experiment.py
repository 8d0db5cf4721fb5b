"""`Experiment`: independent pieces that are measured in any order and any process, and the outcome of all of them.

A piece depends on the settings and its own arguments only. So results depend neither on the number of processes nor on
the selected figures.
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
    """The number of universes, and the seed of all random numbers.

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
        """The number of random queries for each universe, in experiments where queries are cheap."""
        return 200 if self.quick else 1000

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for the manifest."""
        return {"universes": self.universes, "seed": self.seed, "quick": self.quick}

    def points(self, universe: int) -> Floats:
        """Return a universe: 50 points, uniform in a square of 100 by 100."""
        return np.random.default_rng([self.seed, _POINTS, universe]).uniform(0, SIDE, (SIZE, 2))

    def random(self, universe: int, purpose: int = 0) -> np.random.Generator:
        """Return the generator of a universe's random queries; each purpose has an independent one."""
        return np.random.default_rng([self.seed, _QUERIES, universe, purpose])

    def uniform_queries(self, universe: int) -> Floats:
        """Return the random queries of Fig. 1b, 3 and 4: coefficients uniform in [0, 1]."""
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
        """Return a table of any sequences."""
        return cls(tuple(columns), tuple(tuple(row) for row in rows))

    def to_csv(self) -> str:
        """Return CSV text with seven significant digits, which hides rounding differences between machines.

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
    """The result of an experiment: the plotted numbers, the picture, the finding in words, and its main numbers."""

    table: ResultTable
    picture: Picture
    found: str
    facts: dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """One figure: its question, the paper's claim, and functions that measure and draw it."""

    name: str
    title: str
    query: str
    claim: str  # the paper's claim; empty if it has none
    pieces: Callable[[Settings], Sequence[Any]]
    measure: Callable[[Settings, Any], Any]
    conclude: Callable[[Settings, Sequence[Any]], ExperimentOutcome]

    def run(self, settings: Settings) -> ExperimentOutcome:
        """Measure all pieces in this process and return the outcome."""
        return self.conclude(settings, [self.measure(settings, piece) for piece in self.pieces(settings)])


def experiment(name: str) -> Experiment:
    """Return the experiment of a figure."""
    module = import_module(f"dxprivacy.paper.{next(f.module for f in FIGURES if f.name == name)}")
    found: Experiment = next(e for e in module.EXPERIMENTS if e.name == name)
    return found


def measure(name: str, settings: Settings, piece: Any) -> Any:
    """Measure one piece of one figure; called in worker processes."""
    return experiment(name).measure(settings, piece)


def each_universe(settings: Settings) -> Sequence[int]:
    """Return one piece per universe."""
    return range(settings.universes)
