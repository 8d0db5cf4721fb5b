"""What an answer is called where no column says what it is grouped by.

Labels leave that out: `1` may be a month or an hour.  Names say it where it is needed, and name groups in the order in
which they were asked for.  Stored labels stay what they are.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol


class Labeled(Protocol):
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


def names(answers: Sequence[Labeled], first: int | None = None) -> list[str]:
    """Labels with the attribute before numbers, and before all that several questions would call the same.

    Of the `first` few only, where no more are shown: what they are called depends on all.

    >>> from dxprivacy.universe.workload import Answer
    >>> from dxprivacy.universe.answers import Linear
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
    named = {key for key, found in texts.items() if key[0] in several or are_numbers(found)}
    told = {
        (question, column, text): f"{column} {visible(text)}" if (question, column) in named else visible(text)
        for (question, column), found in texts.items()
        for text in found
    }
    return [_name(answer, told) for answer in islice(answers, first)]


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
    question = answer.question
    return before + ", ".join([told[question, column, text] for column, text in groups])


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
