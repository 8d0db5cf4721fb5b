"""Answers after post-processing: the steps applied, and the meaning of the intervals.

Invariant: nothing here reads data, so post-processing a release costs nothing and keeps its guarantee.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.releases.answer_tables import free_name
from dxprivacy.releases.release import Release, Row
from dxprivacy.tabular import NUMBER, TEXT, Columns, Printable, Tabular
from dxprivacy.wording import OneLine, plural, shown

FREE = "post-processing of released answers: it costs nothing, and the guarantee of the release holds unchanged"
INTERVALS = (
    "intervals are those of the released answers, cut to what is possible: they hold for the true values, and the new "
    "values need not be in their middle, or inside"
)


@dataclass(frozen=True, eq=False)
class Processed(OneLine, Tabular, Printable):
    """Values computed from released ones, in the same order, and the steps applied.

    `answers` has a row for each value of a release, with the same label; `release` is their source.

    >>> import dxprivacy as dx
    >>> dx.post.nonnegative([3.0, -1.0, 2.0])
    Processed(non-negative, 3 values)
    """

    values: Floats
    done: tuple[str, ...]
    answers: tuple[Row, ...] = ()
    release: Release | None = None
    frame: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...] = ()

    def in_short(self) -> str:
        return f"{', '.join(self.done) or 'as released'}, {plural(len(self.values), 'value')}"

    @property
    def note(self) -> str:
        """The steps applied, and what they mean for guarantee and intervals."""
        text = f"{', '.join(self.done)} · {FREE}"
        return f"{text}; {INTERVALS}" if self.answers else text

    @property
    def tables(self) -> dict[tuple[str, ...], Floats]:
        """The given tables after processing."""
        out, start = {}, 0
        for names, shape in self.frame:
            size = int(np.prod(shape, dtype=np.int64))
            out[names] = self.values[start : start + size].reshape(shape)
            start += size
        return out

    def rows(self) -> list[dict[str, Any]]:
        """Return the answers as plain dictionaries; `processed` lists the steps applied."""
        if self.release is None:
            return [{"value": value, "processed": list(self.done)} for value in self.values.tolist()]
        rows = replace(self.release, answers=self.answers).rows()
        return [row | {"processed": list(self.done)} for row in rows]

    def _columns(self) -> Columns:
        """Return the columns of the release, or the values of plain numbers; the last column names the steps."""
        done = ", ".join(self.done)
        if self.release is None:
            return Columns.of([("value", NUMBER), ("processed", TEXT)], [(x, done) for x in self.values.tolist()])
        head, lines = replace(self.release, answers=self.answers)._lines()
        last = free_name("processed", [name for name, _ in head])
        return Columns.of([*head, (last, TEXT)], ([*line, done] for line in lines))

    def to_dict(self) -> dict[str, Any]:
        """Write it as JSON data."""
        name = {} if self.release is None else {"release": self.release.name}
        return {**name, "answers": self.rows(), "done": list(self.done), "note": self.note}

    def __str__(self) -> str:
        return shown(self)


def start(given: Release | Processed | Floats) -> Processed:
    """Start processing a release, the result of an earlier step, or plain numbers."""
    if isinstance(given, Processed):
        return given
    if isinstance(given, Release):
        return Processed(np.array([r.value for r in given.answers]), (), given.answers, given)
    return Processed(given, ())


def after(
    before: Processed, values: Floats, what: str, ends: Mapping[int, tuple[float, float]] | None = None
) -> Processed:
    """Return the result of one step; `ends` are intervals that became narrower, by position of the answer."""
    values = values.copy()
    values.setflags(write=False)
    done = before.done if what in before.done[-1:] else (*before.done, what)
    rows = []
    for place, (row, value) in enumerate(zip(before.answers, values.tolist(), strict=True) if before.answers else ()):
        low, high = (ends or {}).get(place, (row.low, row.high))
        rows.append(replace(row, value=value, low=low, high=high))
    return Processed(values, done, tuple(rows), before.release, before.frame)
