"""Whether a column looks as if it told whose row it is: by its name and declared type alone."""

import re

_WORDS = (
    *("id", "ids", "key", "uuid", "guid", "uid", "pid", "ssn", "nr", "no", "num", "number", "seqn", "seqno", "code"),
    *("patient", "person", "customer", "client", "user", "member", "subject", "respondent", "participant", "student"),
    *("employee", "household", "account", "card", "device", "phone", "email", "passport", "plate", "vehicle", "name"),
)
_TYPES = ("text", "untyped", "whole")


def looks_like_key(column: str, kind: str) -> bool:
    """By one of its words, or by how it ends; `kind` as in a policy to fill in.

    >>> [looks_like_key(c, "text") for c in ("tailnum", "PatientID", "customer_nr", "sex", "valid", "income")]
    [True, True, True, False, False, False]
    >>> looks_like_key("patient", "number")
    False
    """
    if kind not in _TYPES:
        return False
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", column)
    ends = re.search(r"(?:[a-z]ID|_id|Id|num|uuid)$", column)
    return bool(ends) or any(word.lower() in _WORDS for word in words)
