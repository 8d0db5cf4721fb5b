"""Queries in SQL: one SELECT, read by sqlglot (extra `sql`) into the queries that words and Python ask too.

Nothing is run: the text is data.  Kinds of nodes are listed, and for each kind what it may carry (`select.py`,
`aggregates.py`, `where.py`); whatever is not listed is refused, with the word and with what there is instead.
Groups and values are those that the policy declares, never those that occur.

In reading order: `sql_text`, `where`, `aggregates`, `select`.
"""

from dxprivacy.errors import UsageError
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.universe import Universe

_INSTALL = 'pip install "dxprivacy[sql]"'


def sql_queries(text: str, universe: Universe) -> Stack:
    """The queries that a SELECT asks of the records of a universe.

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
