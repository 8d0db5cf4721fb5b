"""What answers are called on a screen.

Labels leave out what an answer is grouped by, since files have a column for it: `1` may be a month or an hour.  A
screen has no such columns, so there the attribute is named where it is needed.  Stored labels stay what they are.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby, islice
from typing import Protocol

from dxprivacy.wording import short, tag


class Labelled(Protocol):
    """An answer, planned or released."""

    @property
    def label(self) -> str:
        """As it is stored."""

    @property
    def question(self) -> Hashable:
        """What tells its question from others."""

    @property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """By what it is grouped, and its label there."""


def names(answers: Sequence[Labelled], first: int | None = None) -> list[str]:
    """Labels with the attribute before numbers, and before all that several questions would call the same.

    Of the `first` few only, where no more are shown: what they are called depends on all.

    >>> from dxprivacy.model.workload import Answer
    >>> from dxprivacy.model.recipes import Linear
    >>> one = Linear(0, 1)
    >>> names([Answer("1, M", 0, one, groups=(("month", "1"), ("sex", "M"))), Answer("mean age", 1, one)])
    ['month 1, M', 'mean age']
    """
    texts: dict[tuple[Hashable, str], set[str]] = {}
    labels: dict[tuple[Hashable, tuple[str, ...]], set[str]] = {}  # by question and what they are grouped by
    for answer in answers:
        columns = tuple([column for column, _ in answer.groups])
        labels.setdefault((answer.question, columns), set()).add(answer.label)
        for column, text in answer.groups:
            texts.setdefault((answer.question, column), set()).add(text)
    several = _grouped_otherwise(labels)
    named = {key for key, found in texts.items() if key[0] in several or _are_numbers(found)}
    return [_name(answer, named) for answer in islice(answers, first)]


def _grouped_otherwise(labels: dict[tuple[Hashable, tuple[str, ...]], set[str]]) -> set[Hashable]:
    """The questions with a label that also stands for an answer which is grouped by something else."""
    by_columns: dict[tuple[str, ...], set[str]] = {}
    for (_, columns), found in labels.items():
        by_columns.setdefault(columns, set()).update(found)
    seen: set[str] = set()
    twice: set[str] = set()
    for found in by_columns.values():
        twice |= seen & found
        seen |= found
    return {question for (question, _), found in labels.items() if not twice.isdisjoint(found)} if twice else set()


def _are_numbers(texts: Iterable[str]) -> bool:
    """Numbers, ranges and days; not a place or two whose names begin with a digit."""
    bare = [not text[:1].isalpha() for text in texts]
    return 2 * sum(bare) >= len(bare)


def _name(answer: Labelled, named: set[tuple[Hashable, str]]) -> str:
    grouped = ", ".join(text for _, text in answer.groups)
    before = answer.label.removesuffix(grouped)
    # A title of its own says what it is, and the label of a marginal names all its attributes.
    if not grouped or not answer.label.endswith(grouped) or (before and not before.endswith(", ")):
        return answer.label
    told = (f"{column} {text}" if (answer.question, column) in named else text for column, text in answer.groups)
    return before + ", ".join(told)


def under_headings(lines: Sequence[tuple[str, str, Sequence[str]]]) -> list[list[str]]:
    """Rows of a table from (question, name, further cells): under their questions where names alone would mislead.

    `count by sex` and `count by sex where age=1` have answers of the same names; then questions are headings.
    """
    owners: dict[str, set[str]] = {}
    for question, name, _ in lines:
        owners.setdefault(name, set()).add(question)
    if all(len(found) == 1 for found in owners.values()):
        return [[name, *cells] for _, name, cells in lines]
    out: list[list[str]] = []
    for question, members in groupby(lines, key=lambda line: line[0]):
        rows = [[name, *cells] for _, name, cells in members]
        if len(rows) == 1 and len(owners[rows[0][0]]) == 1:  # it needs no heading: mostly it is the question itself
            out += rows
            continue
        out.append([tag("dim", short(question, _HEADING))])
        out += [[f"  {row[0]}", *row[1:]] for row in rows]
    return out


_HEADING = 94
