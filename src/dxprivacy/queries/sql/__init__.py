"""Queries in SQL: one SELECT, parsed by sqlglot (extra `sql`) into the same queries as words and Python.

The SQL is never executed.  An allowlist names the kinds of nodes, and which arguments each may have (`select.py`,
`aggregates.py`, `where.py`); everything else is refused, with the word and an alternative.  Groups and values are those
that the policy declares, never those that occur in the data.

In reading order: `sql_text`, `where`, `aggregates`, `select`.
"""

from dxprivacy.errors import UsageError
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.universe import Universe

_INSTALL = 'pip install "dxprivacy[sql]"'


def sql_queries(text: str, universe: Universe) -> Stack:
    """Return the queries of a SELECT over a universe.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> u = Universe([Values(name="region", values=("N", "S")), Integers(name="age", low=0, high=99)])
    >>> asked = sql_queries("SELECT region, COUNT(*), AVG(age) FROM people WHERE age < 65 GROUP BY region", u)
    >>> [str(query) for query in asked.queries]
    ['count by region where age<65', 'mean age by region where age<65']
    """
    try:
        import sqlglot  # noqa: F401
    except ImportError:
        hints = [(_INSTALL, "reads SQL"), ("count by sex where age>30", "the same in words needs nothing")]
        raise UsageError("queries in SQL need sqlglot, which is not installed", hints=hints) from None
    from dxprivacy.queries.sql.select import read_select

    return read_select(text, universe)
