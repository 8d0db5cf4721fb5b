"""Texts that stand where a file could, and name a table of a server or a cluster instead."""

import re

POSTGRES = ("postgresql:", "postgres:")
SPARK = "spark:"
SPARK_CONNECT = "sc:"
_KEYWORDS = re.compile(  # libpq's: whichever stands first
    r"\s*(service|host|hostaddr|port|dbname|user|pass\w+|options|application_name|fallback_application_name|"
    r"(ssl|gss|krb|keepalives|tcp_|client_|connect_|target_|channel_|require_|load_balance_|min_|max_|scram_|oauth_)\w*|"
    r"replication|requirepeer)\s*=.*::",
    re.IGNORECASE | re.DOTALL,
)
_WITH_USER = re.compile(r"\s*[\w+.:-]*//[^/@\s]*:[^@]*@", re.IGNORECASE)
_SECRET = re.compile(r"(passw|secret|token|authorization|api[-_]?key)[\w-]*\s*=", re.IGNORECASE)


def is_postgres(text: str) -> bool:
    """Whether a text names a table of a PostgreSQL server.

    >>> [is_postgres(x) for x in ("postgresql://h/db::t", "service=survey::t", "people.parquet", "service.csv")]
    [True, True, False, False]
    """
    return text.strip().lower().startswith(POSTGRES) or _KEYWORDS.match(text) is not None


def is_spark(text: str) -> bool:
    """Whether a text names a table or files of Spark's.

    >>> [is_spark(x) for x in ("spark:survey.people", "sc://host/::people", "spark.csv")]
    [True, True, False]
    """
    return text.strip().lower().startswith((SPARK, SPARK_CONNECT))


def is_address(text: str) -> bool:
    """Whether a text names no file at all."""
    return is_postgres(text) or is_spark(text)


def has_secret(text: str) -> bool:
    """Whether a text seems to be an address with a password or a token, of whatever kind; rather once too often.

    >>> has_secret("postgresql://anna:pa?ss@host/db::t"), has_secret("postgresql://anna@host:5432/db::tokens")
    (True, False)
    >>> has_secret("user=anna password=hunter2"), has_secret("jdbc:postgresql://anna:pw@host/db"), has_secret("a.csv")
    (True, True, False)
    """
    if _SECRET.search(text) or _WITH_USER.match(text):
        return True
    return is_address(text) and ":" in text.strip().partition(":")[2].rpartition("@")[0]
