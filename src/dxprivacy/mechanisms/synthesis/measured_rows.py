"""Measurements of single rows as released answers with intervals: what a report compares synthetic answers with."""

from collections.abc import Sequence
from fractions import Fraction

from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.linear.noise.noise_laws import laplace_laws
from dxprivacy.mechanisms.synthesis.synthetic_data import Measurement
from dxprivacy.releases.release import Row
from dxprivacy.universe.workload import Workload


def measured_rows(workload: Workload, measurements: Sequence[Measurement], records: int) -> list[Row | None]:
    """For each answer its released value and interval; None where one of its rows was never measured.

    A row that was measured several times has the mean of its measurements, and the interval of one: wide enough.

    >>> from dxprivacy.queries.asking import count
    >>> from dxprivacy.universe.universe import Universe
    >>> asked = count().on(Universe.listed("ab"))
    >>> [row] = measured_rows(asked, [Measurement(0, "count", 40, 2.0), Measurement(0, "count", 42, 2.0)], 100)
    >>> row.value, row.low, row.high, measured_rows(asked, [], 100)
    (41.0, 35.0, 47.0, [None])
    """
    found: dict[int, list[Measurement]] = {}
    for m in measurements:
        found.setdefault(m.row, []).append(m)
    values: list[int | float | Fraction] = [0] * workload.rows
    scales = [0.0] * workload.rows
    for row, of in found.items():
        values[row], scales[row] = Fraction(sum(m.noisy for m in of), len(of)), max(m.scale for m in of)
    laws = laplace_laws(scales)
    out: list[Row | None] = []
    for answer in workload.answers:
        if not all(row in found for row in answer.rows):
            out.append(None)
            continue
        value, low, high = answer.recipe.interval(values, laws, records, 0.0)
        title, vague = workload.titles[answer.question], answer.recipe.vague(low, high)
        exact = all(scales[row] == 0 for row in answer.rows)
        out.append(Row(answer.label, title, value, low, high, answer.unit, exact, vague, answer.groups))
    return out


def bounded_rows(workload: Workload, answers: Floats, bounds: Floats) -> list[Row | None]:
    """Answers that are right within bounds, all together 95 % of the time, as released answers with intervals."""
    out: list[Row | None] = []
    for answer, value, bound in zip(workload.answers, answers.tolist(), bounds.tolist(), strict=True):
        title, ends = workload.titles[answer.question], (value - bound, value + bound)
        out.append(Row(answer.label, title, value, *ends, answer.unit, bound == 0, False, answer.groups))
    return out
