"""The answers of a release as JSON, by the hundred thousand: what `content` says, without a dictionary for each.

Both texts are those that `formats.canonical` and `wording.json_text` would make of the dictionaries
(tests/unit/releases/test_answers_text.py compares them).  They come in pieces, so that neither is held twice.
"""

from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring as quoted
from typing import Protocol

from dxprivacy.formats.canonical import canonical, in_order

_PIECE = 250  # answers
_BOOL = {False: "false", True: "true"}


class Answered(Protocol):
    """A released answer: see `release.Row`."""

    @property
    def label(self) -> str: ...
    @property
    def question(self) -> str: ...
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
    """The list of answers, which writes itself: none of them empty, see `wording.Written`."""

    def __init__(self, answers: Sequence[Answered]) -> None:
        self._answers = answers
        self._pairs: dict[tuple[str, str], tuple[str, str]] = {}  # groups are few, and stand in many answers

    def canonical_pieces(self) -> Iterator[str]:
        """For digests: members sorted, nothing between tokens, whole numbers without a point."""
        yield from self._listed(self._canonical, "[", ",")
        yield "]"

    def written_pieces(self, before: str) -> Iterator[str]:
        """For files: each answer on a line of its own, behind its blanks."""
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
            f'"label":{quoted(r.label)},"low":{canonical(r.low)},{missed}"question":{quoted(r.question)},'
            f'"unit":{quoted(r.unit)},"vague":{_BOOL[r.vague]},"value":{canonical(r.value)}}}'
        )

    def _written(self, r: Answered) -> str:
        """Numbers as Python writes them, which is how its JSON does; that they are finite was seen to by the digest."""
        groups = ", ".join([self._pair(pair)[1] for pair in r.groups])
        missed = ', "missed": true' if r.missed else ""
        blur = f', "blur_bias": {r.blur_bias!r}' if r.blur_bias else ""
        return (
            f'{{"label": {quoted(r.label)}, "groups": {{{groups}}}, "value": {r.value!r}, "low": {r.low!r}, '
            f'"high": {r.high!r}, "unit": {quoted(r.unit)}, "question": {quoted(r.question)}, '
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
