"""Why some questions get no plan: a pair of records that no noise, or no noise any more, would keep apart."""

import numpy as np

from dxprivacy.errors import BudgetExceeded, SeparatesIdentical
from dxprivacy.metrics import Metric
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import digits


def separates(workload: Workload, metric: Metric, pair: tuple[int, int] | None) -> SeparatesIdentical:
    """A question tells apart what the policy calls identical."""
    what = "separates records the policy calls identical"
    hints = ["group them together, or give the pair an ε above 0"]
    if pair is None:  # it could only be bounded
        return SeparatesIdentical(f"a question {what}", details=["Some have ε 0: no noise is enough."], hints=hints)
    a, b = metric.universe.tell(*pair)
    details = [f"{a} and {b} have ε 0: no noise is enough."]
    return SeparatesIdentical(what, where=f"question “{_question(workload, pair)}”", details=details, hints=hints)


def nothing_left(workload: Workload, metric: Metric, pair: tuple[int, int]) -> BudgetExceeded:
    """A question tells apart two records whose budget is used up."""
    a, b = metric.universe.tell(*pair)
    allowed = float(metric.exact(*pair))
    return BudgetExceeded(
        "nothing spent, no data read",
        where="budget exceeded",
        details=[
            f"{a} – {b} has nothing left of {digits(allowed)}, and question “{_question(workload, pair)}” tells the "
            "two apart."
        ],
        hints=[
            ("leave that question out", "or group so that no answer tells the two apart"),
            ("dxp ledger FILE", "shows what is left"),
        ],
    )


def _question(workload: Workload, pair: tuple[int, int]) -> str:
    """The first question that tells two records apart."""
    rows = set(workload.touched(np.array([pair[0]]), np.array([pair[1]]))[1].tolist())
    # Counts of people and maps are accounted as a whole: no single pair touches their rows.
    rows = rows or set(np.flatnonzero(workload.in_wholes).tolist())
    return next((workload.titles[a.question] for a in workload.answers if rows & set(a.rows)), "")
