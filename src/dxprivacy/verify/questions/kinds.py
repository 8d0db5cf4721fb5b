"""Questions by what they ask for; a row of one of them stands in row.py."""

from typing import Any

from dxprivacy.verify.questions.base import Question
from dxprivacy.verify.questions.counted import Steps, Tally
from dxprivacy.verify.questions.explicit import ExplicitRows
from dxprivacy.verify.questions.grouped import CountPeople, Mean, Sum
from dxprivacy.verify.questions.intervals import Prefixes, Ranges
from dxprivacy.verify.questions.marginals import Marginals
from dxprivacy.verify.questions.quantiles import Quantiles
from dxprivacy.verify.questions.ratios import Ratio, Share
from dxprivacy.verify.questions.soft_lines import Count, Density
from dxprivacy.verify.questions.spreads import Correlation, Covariance, Deviation, Variance
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

KINDS: dict[str, type[Question]] = {
    "count": Count,
    "people": CountPeople,
    "sum": Sum,
    "mean": Mean,
    "prefixes": Prefixes,
    "ranges": Ranges,
    "marginals": Marginals,
    "share": Share,
    "ratio": Ratio,
    "variance": Variance,
    "sd": Deviation,
    "covariance": Covariance,
    "correlation": Correlation,
    "quantile": Quantiles,
    "density": Density,
    "matrix": ExplicitRows,
    "tally": Tally,
    "steps": Steps,
}


def read_question(
    data: Any, universe: Universe, where: str, kinds: dict[str, type[Question]], *, edition: int, units: bool
) -> Question:
    """A question of a known kind."""
    kind = data.get("ask") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise refuse(f"asks for {str(kind)[:40]!r}", where)
    return kinds[kind](data, universe, where, edition=edition, units=units)
