"""Queries by what they ask for; a row of one of them stands in row.py."""

from typing import Any

from dxprivacy.verify.queries.base import Query
from dxprivacy.verify.queries.counted import Steps, Tally
from dxprivacy.verify.queries.explicit import ExplicitRows
from dxprivacy.verify.queries.grouped import CountPeople, Mean, Sum
from dxprivacy.verify.queries.intervals import Prefixes, Ranges
from dxprivacy.verify.queries.marginals import Marginals
from dxprivacy.verify.queries.quantiles import Quantiles
from dxprivacy.verify.queries.ratios import Proportion, Ratio
from dxprivacy.verify.queries.soft_lines import Count, Density
from dxprivacy.verify.queries.spreads import Correlation, Covariance, Deviation, Variance
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

KINDS: dict[str, type[Query]] = {
    "count": Count,
    "people": CountPeople,
    "sum": Sum,
    "mean": Mean,
    "prefixes": Prefixes,
    "ranges": Ranges,
    "marginals": Marginals,
    "proportion": Proportion,
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


def read_query(
    data: Any, universe: Universe, where: str, kinds: dict[str, type[Query]], *, edition: int, units: bool
) -> Query:
    """A query of a known kind."""
    kind = data.get("ask") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise refuse(f"asks for {str(kind)[:40]!r}", where)
    return kinds[kind](data, universe, where, edition=edition, units=units)
