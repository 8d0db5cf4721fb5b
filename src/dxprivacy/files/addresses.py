"""Texts that stand where a file could, and name a table of a server or a cluster instead."""

import re

POSTGRES = ("postgresql://", "postgres://")
SPARK = "spark:"
SPARK_CONNECT = "sc://"
_SERVICE = re.compile(r"service\s*=", re.IGNORECASE)


def is_postgres(text: str) -> bool:
    """Whether a text names a table of a PostgreSQL server.

    >>> [is_postgres(x) for x in ("postgresql://h/db::t", "service=survey::t", "people.parquet", "service.csv")]
    [True, True, False, False]
    """
    return text.lower().startswith(POSTGRES) or _SERVICE.match(text) is not None


def is_spark(text: str) -> bool:
    """Whether a text names a table or files of Spark's.

    >>> [is_spark(x) for x in ("spark:survey.people", "sc://host/::people", "spark.csv")]
    [True, True, False]
    """
    return text.startswith((SPARK, SPARK_CONNECT))


def is_address(text: str) -> bool:
    """Whether a text names no file at all."""
    return is_postgres(text) or is_spark(text)
