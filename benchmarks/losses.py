"""Whether a ratio was lost: worse than 1.5 times its baseline, best of three, twice in a row.

A ratio is ours over a reference of the same run, so that less is better; one slow moment of the machine is no loss.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

FACTOR = 1.5
TIMES = 3
ROUNDS = 2
BASELINE = Path(__file__).with_name("baseline.json")

Measure = Callable[[], float | None]


@dataclass(frozen=True)
class Verdict:
    """The best ratio of each round, against the baseline."""

    name: str
    baseline: float | None
    rounds: tuple[float | None, ...]

    @property
    def ratio(self) -> float | None:
        """The best that was seen; None where it could not be measured here."""
        return min((r for r in self.rounds if r is not None), default=None)

    @property
    def lost(self) -> bool:
        """Worse than the factor allows, in every round; what has no baseline yet cannot be lost."""
        if self.baseline is None or not self.rounds or self.ratio is None:
            return False
        return self.ratio > FACTOR * self.baseline and len(self.rounds) >= ROUNDS


def judge(name: str, measure: Measure, baseline: float | None, *, times: int = TIMES, rounds: int = ROUNDS) -> Verdict:
    """Measured until one round is good enough, at most so many rounds.

    >>> judge("steady", lambda: 1.0, 1.0).lost, judge("lost", lambda: 1.6, 1.0).lost
    (False, True)
    """
    found: list[float | None] = []
    for _ in range(rounds):
        best = _best(measure, times, baseline)
        found.append(best)
        if best is None or baseline is None or best <= FACTOR * baseline:
            break
    return Verdict(name, baseline, tuple(found))


def _best(measure: Measure, times: int, baseline: float | None) -> float | None:
    """The least of so many; no more are taken once one is as good as the baseline."""
    best: float | None = None
    for _ in range(times):
        ratio = measure()
        if ratio is None:
            return None
        best = ratio if best is None else min(best, ratio)
        if baseline is not None and best <= baseline:
            break
    return best


def read_baseline(path: Path = BASELINE) -> dict[str, float]:
    """The ratios by name."""
    return {name: float(ratio) for name, ratio in json.loads(path.read_text(encoding="utf-8"))["ratios"].items()}


def write_baseline(ratios: Mapping[str, float], path: Path = BASELINE) -> None:
    """A quarter above what was measured: a baseline is what is good enough, not a record."""
    text = "ours over a reference of the same run, in processor time; less is better (benchmarks/losses.py)"
    content = {"what": text, "ratios": {name: float(f"{1.25 * ratio:.2g}") for name, ratio in sorted(ratios.items())}}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
