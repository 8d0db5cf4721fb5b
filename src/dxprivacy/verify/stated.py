"""What may be stated of each answer (docs/formats.md, section 7), for very many answers.

Answers that have recipe, noise and shift in common differ by their rows alone, so that the rest is worked out once.
Where all of it is whole, so is the arithmetic: `noise.released` says the same in fractions, and is asked otherwise.
"""

from collections.abc import Sequence
from fractions import Fraction

from dxprivacy.verify import noise
from dxprivacy.verify.noise import Distribution
from dxprivacy.verify.queries import Answer

Option = tuple[float, float, float, bool]
"""A value, both ends of its interval, and whether it says nothing."""


class Stated:
    """What may be stated, given the noise of each row and how far it is moved, per record, on purpose."""

    def __init__(
        self, distributions: Sequence[Distribution], shifts: Sequence[float], records: int, edition: int
    ) -> None:
        self.distributions, self.shifts, self.records, self.edition = distributions, shifts, records, edition
        self._exact: dict[tuple[object, ...], bool] = {}
        self._whole: dict[tuple[object, ...], tuple[int, list[tuple[int, int]]] | None] = {}

    def kind(self, answer: Answer) -> tuple[object, ...]:
        """Equal for answers that differ by their names and rows alone: recipes and distributions live as long as this
        does.
        """
        distributions, shifts = self.distributions, self.shifts
        if answer.count is None and answer.recipe.worked_out is None:
            return id(answer.recipe), id(distributions[answer.row]), shifts[answer.row]
        return id(answer.recipe), *((id(distributions[row]), shifts[row]) for row in answer.rows)

    def exact(self, answer: Answer) -> bool:
        """Whether no row of an answer has noise, or is moved, no cell hides a part of it, and nothing was rounded.

        In edition 2 rounding was passed over.
        """
        kind = self.kind(answer)
        if kind not in self._exact:
            r = answer.recipe
            moved = r.below or r.above or (r.bias if self.edition > 2 else 0)
            moved = moved or (r.worked_out is not None and not r.worked_out.may_be_exact)
            self._exact[kind] = not moved and all(
                self.distributions[row].variance == 0 and not self.shifts[row] for row in answer.rows
            )
        return self._exact[kind]

    def options(self, answer: Answer, rows: Sequence[int | float | Fraction]) -> list[Option]:
        """Value, ends, and whether it says nothing; several where floats cannot tell the width."""
        row = rows[answer.row]
        whole = self._spans(answer) if type(row) is int else None
        if whole is None:
            return noise.released(answer, self.distributions, rows, self.records, self.shifts[answer.row])
        factor, ends = whole
        value = factor * row
        return [(float(value), float(value - down), float(value + up), False) for down, up in ends]

    def _spans(self, answer: Answer) -> tuple[int, list[tuple[int, int]]] | None:
        """Factor and reaches of an answer that is one row, if they are whole."""
        kind = self.kind(answer)
        if kind not in self._whole:
            self._whole[kind] = self._whole_spans(answer)
        return self._whole[kind]

    def _whole_spans(self, answer: Answer) -> tuple[int, list[tuple[int, int]]] | None:
        if answer.count is not None or answer.recipe.ended or answer.recipe.worked_out is not None:
            return None
        factor, ends = noise.spans(answer.recipe, self.distributions[answer.row], self.records, self.shifts[answer.row])
        if any(x.denominator > 1 for x in (factor, *(x for end in ends for x in end))):
            return None
        return int(factor), [(int(down), int(up)) for down, up in ends]
