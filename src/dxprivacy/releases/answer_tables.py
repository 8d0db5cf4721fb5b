"""Answers as tables: one for each query and grouping, with a column for each attribute.

Tables follow from the answers alone, for every kind of query: rows are in the order of the query's groups, the first
attribute slowest, and no label is blank.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Generic, Protocol, TypeVar

# -- Names of answers where no column shows the grouping ---------------------------------------------------------------
# Labels omit the attribute: `1` may be a month or an hour.  Names add it where it is needed, and list groups in the
# order of the query.  Stored labels do not change.


class Labeled(Protocol):
    """An answer, planned or released."""

    @property
    def label(self) -> str:
        """The stored label."""

    @property
    def query(self) -> Hashable:
        """A key of its query."""

    @property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """Pairs of column and label."""


def names(answers: Sequence[Labeled], first: int | None = None) -> list[str]:
    """Return labels with the attribute before numbers, and before labels that several queries share.

    With `first`, return only that many names; they still depend on all answers.

    >>> from dxprivacy.universe.workload import Answer
    >>> from dxprivacy.universe.answers import Linear
    >>> one = Linear(0, 1)
    >>> names([Answer("1, M", 0, one, groups=(("month", "1"), ("sex", "M"))), Answer("mean age", 1, one)])
    ['month 1, M', 'mean age']
    """
    texts: dict[tuple[Hashable, str], set[str]] = {}
    labels: dict[tuple[Hashable, tuple[str, ...]], set[str]] = {}  # by query and columns
    for answer in answers:
        columns = tuple([column for column, _ in answer.groups])
        labels.setdefault((answer.query, columns), set()).add(answer.label)
        for column, text in answer.groups:
            texts.setdefault((answer.query, column), set()).add(text)
    several = _grouped_otherwise(labels)
    named = {key for key, found in texts.items() if key[0] in several or are_numbers(found)}
    shown = {
        (query, column, text): f"{column} {visible(text)}" if (query, column) in named else visible(text)
        for (query, column), found in texts.items()
        for text in found
    }
    return [_name(answer, shown) for answer in islice(answers, first)]


def _grouped_otherwise(labels: dict[tuple[Hashable, tuple[str, ...]], set[str]]) -> set[Hashable]:
    """Return the queries with a label that also names an answer with other columns."""
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
    """Whether most texts are numbers, ranges or days; some names may begin with a digit."""
    bare = [not text[:1].isalpha() for text in texts]
    return 2 * sum(bare) >= len(bare)


def _name(answer: Labeled, shown: Mapping[tuple[Hashable, str, str], str]) -> str:
    groups = answer.groups
    before = _before_groups(answer.label, groups)
    if before is None and len(groups) > 1:  # `quantile 0.25 of age, F`: the last column comes before the groups
        level, groups = f" {groups[-1][1]} ", groups[:-1]
        before = _before_groups(answer.label, groups)
        before = before if before is not None and level in before else None
    # A user's title needs no attribute, and the label of a marginal names all its attributes.
    if before is None or (before and not before.endswith(", ")):
        return visible(answer.label)
    query = answer.query
    return before + ", ".join([shown[query, column, text] for column, text in groups])


def _before_groups(label: str, groups: Sequence[tuple[str, str]]) -> str | None:
    """Return the part of a label before its groups, in any order; None if it does not end with them."""
    grouped = ", ".join([text for _, text in groups])
    at = len(label) - len(grouped)
    tail = label[at:] if at >= 0 else ""
    if not groups or not (tail == grouped or sorted(tail) == sorted(grouped)):
        return None
    return label[:at]


def visible(text: str) -> str:
    """Quote a blank text, so that it can be seen.

    >>> visible("M"), visible(""), visible("  ")
    ('M', '“”', '“  ”')
    """
    return text if text and not text.isspace() else f"“{text}”"


# -- Answers as tables -------------------------------------------------------------------------------------------------


A = TypeVar("A", bound=Labeled)
ANSWER = "answer"
"""The column with the labels of a query's several answers that have no groups."""


@dataclass(frozen=True)
class AnswerTable(Generic[A]):
    """The answers of a query with the same columns; `groups` has a label for each column, answer by answer.

    A query for one number has no columns.  `places` are the positions of the answers among all.
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
        """Whether it is the only number of its query."""
        return not self.columns

    @property
    def title(self) -> str:
        """Its query, followed by its columns if there are any."""
        return self.query if self.lone else f"{self.query}: {' × '.join(self.columns)}"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of its answers below their query: their groups, with the attribute before numbers."""
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
        """The table in two directions, if it has two columns and an answer for every combination; else None."""
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
        """The transposed table."""
        return Crosstab(self.across, self.down, tuple(zip(*self.cells, strict=True)))


def tables_of(answers: Sequence[A]) -> list[AnswerTable[A]]:
    """Return the tables of all queries, in the order of the answers.

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
        shown = {text: visible(text) for text in seen}  # equal texts share one string, to save memory
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
    """Return the sort key of each answer: for every column, where its label occurs first."""
    first = [{text: k for k, text in enumerate(dict.fromkeys(column))} for column in zip(*groups, strict=True)]
    return [tuple([place[text] for place, text in zip(first, group, strict=True)]) for group in groups]


def columns_of(answers: Iterable[Labeled]) -> list[str]:
    """Return the columns of all answers, in order of first occurrence."""
    return list(dict.fromkeys(column for answer in answers for column, _ in answer.groups))


def own_columns(names: Sequence[str], ours: Sequence[str]) -> list[str]:
    """Return the names of group columns; a name that collides with one of `ours` becomes `by NAME`.

    >>> own_columns(["sex", "value"], ["value", "low"])
    ['sex', 'by value']
    """
    return [free_name(f"by {name}", [*ours, *names]) if name in ours else name for name in names]


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a column name that is not taken.

    >>> free_name("east", ["east"])
    'by east'
    """
    while name in taken:
        name = f"by {name}"
    return name
