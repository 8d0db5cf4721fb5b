"""Canonical JSON (RFC 8785): one text for one content, and the digests and seals computed from it.

Object members are sorted (by UTF-16 code units), tokens are not separated by whitespace, text is UTF-8, and numbers
with a fraction or an exponent are written as ECMAScript writes them. Whole numbers keep all their digits, also beyond
2^53, which RFC 8785 leaves open. docs/formats.md specifies it for other programs.
"""

import hashlib
import importlib.metadata
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Protocol, runtime_checkable

from dxprivacy.errors import UsageError

_quoted = encode_basestring
_LONG = 10_000  # items of a list; longer lists are written in pieces
UNSEALED = ("seal", "repeated")  # members of a file that its seal does not cover


def canonical(data: object) -> str:
    """Return the canonical text of a JSON value.

    >>> canonical({"b": [1, 0.5, 1e-7], "a": {"é": None, "x": 2.0}})
    '{"a":{"x":2,"é":null},"b":[1,0.5,1e-7]}'
    """
    if isinstance(data, float):
        return _number(data)
    if isinstance(data, str):
        return _quoted(data)
    if isinstance(data, (dict, Mapping)):  # checks against an abstract class are slow
        return "{" + ",".join([f"{name}{canonical(data[key])}" for key, name in in_order(tuple(data))]) + "}"
    if isinstance(data, (list, tuple)) and not _flat(data):
        return "[" + ",".join(map(canonical, data)) + "]"
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=1024)
def in_order(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the members of an object in their order, each with its written name; cached: many objects share them."""
    ordered = sorted(keys, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return tuple((key, f"{_quoted(key)}:") for key in ordered)


def _flat(data: "list[object] | tuple[object, ...]") -> bool:
    """Whether a list holds only texts and whole numbers, or lists of these: json.dumps writes them canonically."""
    kinds = set(map(type, data))
    return kinds <= {int, str} or (kinds == {list} and all(set(map(type, row)) <= {int, str} for row in data))  # type: ignore[call-overload]


def _number(x: float) -> str:
    """Write a float64 as ECMAScript does: the shortest digits that give it back."""
    if not math.isfinite(x):
        raise UsageError("JSON has no NaN and no infinity")
    if 1e-4 <= abs(x) < 1e16:  # Python writes these without an exponent, as ECMAScript does
        return repr(x).removesuffix(".0")
    if abs(x) < 2**53 and x == int(x):
        return str(int(x))
    mantissa, _, exponent = repr(abs(x)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))  # the value is 0.digits * 10^point
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        text = digits[:point].ljust(point, "0") + (f".{digits[point:]}" if len(digits) > point else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + (f".{digits[1:]}" if digits[1:] else "") + f"e{point - 1:+d}"
    return ("-" if x < 0 else "") + text


def parse(text: str) -> Any:
    """Parse unambiguous JSON, as `dxp verify` does: no duplicate member, NaN, infinity or lone surrogate.

    >>> parse('{"a": [1, 0.5]}')
    {'a': [1, 0.5]}
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            raise UsageError("a member occurs twice")
        return out

    def number(written: str) -> float:
        value = float(written)
        if not math.isfinite(value):
            raise UsageError(f"{written[:40]} is no float64")
        return value

    def constant(written: str) -> float:
        raise UsageError(f"{written} is no JSON")

    try:
        data = json.loads(text, object_pairs_hook=members, parse_float=number, parse_constant=constant)
        canonical(data).encode("utf-8")
    except (ValueError, RecursionError):
        raise UsageError("not JSON in UTF-8") from None
    return data


@runtime_checkable
class Pieces(Protocol):
    """A part of a file too long to be held as a value and as text: it writes itself, for `digest_of`."""

    def canonical_pieces(self) -> Iterator[str]:
        """Yield the canonical form, in pieces."""


def digest_of(data: object) -> str:
    """Return the SHA-256 of the canonical form, which is never held as a whole: it may be very long."""
    found = hashlib.sha256()
    for piece in _pieces(data):
        found.update(piece.encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _pieces(data: object) -> Iterator[str]:
    """Yield the canonical form in pieces: the members of an object one by one, long lists some items at a time."""
    if isinstance(data, Pieces):
        yield from data.canonical_pieces()
    elif isinstance(data, Mapping):
        start = "{"
        for key, name in in_order(tuple(data)):
            yield start + name
            yield from _pieces(data[key])
            start = ","
        yield "{}" if start == "{" else "}"
    elif isinstance(data, (list, tuple)) and len(data) > _LONG:
        for at in range(0, len(data), _LONG):
            yield "[" if at == 0 else ","
            yield canonical(data[at : at + _LONG])[1:-1]
        yield "]"
    else:
        yield canonical(data)


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same object with its seal: the digest of everything else in it, so that accidental edits are found.

    >>> sealed({"a": 1})["seal"][:8], is_sealed(sealed({"a": 1})), is_sealed(sealed({"a": 1}) | {"a": 2})
    ('015abd7f', True, False)
    """
    content = {key: value for key, value in data.items() if key not in UNSEALED}
    return {**data, "seal": digest_of(content)}


def is_sealed(data: Mapping[str, Any]) -> bool:
    """Test whether the seal is that of the content; False if the content is not JSON."""
    try:
        return bool(data.get("seal") == sealed(data)["seal"])
    except UsageError:
        return False


# -- The formats of our files: what each is called, and which version is written and read ------------------------------
# The verifier has its own list: it shares no code with what it verifies.


@dataclass(frozen=True)
class Format:
    """A kind of JSON file, and its versions.

    >>> PLAN.written, PLAN.reads("dxprivacy-plan/6"), PLAN.reads("dxprivacy-plan/4"), PLAN.reads(None)
    ('dxprivacy-plan/5', True, False, False)
    """

    name: str
    noun: str
    version: int = 1
    newest: int = 1  # for files that need what the usual version does not have

    @property
    def written(self) -> str:
        """The format string of a file of the usual version."""
        return self.numbered(self.version)

    def numbered(self, version: int) -> str:
        """Return the format string of a file of some version."""
        return f"dxprivacy-{self.name}/{version}"

    def reads(self, text: object) -> bool:
        """Test whether a file with this format string can be read."""
        return any(text == self.numbered(k) for k in range(self.version, self.newest + 1))


WITH_RECONSTRUCTION = 6  # version of plans and releases with an estimator: from measured queries to the workload
PLAN = Format("plan", "plan", 5, WITH_RECONSTRUCTION)
RELEASE = Format("release", "release", 5, WITH_RECONSTRUCTION)
SELECTION_PLAN = Format("selection-plan", "planned selection")
SELECTION = Format("selection", "released selection")
REPORT = Format("synthesis", "report on synthetic records")
JOURNAL, JOURNAL_VERSION = "dxprivacy journal", 1  # the first line of an exported ledger


def software() -> str:
    """Return the name and the version of this software, for the files that it writes."""
    return f"dxprivacy {importlib.metadata.version('dxprivacy')}"
