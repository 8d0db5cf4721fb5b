"""Reading files that nobody vouches for: strict JSON, canonical form, digests, and typed members.

Written from docs/formats.md, sections 1 and 8.  Whatever is not exactly as specified is refused, with the place.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import chain, islice
from json.encoder import encode_basestring as _quoted
from typing import Any, TypeVar

from dxprivacy.errors import NotVerified

Exact = Fraction | float
"""A fraction, or infinity; no other float."""

T = TypeVar("T")

_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]{0,4299})(?:/[1-9][0-9]{0,4299})?")
_HEX_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]{13}p[+-][0-9]{1,4}|0x0\.0p\+0|-0x0\.0p\+0")
_DECIMAL = re.compile(
    r"\s*[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?\s*", re.ASCII
)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST_WHOLE = 1 << 4096  # records of many attributes have long numbers
_SHORT_WHOLE = 1_200  # digits; 2^4096 has 1,234
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MANY = 16
_AT_ONCE, _PIECE = 1_000, 1 << 20
_texts = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def refuse(what: str, where: str = "") -> NotVerified:
    """The error for what does not hold."""
    return NotVerified(
        what, where=where, hints=[("restore the file", "from the newest copy; a ledger together with its witness")]
    )


def parse(text: str) -> Any:
    """JSON without the liberties that parsers take: no repeated members, no NaN, no infinity, no lone surrogates."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            raise refuse("a member occurs twice", "format")
        return out

    def number(written: str) -> float:
        value = float(written)
        if not math.isfinite(value):
            raise refuse(f"{written[:40]} is no float64", "format")
        return value

    def whole(written: str) -> int:
        value = int(written)
        if len(written) > _SHORT_WHOLE:
            canonical(value)  # which refuses what is too large
        return value

    def constant(written: str) -> float:
        raise refuse(f"{written} is no JSON", "format")

    try:
        text.encode("utf-8")
        data = json.loads(text, object_pairs_hook=members, parse_int=whole, parse_float=number, parse_constant=constant)
        if _SURROGATE.search(text):  # only what is written so can come to half a character
            canonical(data).encode("utf-8")
    except (ValueError, RecursionError):
        raise refuse("not JSON in UTF-8", "format") from None
    return data


def canonical(data: Any) -> str:
    """RFC 8785, whole numbers with all their digits.

    >>> canonical({"b": [1.0, 1e21, 1.5e-9], "a": "\\u00e9"})
    '{"a":"é","b":[1,1e+21,1.5e-9]}'
    """
    kind = type(data)  # of very many values: the frequent kinds first, and nothing that is called for each
    if kind is str:
        return _quoted(data)
    if kind is float:
        return _ecmascript(data)
    if kind is dict:
        return "{" + ",".join([name + canonical(data[k]) for k, name in _members(tuple(data))]) + "}"
    if kind is list:
        return _texts(data) if _only_texts(data) else "[" + ",".join([canonical(x) for x in data]) + "]"
    if data is None or kind is bool:
        return "null" if data is None else "true" if data else "false"
    if kind is int:
        if abs(data) > _LARGEST_WHOLE:
            raise refuse("a whole number beyond 2^4096", "format")
        return str(data)
    raise refuse(f"{kind.__name__} is no JSON", "format")


def _pieces(data: Any) -> Iterator[str]:
    """The canonical form piece by piece: that of hundreds of thousands of answers is not held at once."""
    if type(data) is dict:
        begin = "{"
        for k, name in _members(tuple(data)):
            yield begin + name
            yield from _pieces(data[k])
            begin = ","
        yield "}" if data else "{}"
    elif type(data) is list and len(data) > _AT_ONCE:
        for start in range(0, len(data), _AT_ONCE):
            yield ("," if start else "[") + canonical(data[start : start + _AT_ONCE])[1:-1]
        yield "]"
    else:
        yield canonical(data)


def _only_texts(data: list[Any]) -> bool:
    """Whether a list has nothing but texts, or lists of them: coordinates and ids of very many places."""
    if len(data) < _MANY:
        return False
    kinds = set(map(type, data))
    return kinds == {str} or (kinds == {list} and set(map(type, chain.from_iterable(data))) == {str})


