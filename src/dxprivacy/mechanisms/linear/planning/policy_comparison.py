"""What a change of policy means for answers: the error of each attribute's table of counts, before and after.

A table by one attribute moves only along that attribute, so its error follows from that attribute's own metric, whether
attributes are combined by sum or by maximum; where records may be absent, so they may along the attribute.
"""

from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import NotCertified, SeparatesIdentical
from dxprivacy.mechanisms.linear.planning.methods import best_of_own_rows
from dxprivacy.mechanisms.linear.planning.planner import finish, prepare
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import along
from dxprivacy.queries.asking import table
from dxprivacy.wording import digits

MAX_VALUES = 5_000


@dataclass(frozen=True)
class TableError:
    """The 95 % half-width of the counts by one attribute: the best and the worst of them; 0 is exact."""

    least: float
    most: float

    def __str__(self) -> str:
        if self.most == 0:
            return "exact"
        low, high = digits(self.least), digits(self.most)
        return f"± {high}" if low == high else f"± {low} – {high}"


@dataclass(frozen=True)
class Gained:
    """The error of `count by NAME` under two policies; None where the policy does not allow the table."""

    question: str
    before: TableError | None
    after: TableError | None

    def __str__(self) -> str:
        return f"{self.before or 'no table'} → {self.after or 'no table'}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON: least and most half-width, or null."""
        sides = {"before": self.before, "after": self.after}
        widths = {side: [error.least, error.most] if error else None for side, error in sides.items()}
        return {"question": self.question, "half_width_95": widths}


def errors_gained(before: Metric, after: Metric) -> dict[str, Gained]:
    """For every attribute that both policies have, the error of its table; very large tables are left out.

    >>> from dxprivacy import metrics
    >>> print(*errors_gained(metrics.constant(3, 1), metrics.constant(3, 2)).values())
    ± 6 → ± 3
    """
    old, new = ({m.universe.names[0]: m for m in along(d) or ()} for d in (before, after))
    shared = [n for n in old if n in new and max(m[n].universe.size for m in (old, new)) <= MAX_VALUES]
    return {n: Gained(str(table(n)), table_error(old[n]), table_error(new[n])) for n in shared}


def table_error(metric: Metric) -> TableError | None:
    """The error of the counts of all values of one attribute, with the whole of its budget."""
    try:
        asked, task = prepare(table(*metric.universe.names), metric)
        plan = finish(asked, task, best_of_own_rows(task)[0])
    except (SeparatesIdentical, NotCertified):
        return None
    widths = [error.half_width for error in plan.errors]
    return TableError(min(widths), max(widths))
