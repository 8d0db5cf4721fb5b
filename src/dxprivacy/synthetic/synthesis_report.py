"""Compare released answers with the answers of synthetic records.

Both are public: a released answer with its interval, and the answer of the synthetic records to the same query.  True
answers are not needed, and not read.
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
    """One answer from the synthetic records, and the released answer, if there is one."""

    label: str
    query: str
    unit: str
    synthetic: float
    released: Row | None = None
    groups: tuple[tuple[str, str], ...] = ()

    @property
    def inside(self) -> bool | None:
        """Whether the synthetic answer lies in the released interval; None if nothing was released."""
        if self.released is None:
            return None
        tolerance = _CLOSE * max(abs(self.released.low), abs(self.released.high), 1.0)
        return self.released.low - tolerance <= self.synthetic <= self.released.high + tolerance

    @property
    def beyond(self) -> float:
        """How far the synthetic answer lies outside the interval, in widths of the interval; 0 inside."""
        if self.released is None or self.inside:
            return 0.0
        low, high = self.released.low, self.released.high
        return max(low - self.synthetic, self.synthetic - high) / max(high - low, _CLOSE)

    def to_dict(self) -> dict[str, Any]:
        """Write it as JSON data."""
        out: dict[str, Any] = {"label": self.label, "query": self.query, "unit": self.unit}
        out |= {"synthetic": self.synthetic, "released": None, "low": None, "high": None, "inside": self.inside}
        if self.released is not None:
            out |= {"released": self.released.value, "low": self.released.low, "high": self.released.high}
        return out


@dataclass(frozen=True)
class Report(Displayed):
    """All answers of synthetic records, compared with the released ones."""

    answers: tuple[ComparedAnswer, ...]
    records: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    def in_short(self) -> str:
        return f"{plural(self.records, 'record')}, {self.summary}"

    @property
    def compared(self) -> tuple[ComparedAnswer, ...]:
        """The answers with a released answer."""
        return tuple(a for a in self.answers if a.released is not None)

    @property
    def inside(self) -> int:
        """The number of synthetic answers within the released intervals."""
        return sum(bool(a.inside) for a in self.answers)

    @property
    def summary(self) -> str:
        """The comparison in one sentence."""
        compared = len(self.compared)
        if not compared:
            return "nothing was released to compare with"
        if compared == 1:
            return f"the synthetic answer lies {'within' if self.inside else 'outside'} the released 95 % interval"
        how_many = f"all {compared:,}" if self.inside == compared else f"{self.inside:,} of {compared:,}"
        return f"{how_many} synthetic answers lie within the released 95 % intervals"

    def to_dict(self) -> dict[str, Any]:
        """Write the report as JSON data."""
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
        """Write the report as JSON; with `records`, it identifies that file as synthetic by its digest."""
        named = {} if records is None else {"file": records.name, "file_sha256": digest_of_file(records)}
        return write_file(path, json_text(self.to_dict() | named, allow_nan=False), REPORT_FILE)

    def __str__(self) -> str:
        return shown(self)


def compare(workload: Workload, released: Sequence[Row | None], counts: Ints, rows: int, **facts: Any) -> Report:
    """Compare the answers of synthetic counts with released ones, one for each answer of the workload.

    `rows` is the number of records behind the released answers; synthetic records may be fewer or more.

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
    """Return the answers of synthetic records, scaled as if there were `rows` of them."""
    if counts.shape != (workload.universe.cells,):
        raise UsageError("the synthetic records are over another universe than the queries")
    absent = [0] * (workload.universe.size - workload.universe.cells)
    made = max(int(counts.sum()), 1)
    exact = [Fraction(int(z) * rows, made) for z in workload.answer(np.r_[counts, absent].astype(np.int64))]
    distributions = laplace_distributions([0.0] * len(exact))
    return [answer.recipe.interval(exact, distributions, rows, 0.0)[0] for answer in workload.answers]