@lru_cache(maxsize=256)
def _members(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Members in their order, and how each begins: thousands of answers have the same."""
    order = sorted(names, key=lambda name: name.encode("utf-16-be"))
    return [(name, f"{_quoted(name)}:") for name in order]


def _ecmascript(x: float) -> str:
    """Number::toString of ECMAScript, from the digits and exponent of Python's shortest form."""
    if abs(x) < 2**53 and x.is_integer():
        return str(int(x))
    if 1e-4 <= abs(x) < 1e15:  # here Python writes the same digits the same way
        return repr(x)
    sign, digits, exponent = _shortest(x)
    k, n = len(digits), len(digits) + exponent
    if k <= n <= 21:
        text = digits + "0" * (n - k)
    elif 0 < n <= 21:
        text = f"{digits[:n]}.{digits[n:]}"
    elif -6 < n <= 0:
        text = f"0.{'0' * -n}{digits}"
    else:
        text = f"{digits[0]}{'.' if k > 1 else ''}{digits[1:]}e{n - 1:+d}"
    return sign + text


def _shortest(x: float) -> tuple[str, str, int]:
    """Sign, digits without zeros at either end, exponent: x = digits * 10^exponent."""
    from decimal import Decimal

    parts = Decimal(repr(x)).as_tuple()
    digits = "".join(map(str, parts.digits))
    bare = digits.rstrip("0")
    return "-" if parts.sign else "", bare.lstrip("0"), int(parts.exponent) + len(digits) - len(bare)


def digest(data: Any) -> str:
    """SHA-256 of the canonical form."""
    out = hashlib.sha256()
    for piece in _pieces(data):
        out.update(piece.encode("utf-8"))
    return out.hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of a text as it is written."""
    out = hashlib.sha256()
    for start in range(0, len(text), _PIECE):
        out.update(text[start : start + _PIECE].encode("utf-8"))
    return out.hexdigest()


def seal_of(data: dict[str, Any]) -> str:
    """The digest of all members that the seal covers."""
    return digest({name: value for name, value in data.items() if name not in ("seal", "repeated")})


# -- values ------------------------------------------------------------------------------------------------------------


def text(value: Any, where: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise refuse("not a text", where)
    return value


def whole(value: Any, where: str, low: int | None = None, high: int | None = None) -> int:
    """A whole number, within limits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse("not a whole number", where)
    if (low is not None and value < low) or (high is not None and value > high):
        raise refuse(f"{value} is out of range", where)
    return value


def number(value: Any, where: str) -> float:
    """A JSON number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise refuse("not a number", where)
    return float(value)


def flag(value: Any, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise refuse("neither true nor false", where)
    return value


def items(value: Any, where: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise refuse("not a list", where)
    return value


def each(value: Any, where: str, read: Callable[[Any, str], T]) -> list[T]:
    """A list of values of one type."""
    return [read(x, where) for x in items(value, where)]


def fraction(value: Any, where: str) -> Fraction:
    """A fraction in lowest terms."""
    written = text(value, where)
    if not _FRACTION.fullmatch(written):
        raise refuse(f"{written[:40]!r} is no fraction", where)
    read = Fraction(written)
    if str(read) != written:
        raise refuse(f"{written[:40]!r} is not in lowest terms", where)
    return read


def numbers_or_names(first: Any, last: Any, where: str) -> tuple[Fraction, Fraction] | tuple[str, str]:
    """Two fractions, if both are; otherwise two texts, neither empty."""
    texts = text(first, where), text(last, where)
    if all(_FRACTION.fullmatch(x) for x in texts):
        return fraction(first, where), fraction(last, where)
    if not all(x.strip() for x in texts):
        raise refuse("a range has two ends", where)
    return texts


def budget(value: Any, where: str) -> Exact:
    """A fraction that is not negative, or infinity."""
    if value == "inf":
        return math.inf
    read = fraction(value, where)
    if read < 0:
        raise refuse("is negative", where)
    return read


def positive(value: Any, where: str) -> Fraction:
    """A fraction above 0."""
    read = fraction(value, where)
    if read <= 0:
        raise refuse("is not positive", where)
    return read


def hex_float(value: Any, where: str) -> float:
    """A float64 in hexadecimal, in the one form that it has."""
    written = text(value, where)
    if not _HEX_FLOAT.fullmatch(written):
        raise refuse(f"{written[:40]!r} is no float64 in hexadecimal", where)
    try:
        read = float.fromhex(written)
    except (ValueError, OverflowError):
        raise refuse(f"{written[:40]!r} is no float64", where) from None
    if read.hex() != written:
        raise refuse(f"{written[:40]!r} is not how that float64 is written", where)
    return read


def coordinates(value: Any, where: str) -> list[list[float]]:
    """Rows of floats in hexadecimal."""
    rows = [items(row, where) for row in items(value, where)]
    written = list(chain.from_iterable(rows))
    try:
        read = list(map(float.fromhex, written))
        same = list(map(float.hex, read)) == written and all(map(math.isfinite, read))
    except (TypeError, ValueError, OverflowError):
        same = False
    if not same:  # one of them is not as it must be: find out which
        return [each(row, where, hex_float) for row in rows]
    numbers = iter(read)
    return [list(islice(numbers, len(row))) for row in rows]


def hash_text(value: Any, where: str) -> str:
    """64 hex digits."""
    written = text(value, where)
    if not _DIGEST.fullmatch(written):
        raise refuse("not a digest of 64 hex digits", where)
    return written


def members(value: Any, where: str, needed: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """An object with exactly these members."""
    if not isinstance(value, dict):
        raise refuse("not an object", where)
    wanted = set(needed)
    for name in sorted(wanted - set(value)):
        raise refuse(f"{name} is missing", where)
    for name in sorted(set(value) - wanted - set(optional)):
        raise refuse(f"{name[:40]!r} is not part of the format", where)
    return value


def decimal(written: str) -> Fraction | None:
    """The exact value of a decimal number, None for any other text.

    >>> decimal("2.50"), decimal("1e3"), decimal("1/2"), decimal("")
    (Fraction(5, 2), Fraction(1000, 1), None, None)
    """
    if not _DECIMAL.fullmatch(written):
        return None
    read = Fraction(written.strip())
    return read if not read or Fraction(1, 10**150) <= abs(read) <= 10**150 else None
