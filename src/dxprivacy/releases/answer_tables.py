"""Answers as tables: one for each query and what it is grouped by, with a column for each attribute.

Everything follows from the answers themselves, whatever kind of query they belong to: rows stand in the order in
which groups were asked for, the first attribute slowest, and no label is blank.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Generic, Protocol, TypeVar

# -- What an answer is called where no column says what it is grouped by -----------------------------------------------
# Labels leave that out: `1` may be a month or an hour.  Names say it where it is needed, and name groups in the order
# in which they were asked for.  Stored labels stay what they are.


class Labeled(Protocol):
    """An answer, planned or released."""

    @property
    def label(self) -> str:
        """As it is stored."""

    @property
    def query(self) -> Hashable:
        """What tells its query from others."""

    @property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """By what it is grouped, and its label there."""


def names(answers: Sequence[Labeled], first: int | None = None) -> list[str]:
    """Labels with the attribute before numbers, and before all that several queries would call the same.

    Of the `first` few only, where no more are shown: what they are called depends on all.

    >>> from dxprivacy.universe.workload import Answer
    >>> from dxprivacy.universe.answers import Linear
    >>> one = Linear(0, 1)
    >>> names([Answer("1, M", 0, one, groups=(("month", "1"), ("sex", "M"))), Answer("mean age", 1, one)])
    ['month 1, M', 'mean age']
    """
    texts: dict[tuple[Hashable, str], set[str]] = {}
    labels: dict[tuple[Hashable, tuple[str, ...]], set[str]] = {}  # by query and what they are grouped by
    for answer in answers:
        columns = tuple([column for column, _ in answer.groups])
        labels.setdefault((answer.query, columns), set()).add(answer.label)
        for column, text in answer.groups:
            texts.setdefault((answer.query, column), set()).add(text)
    several = _grouped_otherwise(labels)
    named = {key for key, found in texts.items() if key[0] in several or are_numbers(found)}
    told = {
        (query, column, text): f"{column} {visible(text)}" if (query, column) in named else visible(text)
        for (query, column), found in texts.items()
        for text in found
    }
    return [_name(answer, told) for answer in islice(answers, first)]


def _grouped_otherwise(labels: dict[tuple[Hashable, tuple[str, ...]], set[str]]) -> set[Hashable]:
    """The queries with a label that also stands for an answer which is grouped by something else."""
    by_columns: dict[tuple[str, ...], set[str]] = {}
    for (_, columns), found in labels.items():
        by_columns.setdefault(columns, set()).update(found)
    seen: set[str] = set()
    twice: set[str] = set()
    for found in by_columns.values():
        twice |= seen & found
        seen |= found
    return {query for (query, _), found in labels.items() if not twice.isdisjoint(found)} if twice else set()


def are_numbers(texts: Iterable[str]) -> bool:
    """Numbers, ranges and days; not a place or two whose names begin with a digit."""
    bare = [not text[:1].isalpha() for text in texts]
    return 2 * sum(bare) >= len(bare)


def _name(answer: Labeled, told: Mapping[tuple[Hashable, str, str], str]) -> str:
    groups = answer.groups
    before = _before_groups(answer.label, groups)
    if before is None and len(groups) > 1:  # `quantile 0.25 of age, F`: the last column stands before the groups
        said, groups = f" {groups[-1][1]} ", groups[:-1]
        before = _before_groups(answer.label, groups)
        before = before if before is not None and said in before else None
    # A title of its own says what it is, and the label of a marginal names all its attributes.
    if before is None or (before and not before.endswith(", ")):
        return visible(answer.label)
    query = answer.query
    return before + ", ".join([told[query, column, text] for column, text in groups])


def _before_groups(label: str, groups: Sequence[tuple[str, str]]) -> str | None:
    """What a label says before its groups, in whatever order it names them; None where it does not end in them."""
    grouped = ", ".join([text for _, text in groups])
    at = len(label) - len(grouped)
    tail = label[at:] if at >= 0 else ""
    if not groups or not (tail == grouped or sorted(tail) == sorted(grouped)):
        return None
    return label[:at]


def visible(text: str) -> str:
    """A text that can be seen: one that is blank stands in quotes.

    >>> visible("M"), visible(""), visible("  ")
    ('M', '“”', '“  ”')
    """
    return text if text and not text.isspace() else f"“{text}”"


# -- Answers as tables -------------------------------------------------------------------------------------------------


A = TypeVar("A", bound=Labeled)
ANSWER = "answer"
"""The column of answers that say nothing of groups, where a query has several: their labels."""


@dataclass(frozen=True)
class AnswerTable(Generic[A]):
    """The answers of a query that are grouped by the same: `groups` has a label for each column, answer by answer.

    A query for one number has no columns.  `places` says where the answers stand among all.
    """

    query: str
    columns: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    answers: tuple[A, ...]
    places: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def lone(self) -> bool:
        """Whether it is the one number that a query asks for."""
        return not self.columns

    @property
    def title(self) -> str:
        """Its query; what it is grouped by is said where the query has several tables."""
        return self.query if self.lone else f"{self.query}: {' × '.join(self.columns)}"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What its answers are called below their query: their groups, with the attribute before numbers."""
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
    """Query by query, each with its tables, in the order of the answers.

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
        members.setdefault((answer.query, tuple([column for column, _ in answer.groups])), []).append(k)
    place = {query: k for k, query in enumerate(dict.fromkeys(query for query, _ in members))}
    ordered = sorted(members.items(), key=lambda found: place[found[0][0]])
    return [_table(str(query), columns, answers, places) for (query, columns), places in ordered]


def _table(query: str, columns: tuple[str, ...], every: Sequence[A], places: Sequence[int]) -> AnswerTable[A]:
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
        query,
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
