"""Released answers beside those of synthetic records: how well the records tell what was released.

Both sides are public: a released answer with its interval, and the answer that the synthetic records give to the same
query.  True answers are not needed, and not looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.formats.canonical import REPORT
from dxprivacy.formats.file_access import REPORT as REPORT_FILE
from dxprivacy.formats.file_access import write_file
from dxprivacy.mechanisms.linear.noise.noise_distributions import laplace_distributions
from dxprivacy.releases.release import Row
from dxprivacy.synthetic.synthetic_records import digest_of_file
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import Displayed, json_text, plural, shown

_CLOSE = 1e-9  # ends of intervals are floats


@dataclass(frozen=True)
class ComparedAnswer:
    """One answer: what the synthetic records say, and what was released, if anything was."""

    label: str
    query: str
    unit: str
    synthetic: float
    released: Row | None = None
    groups: tuple[tuple[str, str], ...] = ()

    @property
    def inside(self) -> bool | None:
        """Whether the synthetic answer lies in the released interval; None where nothing was released."""
        if self.released is None:
            return None
        room = _CLOSE * max(abs(self.released.low), abs(self.released.high), 1.0)
        return self.released.low - room <= self.synthetic <= self.released.high + room

    @property
    def beyond(self) -> float:
        """How far outside its interval, in widths of that; 0 inside."""
        if self.released is None or self.inside:
            return 0.0
        low, high = self.released.low, self.released.high
        return max(low - self.synthetic, self.synthetic - high) / max(high - low, _CLOSE)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        out: dict[str, Any] = {"label": self.label, "query": self.query, "unit": self.unit}
        out |= {"synthetic": self.synthetic, "released": None, "low": None, "high": None, "inside": self.inside}
        if self.released is not None:
            out |= {"released": self.released.value, "low": self.released.low, "high": self.released.high}
        return out


@dataclass(frozen=True)
class Report(Displayed):
    """All answers of synthetic records beside what was released."""

    answers: tuple[ComparedAnswer, ...]
    records: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    def in_short(self) -> str:
        return f"{plural(self.records, 'record')}, {self.summary}"

    @property
    def compared(self) -> tuple[ComparedAnswer, ...]:
        """The answers for which something was released."""
        return tuple(a for a in self.answers if a.released is not None)

    @property
    def inside(self) -> int:
        """How many synthetic answers lie within the released intervals."""
        return sum(bool(a.inside) for a in self.answers)

    @property
    def summary(self) -> str:
        """In one sentence."""
        compared = len(self.compared)
        if not compared:
            return "nothing was released to compare with"
        if compared == 1:
            return f"the synthetic answer lies {'within' if self.inside else 'outside'} the released 95 % interval"
        how_many = f"all {compared:,}" if self.inside == compared else f"{self.inside:,} of {compared:,}"
        return f"{how_many} synthetic answers lie within the released 95 % intervals"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": REPORT.written,
            "records": self.records,
            **self.facts,
            "summary": self.summary,
            "inside": self.inside,
            "compared": len(self.compared),
            "answers": [a.to_dict() for a in self.answers],
        }

    def save(self, path: str | Path, *, records: Path | None = None) -> Path:
        """Write as JSON; with the file of the records, the report tells it from data."""
        named = {} if records is None else {"file": records.name, "file_sha256": digest_of_file(records)}
        return write_file(path, json_text(self.to_dict() | named, allow_nan=False), REPORT_FILE)

    def __str__(self) -> str:
        return shown(self)


def compare(workload: Workload, released: Sequence[Row | None], counts: Ints, rows: int, **facts: Any) -> Report:
    """The answers of synthetic counts beside released ones, one for each answer of the workload.

    `rows` is the number of people that the released answers speak about; synthetic records may be fewer or more.

    >>> from dxprivacy.queries.asking import count
    >>> from dxprivacy.universe.universe import Universe
    >>> asked = count(element="a").on(Universe.listed("ab"))
    >>> report = compare(asked, [Row("count", "count", 40.0, 35.0, 45.0, "", False)], np.array([21, 29]), 100)
    >>> report.answers[0].synthetic, report.summary
    (42.0, 'the synthetic answer lies within the released 95 % interval')
    """
    values = synthetic_answers(workload, counts, rows)
    answers = tuple(
        ComparedAnswer(answer.label, workload.titles[answer.query], answer.unit, value, row, answer.groups)
        for answer, value, row in zip(workload.answers, values, released, strict=True)
    )
    return Report(answers, int(counts.sum()), facts)


def synthetic_answers(workload: Workload, counts: Ints, rows: int) -> list[float]:
    """The answers of synthetic records, as if there were `rows` of them."""
    if counts.shape != (workload.universe.cells,):
        raise UsageError("the synthetic records are over another universe than the queries")
    absent = [0] * (workload.universe.size - workload.universe.cells)
    made = max(int(counts.sum()), 1)
    exact = [Fraction(int(z) * rows, made) for z in workload.answer(np.r_[counts, absent].astype(np.int64))]
    distributions = laplace_distributions([0.0] * len(exact))
    return [answer.recipe.interval(exact, distributions, rows, 0.0)[0] for answer in workload.answers]
