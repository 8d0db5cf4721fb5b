"""Assemble a query from its parts; and the registry of the kinds of queries."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dxprivacy.errors import QueryError, UsageError, did_you_mean
from dxprivacy.queries.conditions import Condition
from dxprivacy.queries.further_fields import FURTHER
from dxprivacy.queries.kinds.counts import Count, CountPeople
from dxprivacy.queries.kinds.densities import Density
from dxprivacy.queries.kinds.marginals import Marginals, Prefixes, Ranges
from dxprivacy.queries.kinds.quantiles import Quantiles
from dxprivacy.queries.kinds.ratios import Proportion, RatioOf
from dxprivacy.queries.kinds.spreads import Correlation, Covariance, Deviation, Variance
from dxprivacy.queries.kinds.sums import Mean, Sum
from dxprivacy.queries.query import Query

_LINEAR = (Count, CountPeople, Sum, Mean, Prefixes, Ranges, Marginals)
_SPREADS = (Variance, Deviation, Covariance, Correlation)
_KINDS: tuple[type[Query], ...] = (*_LINEAR, Proportion, RatioOf, *_SPREADS, Quantiles, Density)
ASKS: dict[str, type[Query]] = {kind.ask: kind for kind in _KINDS}


def register_query(kind: type[Query]) -> type[Query]:
    """Register a kind of query for words, plans and ledgers; a word cannot be registered twice."""
    if not (isinstance(kind, type) and issubclass(kind, Query)) or not kind.ask.isidentifier():
        raise UsageError("a kind of query is a class that extends Query, with one word for `ask`")
    if unknown := sorted(set(kind.also) - FURTHER.keys()):
        hint = "fields of a kind must be known to queries/further_fields.py"
        raise UsageError(f"“{kind.ask}” has an unknown further field “{unknown[0]}”", hints=[hint])
    if ASKS.setdefault(kind.ask, kind) is not kind:
        raise UsageError(f"“{kind.ask}” is already registered as another kind of query")
    return kind


def assemble(
    ask: str,
    *,
    of: str = "",
    by: Sequence[str] = (),
    where: Sequence[tuple[str, Condition]] = (),
    within: Fraction | None = None,
    unit: str = "",
    weight: Fraction = Fraction(1),
    title: str = "",
    missing: str | None = None,
    further: Mapping[str, Any] | None = None,
) -> Query:
    """Assemble a query from its parts; refuse combinations without meaning.

    Words, `[[query]]` tables and JSON are all read into these parts.

    >>> str(assemble("sum", of="income", by=["sex"]))
    'sum income by sex'
    """
    if ask not in ASKS:
        raise QueryError(f"“{ask}” is not a query", hints=did_you_mean(str(ask), ASKS) or [("count", "")])
    kind = ASKS[ask]
    if kind.takes_of != bool(of):
        what = f"{ask} of what?" if not of else f"count takes no “{of}”"
        raise QueryError(what, hints=[(f"{ask} age", "") if not of else (f"count by {of}", "")])
    if by and kind.whole and not kind.listing:
        raise QueryError(f"{ask} cannot be grouped", hints=[("count by …", "for groups")])
    if where and kind.whole:
        raise QueryError(f"{ask} take no condition", hints=[("count where …", "for conditions")])
    usual = kind.missing_as
    if missing not in (None, "", usual):
        hint = (f'missing = "{usual}"', "how missing entries count") if usual else ("no missing", "entries all count")
        raise QueryError(f"{ask} does not know how missing entries count: {str(missing)[:40]!r}", hints=[hint])
    more = {name: value for name, value in (further or {}).items() if value is not None}
    if "lengths" in more and "lengths" not in kind.also:
        hint = ("width N", "without a unit: in that of the numbers")
        raise QueryError(f"{kind.said or ask} has no places; km, m and miles are lengths between places", hints=[hint])
    for name in more:
        if name not in kind.also:
            others = [other.said or other.ask for other in ASKS.values() if name in other.also]
            raise QueryError(f"{kind.said or ask} takes no “{name}”", hints=[(", ".join(others), "take it")])
    counted = usual if missing is None else missing
    return kind(of, tuple(by), tuple(where), within, unit, weight, title, counted, **more).settled()
