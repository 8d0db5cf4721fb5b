"""Canonical JSON (RFC 8785): one text for one content, and the digests and seals made of it.

Object members are sorted (by UTF-16 code units), nothing stands between tokens, text is UTF-8, and numbers with a
fraction or an exponent are written as ECMAScript writes them.  Whole numbers keep all their digits, also beyond 2^53,
which RFC 8785 leaves open.  docs/formats.md specifies it for others.
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
_LONG = 10_000  # items of a list, to be written a piece at a time
UNSEALED = ("seal", "repeated")  # members of a file that its seal does not cover


def canonical(data: object) -> str:
    """The one text of a JSON value.

    >>> canonical({"b": [1, 0.5, 1e-7], "a": {"é": None, "x": 2.0}})
    '{"a":{"x":2,"é":null},"b":[1,0.5,1e-7]}'
    """
    if isinstance(data, float):
        return _number(data)
    if isinstance(data, str):
        return _quoted(data)
    if isinstance(data, (dict, Mapping)):  # asking an abstract class takes its time
        return "{" + ",".join([f"{name}{canonical(data[key])}" for key, name in in_order(tuple(data))]) + "}"
    if isinstance(data, (list, tuple)) and not _flat(data):
        return "[" + ",".join(map(canonical, data)) + "]"
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=1024)
def in_order(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The members of an object in their order, each with its name as it is written: many objects have the same."""
    ordered = sorted(keys, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return tuple((key, f"{_quoted(key)}:") for key in ordered)


def _flat(data: "list[object] | tuple[object, ...]") -> bool:
    """Whether it holds texts and whole numbers only, or lists of such: these have one text anyway."""
    kinds = set(map(type, data))
    return kinds <= {int, str} or (kinds == {list} and all(set(map(type, row)) <= {int, str} for row in data))  # type: ignore[call-overload]


def _number(x: float) -> str:
    """A float64 as ECMAScript writes it: the shortest digits that give it back."""
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
    """JSON that says one thing only, as `dxp verify` reads it: no member twice, no NaN, no infinity, no lone surrogate.

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
    """A part of a file that is too long to be held as a value and as text: it writes itself, for `digest_of`."""

    def canonical_pieces(self) -> Iterator[str]:
        """The canonical form, in pieces."""


def digest_of(data: object) -> str:
    """SHA-256 of the canonical form, which is not held as a whole: an object may have very many members' parts."""
    found = hashlib.sha256()
    for piece in _pieces(data):
        found.update(piece.encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _pieces(data: object) -> Iterator[str]:
    """The canonical form in pieces: the members of an object one by one, long lists item by item."""
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
    """The same object with its seal: the digest of everything else in it, so that accidental edits are found.

    >>> sealed({"a": 1})["seal"][:8], is_sealed(sealed({"a": 1})), is_sealed(sealed({"a": 1}) | {"a": 2})
    ('015abd7f', True, False)
    """
    content = {key: value for key, value in data.items() if key not in UNSEALED}
    return {**data, "seal": digest_of(content)}


def is_sealed(data: Mapping[str, Any]) -> bool:
    """Whether the seal is that of the content; what is no JSON has none."""
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
        """What a file of the usual version says that it is."""
        return self.numbered(self.version)

    def numbered(self, version: int) -> str:
        """What a file of some version says that it is."""
        return f"dxprivacy-{self.name}/{version}"

    def reads(self, text: object) -> bool:
        """Whether a file that calls itself so can be read."""
        return any(text == self.numbered(k) for k in range(self.version, self.newest + 1))


WITH_RECONSTRUCTION = 6  # of plans and releases: they carry the way from what was counted to what was asked
PLAN = Format("plan", "plan", 5, WITH_RECONSTRUCTION)
RELEASE = Format("release", "release", 5, WITH_RECONSTRUCTION)
SELECTION_PLAN = Format("selection-plan", "planned selection")
SELECTION = Format("selection", "released selection")
REPORT = Format("synthesis", "report on synthetic records")
JOURNAL, JOURNAL_VERSION = "dxprivacy journal", 1  # the first line of an exported ledger


def software() -> str:
    """Who wrote a file: this software, and its version."""
    return f"dxprivacy {importlib.metadata.version('dxprivacy')}"
