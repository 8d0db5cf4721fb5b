"""Answers as tables: one for each question and what it is grouped by, with a column for each attribute.

Everything follows from the answers themselves, whatever kind of question they belong to: rows stand in the order in
which groups were asked for, the first attribute slowest, and no label is blank.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from dxprivacy.releases.answer_names import Labeled, are_numbers, visible

A = TypeVar("A", bound=Labeled)
ANSWER = "answer"
"""The column of answers that say nothing of groups, where a question has several: their labels."""


@dataclass(frozen=True)
class AnswerTable(Generic[A]):
    """The answers of a question that are grouped by the same: `groups` has a label for each column, answer by answer.

    A question for one number has no columns.  `places` says where the answers stand among all.
    """

    question: str
    columns: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    answers: tuple[A, ...]
    places: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def lone(self) -> bool:
        """Whether it is the one number that a question asks for."""
        return not self.columns

    @property
    def title(self) -> str:
        """Its question; what it is grouped by is said where the question has several tables."""
        return self.question if self.lone else f"{self.question}: {' × '.join(self.columns)}"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What its answers are called below their question: their groups, with the attribute before numbers."""
        if self.lone:
            return tuple(visible(answer.label) for answer in self.answers)
        numbers = [are_numbers(dict.fromkeys(column)) for column in zip(*self.groups, strict=True)]
        named = [
            f"{column} " if column != ANSWER and bare else ""
            for column, bare in zip(self.columns, numbers, strict=True)
        ]
        return tuple(", ".join(map(str.__add__, named, groups)) for groups in self.groups)

    @cached_property
    def crosstab(self) -> "Crosstab[A] | None":
        """The same in two directions, where there are two columns with an answer for every combination."""
        if len(self.columns) != 2:
            return None
        down, across = (tuple(dict.fromkeys(group[k] for group in self.groups)) for k in (0, 1))
        found = dict(zip(self.groups, self.answers, strict=True))
        if min(len(down), len(across)) < 2 or not len(found) == len(self.answers) == len(down) * len(across):
            return None
        return Crosstab(down, across, tuple(tuple(found[a, b] for b in across) for a in down))


@dataclass(frozen=True)
class Crosstab(Generic[A]):
    """A two-way table: groups of its first attribute down, of its second across."""

    down: tuple[str, ...]
    across: tuple[str, ...]
    cells: tuple[tuple[A, ...], ...]

    @property
    def turned(self) -> "Crosstab[A]":
        """The same with rows and columns exchanged."""
        return Crosstab(self.across, self.down, tuple(zip(*self.cells, strict=True)))


def tables_of(answers: Sequence[A]) -> list[AnswerTable[A]]:
    """Question by question, each with its tables, in the order of the answers.

    >>> from dxprivacy.releases.release import Row
    >>> def row(label, **groups):
    ...     return Row(label, "count by age, sex", 1, 0, 2, "", False, groups=tuple(groups.items()))
    >>> answers = [row("M, 1", age="1", sex="M"), row("M, 2", age="2", sex="M"), row("F, 1", age="1", sex="F")]
    >>> (table,) = tables_of(answers)
    >>> table.columns, table.groups
    (('age', 'sex'), (('1', 'M'), ('1', 'F'), ('2', 'M')))
    """
    members: dict[tuple[object, tuple[str, ...]], list[int]] = {}
    for k, answer in enumerate(answers):
        members.setdefault((answer.question, tuple([column for column, _ in answer.groups])), []).append(k)
    place = {question: k for k, question in enumerate(dict.fromkeys(question for question, _ in members))}
    ordered = sorted(members.items(), key=lambda found: place[found[0][0]])
    return [_table(str(question), columns, answers, places) for (question, columns), places in ordered]


def _table(question: str, columns: tuple[str, ...], every: Sequence[A], places: Sequence[int]) -> AnswerTable[A]:
    answers = [every[k] for k in places]
    groups: list[tuple[str, ...]]
    if not columns and len(answers) > 1:
        columns, groups = (ANSWER,), [(visible(a.label),) for a in answers]
    else:
        seen = {text for answer in answers for _, text in answer.groups}
        shown = {text: visible(text) for text in seen}  # one text for all that are the same
        groups = [tuple([shown[text] for _, text in answer.groups]) for answer in answers]
    order = sorted(range(len(answers)), key=_in_order(groups).__getitem__)
    return AnswerTable(
        question,
        columns,
        tuple([groups[k] for k in order]),
        tuple([answers[k] for k in order]),
        tuple([places[k] for k in order]),
    )


def _in_order(groups: Sequence[tuple[str, ...]]) -> list[tuple[int, ...]]:
    """Where each answer stands: for every column where its group comes first."""
    first = [{text: k for k, text in enumerate(dict.fromkeys(column))} for column in zip(*groups, strict=True)]
    return [tuple([place[text] for place, text in zip(first, group, strict=True)]) for group in groups]


def columns_of(answers: Iterable[Labeled]) -> list[str]:
    """Everything that any answer is grouped by, in the order in which it is met."""
    return list(dict.fromkeys(column for answer in answers for column, _ in answer.groups))


def own_columns(names: Sequence[str], ours: Sequence[str]) -> list[str]:
    """The column of everything grouped by: its own name, unless one of ours is called so, which scripts rely on.

    >>> own_columns(["sex", "value"], ["value", "low"])
    ['sex', 'by value']
    """
    return [free_name(f"by {name}", [*ours, *names]) if name in ours else name for name in names]


def free_name(name: str, taken: Sequence[str]) -> str:
    """A name that no other column has.

    >>> free_name("east", ["east"])
    'by east'
    """
    while name in taken:
        name = f"by {name}"
    return name
