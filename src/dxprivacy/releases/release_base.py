"""The base class of releases: name, guarantee, facts for independent verification, and the sealed file."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from json.encoder import encode_basestring as quoted
from typing import Any, Protocol

from dxprivacy.formats.canonical import UNSEALED, canonical, in_order, sealed
from dxprivacy.releases.deployment import FILL_IN, DeploymentFacts, deployment_of
from dxprivacy.wording import Displayed, json_text, shown

# -- The answers of a large release as JSON, without a dictionary for each ---------------------------------------------
# Both texts are those that `formats.canonical` and `wording.json_text` would make of the dictionaries
# (tests/unit/releases/test_answers_text.py compares them).  They come in pieces, to save memory.


_PIECE = 250  # answers
_BOOL = {False: "false", True: "true"}


class Answered(Protocol):
    """A released answer: see `release.Row`."""

    @property
    def label(self) -> str: ...
    @property
    def query(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def unit(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    @property
    def vague(self) -> bool: ...
    @property
    def groups(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def missed(self) -> bool: ...
    @property
    def blur_bias(self) -> float: ...


class AnswersText:
    """A nonempty list of answers that writes itself as JSON; see `wording.Written`."""

    def __init__(self, answers: Sequence[Answered]) -> None:
        self._answers = answers
        self._pairs: dict[tuple[str, str], tuple[str, str]] = {}  # few groups occur in many answers

    def canonical_pieces(self) -> Iterator[str]:
        """Yield the canonical text for digests: members sorted, no blanks, integers without a point."""
        yield from self._listed(self._canonical, "[", ",")
        yield "]"

    def written_pieces(self, before: str) -> Iterator[str]:
        """Yield the text for files: each answer on a line of its own, indented."""
        yield from self._listed(self._written, f"[\n{before * 2}", f",\n{before * 2}")
        yield f"\n{before}]"

    def _listed(self, text_of: Callable[[Answered], str], start: str, between: str) -> Iterator[str]:
        for at in range(0, len(self._answers), _PIECE):
            yield (between if at else start) + between.join(map(text_of, self._answers[at : at + _PIECE]))

    def _canonical(self, r: Answered) -> str:
        blur = f'"blur_bias":{canonical(r.blur_bias)},' if r.blur_bias else ""
        missed = '"missed":true,' if r.missed else ""
        return (
            f'{{{blur}"exact":{_BOOL[r.exact]},"groups":{self._sorted_groups(r.groups)},"high":{canonical(r.high)},'
            f'"label":{quoted(r.label)},"low":{canonical(r.low)},{missed}"query":{quoted(r.query)},'
            f'"unit":{quoted(r.unit)},"vague":{_BOOL[r.vague]},"value":{canonical(r.value)}}}'
        )

    def _written(self, r: Answered) -> str:
        """Write an answer for files, with numbers as in Python's JSON; `_canonical` checked that they are finite."""
        groups = ", ".join([self._pair(pair)[1] for pair in r.groups])
        missed = ', "missed": true' if r.missed else ""
        blur = f', "blur_bias": {r.blur_bias!r}' if r.blur_bias else ""
        return (
            f'{{"label": {quoted(r.label)}, "groups": {{{groups}}}, "value": {r.value!r}, "low": {r.low!r}, '
            f'"high": {r.high!r}, "unit": {quoted(r.unit)}, "query": {quoted(r.query)}, '
            f'"exact": {_BOOL[r.exact]}, "vague": {_BOOL[r.vague]}{missed}{blur}}}'
        )

    def _sorted_groups(self, groups: tuple[tuple[str, str], ...]) -> str:
        pieces = {pair[0]: self._pair(pair)[0] for pair in groups}
        return "{" + ",".join([pieces[name] for name, _ in in_order(tuple(pieces))]) + "}"

    def _pair(self, pair: tuple[str, str]) -> tuple[str, str]:
        if (found := self._pairs.get(pair)) is None:
            name, text = map(quoted, pair)
            found = self._pairs[pair] = f"{name}:{text}", f"{name}: {text}"
        return found


# -- The base class of releases ----------------------------------------------------------------------------------------


_LONG_TEXT = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Released(Displayed, ABC):
    """Base of everything that is released, with its guarantee; never a true answer."""

    name: str
    guarantee: tuple[str, ...]
    records: int | None  # None if private
    facts: Mapping[str, Any]
    format: str

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return the released content as JSON data."""

    def written_content(self) -> dict[str, Any]:
        """Return the content for writing; long parts may be objects that write themselves."""
        return self.content()

    def to_dict(self) -> dict[str, Any]:
        """Return the whole release as JSON data, sealed with its digest."""
        return self._sealed(self.content())

    def _sealed(self, content: dict[str, Any]) -> dict[str, Any]:
        head = {"format": self.format, "name": self.name, **content}
        return sealed({**head, "guarantee": list(self.guarantee), **self.facts})

    def made(self) -> DeploymentFacts:
        """Describe mechanism and utility, for a registry of deployments."""
        return DeploymentFacts(FILL_IN, FILL_IN)

    def deployment(self) -> dict[str, Any]:
        """Return a record for OpenDP's registry of deployments; facts that only the curator knows are FILL IN."""
        return deployment_of(self.made(), self.facts, self.guarantee, self.records)

    def to_json(self) -> str:
        """Return the whole release as JSON text."""
        return self._text

    @cached_property
    def _text(self) -> str:
        return json_text(self._sealed(self.written_content()))

    def remember(self, text: str) -> None:
        """Keep the text that it was read from, if it is long, so that it need not be written again."""
        if len(text) > _LONG_TEXT:
            self.__dict__["_text"] = text

    def __str__(self) -> str:
        return shown(self)


def common_of(data: Mapping[str, Any], *own: str) -> dict[str, Any]:
    """Read the common parts of a release from JSON data; `own` are the keys of its content."""
    known = {"format", "name", "guarantee", *own, *UNSEALED}
    return {
        "name": data["name"],
        "guarantee": tuple(data["guarantee"]),
        "records": data["records"],
        "facts": {key: value for key, value in data.items() if key not in known},
        "format": data["format"],
    }
