"""Binding a question to a universe: names become attributes or properties, groups become rows, numbers a grid."""

import math
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from dxprivacy.errors import DxError, QuestionError
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.grid import to_grid
from dxprivacy.model.blocks import AlongAxis, Block, Explicit, Factor, OneHot
from dxprivacy.model.recipes import Linear, Ratio
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Answer, Workload, stack
from dxprivacy.questions.grammar import write
from dxprivacy.questions.grouping import Grouping, Reference, group, resolve, selected, told
from dxprivacy.questions.questions import Matrix, Question

MAX_ROWS = 2_000_000
MAX_RANGES = 300
_REMEMBERED_ROWS = 100_000
_RECENT: deque[tuple[Question, Universe, Workload]] = deque(maxlen=8)
_HALF = re.compile("[\ud800-\udfff]")


def bind(question: Question, universe: Universe) -> Workload:
    """The rows of a question; those of the last few are remembered, since adaptive mechanisms ask again and again."""
    for known, where, bound in tuple(_RECENT):
        if where is universe and known == question:  # not merely equal: units are no part of what makes them so
            return bound
    bound = _bind(question, universe)
    if bound.rows <= _REMEMBERED_ROWS:
        _RECENT.append((question, universe, bound))
    return bound


def _bind(question: Question, universe: Universe) -> Workload:
    kinds = {"prefixes": _intervals, "ranges": _intervals, "marginals": _marginals}
    with _placed(question):
        bound = kinds.get(question.ask, _grouped)(question, universe)
    return _announced(bound, question.title or str(question), question.weight, question.title)


@contextmanager
def _placed(question: Question | Matrix) -> Iterator[None]:
    """Errors that say neither where nor what to do get the question they are about."""
    try:
        yield
    except DxError as error:
        if error.where or error.hints or error.details:
            raise
        raise type(error)(error.what, where=f"question “{question}”") from None


def _announced(bound: Workload, title: str, weight: Fraction, label: str = "") -> Workload:
    """The rows of one question under its title, with its weight; `label` names a single answer."""
    answers = bound.answers
    if any(_HALF.search(text) for text in (title, *(a.label for a in answers))):
        raise QuestionError(
            "a title or label has half of a character (a lone surrogate), which no file can hold",
            hints=["write the title or the labels anew"],
        )
    if weight != 1:
        answers = tuple(replace(a, weight=weight) for a in answers)
    if label and len(answers) == 1:
        answers = (replace(answers[0], label=label),)
    return replace(bound, answers=answers, titles=(title,))


def _intervals(question: Question, universe: Universe) -> Workload:
    """Counts of intervals of an ordered attribute: from the start to each value, or between any two."""
    grouping = group(question.of, universe)
    n = len(grouping.labels)
    if question.ask == "prefixes":
        spans = [(0, k) for k in range(n)]
    else:
        if n > MAX_RANGES:
            raise QuestionError(
                f"all ranges of {n:,} values are too many",
                where=f"question “{question}”",
                hints=[(f"{question.ask} {question.of}/10", "fewer, wider steps"), "prefixes"],
            )
        spans = [(a, b) for a in range(n) for b in range(a, n)]
    groups = grouping.groups
    matrix = np.array([(groups >= a) & (groups <= b) for a, b in spans], dtype=np.int64)
    block = AlongAxis(universe, grouping.axis, matrix)
    labels = [joined(grouping.labels[a], grouping.labels[b]) for a, b in spans]
    answers = [Answer(label, 0, Linear(k, Fraction(1)), "", question.within) for k, label in enumerate(labels)]
    spanned = replace(grouping, labels=tuple(labels))
    return Workload(universe, (block,), _in_groups(answers, [spanned], universe), (str(question),))


def joined(first: str, last: str) -> str:
    """`0–9` and `30–39` together are `0–39`; with `65+` they are `0+`; so are `0 to 10` and `10 to 20`."""
    if first == last:
        return first
    if " to " in first and last.endswith("+"):
        return f"{first.partition(' to ')[0]}+"
    if " to " in first and " to " in last:
        return f"{first.partition(' to ')[0]} to {last.partition(' to ')[2]}"
    start = first.partition("–")[0]
    return f"{start}+" if last.endswith("+") else f"{start}–{last.rpartition('–')[2]}"


def _marginals(question: Question, universe: Universe) -> Workload:
    """All tables of so many attributes."""
    order = int(question.of) if re.fullmatch("[0-9]{1,9}", question.of) else 0  # isdigit() is also true of ²
    if not 1 <= order <= len(universe.attributes):
        raise QuestionError(
            f"{question.of}-way tables of {len(universe.attributes)} attributes do not exist",
            where=f"question “{question}”",
        )
    tables = [
        _grouped(Question("count", by=names, within=question.within), universe)
        for names in combinations(universe.names, order)
    ]
    whole = stack(tables)
    answers = tuple(
        replace(a, question=0, label=f"{', '.join(_by(tables, a.question))}: {a.label}") for a in whole.answers
    )
    return Workload(universe, whole.blocks, answers, (str(question),))


def _by(tables: list[Workload], question: int) -> tuple[str, ...]:
    return tuple(tables[question].universe.names[axis] for axis in tables[question].blocks[0].axes)


def _grouped(question: Question, universe: Universe) -> Workload:
    """The rows of a count, sum or mean."""
    groupings = [group(spec, universe) for spec in question.by]
    axes = [g.axis for g in groupings]
    if len(set(axes)) != len(axes):
        raise QuestionError("one attribute can be grouped only once", where=f"question “{question}”")
    groups: dict[int, Ints] = {g.axis: g.groups.copy() for g in groupings}
    sizes = {g.axis: len(g.labels) for g in groupings}
    part = Fraction(1, math.prod(sizes.values()))
    for name, wanted in question.where:
        axis, mask = selected(name, wanted, universe)
        listed = universe.attributes[axis].listed
        part *= Fraction(max(int(mask[:listed].sum()), 1), listed) if axis not in axes else 1
        sizes.setdefault(axis, 1)
        current = groups.setdefault(axis, np.zeros(universe.shape[axis], dtype=np.int64))
        current[~mask] = -1
    labels = _labels(question, groupings, sizes, universe)
    if len(labels) > MAX_ROWS:
        raise QuestionError(f"{len(labels):,} answers are more than {MAX_ROWS:,}", where=f"question “{question}”")
    if question.ask == "count":
        _require_unit(question, "")
        block = _block(universe, groups, sizes)
        answers = [Answer(label, 0, Linear(k, Fraction(1)), "", question.within) for k, label in enumerate(labels)]
        return Workload(universe, (block,), _in_groups(answers, groupings, universe), (str(question),))
    ref = resolve(question.of, universe)
    numbers = ref.numbers
    if numbers is None:
        raise QuestionError(f"{ref.name} has no numbers to add up", where=f"question “{question}”")
    _require_unit(question, ref.unit)
    left_out = question.missing == "left out" and ref.attribute.has_other and not ref.attribute.complete
    if left_out:
        _leave_out_other(ref, groups, sizes, universe)
    filtered = bool(groups) or universe.absent is not None  # then the number of records is private
    missing = Fraction(0) if question.missing == "zero" else None
    weighed = ref.attribute.values_in_sums(numbers, missing)  # `other` may lie outside the range
    counted = numbers if left_out else weighed
    below, above = ref.hides
    ends = ref.ends(counted)
    centre = (min(counted) + max(counted)) / 2 if question.ask == "mean" and filtered else Fraction(0)
    weights = to_grid([v - centre for v in counted] + [Fraction(0)] * left_out)
    sizes.setdefault(ref.axis, 1)
    sums = _block(universe, groups, sizes, ref.axis, weights.whole, unit=weights.unit, bias=weights.bias)
    if question.ask == "mean" and filtered:
        counts = _block(universe, groups, sizes)
        recipes: list[Linear | Ratio] = [
            Ratio(k, sums.rows + k, weights.unit, centre, *ends, weights.bias, below, above, part)
            for k in range(sums.rows)
        ]
        blocks: tuple[Block, ...] = (sums, counts)
    else:
        mean = question.ask == "mean"
        within = ends if mean else None
        recipes = [Linear(k, weights.unit, weights.bias, mean, below, above, within) for k in range(sums.rows)]
        blocks = (sums,)
    answers = [Answer(label, 0, r, ref.unit, question.within) for label, r in zip(labels, recipes, strict=True)]
    return Workload(universe, blocks, _in_groups(answers, groupings, universe), (str(question),))


def _leave_out_other(ref: Reference, groups: dict[int, Ints], sizes: dict[int, int], universe: Universe) -> None:
    """Only valid entries count: `other` is in no group of its attribute."""
    valid = groups.setdefault(ref.axis, np.zeros(universe.shape[ref.axis], dtype=np.int64))
    valid[ref.attribute.listed] = -1
    sizes.setdefault(ref.axis, 1)
    if (valid < 0).all():
        raise QuestionError(
            f"a mean is over valid entries, and {ref.name}=other has none", hints=[f"count where {ref.name}=other"]
        )


def _in_groups(answers: list[Answer], groupings: list[Grouping], universe: Universe) -> tuple[Answer, ...]:
    """The answers with the group that each stands for; their order is that of `_labels`."""
    ordered = sorted(groupings, key=lambda g: g.axis)
    named = [[(_column(g.name, universe), label) for label in g.labels] for g in ordered]
    return tuple(replace(a, groups=groups) for a, groups in zip(answers, product(*named), strict=True))


def _column(name: str, universe: Universe) -> str:
    """`home.state` is just `state` where nothing else is called so."""
    short = name.rpartition(".")[2]
    facts = [fact for attribute in universe.attributes for fact in attribute.properties]
    return short if short != name and facts.count(short) == 1 and short not in universe.names else name


def bind_matrix(question: Matrix, universe: Universe) -> Workload:
    """Explicit rows; where each record counts in at most one row, the structure is used."""
    with _placed(question):
        whole = with_absent(question.whole, universe)
        block: Block = Explicit(universe, whole, unit=question.factor, bias=question.bias)
    block = _one_hot(question, universe) or block
    labels = question.labels or tuple(f"row {k + 1}" for k in range(block.rows))
    answers = tuple(
        Answer(label, 0, Linear(k, block.unit, block.bias), "", question.within, groups=(("row", label),))
        for k, label in enumerate(labels)
    )
    return _announced(Workload(universe, (block,), answers), str(question), question.weight)


def with_absent(whole: Any, universe: Universe) -> Any:
    """One more column, for the record of somebody who is not there: no question counts it."""
    if universe.absent is None:
        return whole
    if whole.shape[1] != universe.cells:  # a column for `absent` could hide what the presence of a record changes
        raise QuestionError(
            f"a question matrix of shape {whole.shape}; it needs {universe.cells:,} columns, and none for `absent`"
        )
    nobody = np.zeros((whole.shape[0], 1), dtype=whole.dtype)
    if isinstance(whole, np.ndarray):
        return np.hstack([whole, nobody])
    from scipy.sparse import csr_array, hstack

    return hstack([whole, csr_array(nobody)], format="csr", dtype=whole.dtype)


def _one_hot(question: Matrix, universe: Universe) -> OneHot | None:
    """A matrix with at most one entry per column, over one attribute, is a table."""
    from scipy.sparse import coo_array

    entries = coo_array(question.whole)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    alone = len(universe.attributes) == 1 and question.whole.shape[1] == universe.cells
    if not alone or len(np.unique(entries.col)) != entries.nnz or not entries.nnz:
        return None
    groups = np.full(universe.cells, -1, dtype=np.int64)
    values = np.zeros(universe.cells, dtype=np.int64)
    groups[entries.col], values[entries.col] = entries.row, entries.data
    sizes = {0: question.whole.shape[0]}
    return OneHot(universe, {0: Factor(groups, values)}, sizes, unit=question.factor, bias=question.bias)


def _block(
    universe: Universe,
    groups: dict[int, Ints],
    sizes: dict[int, int],
    weighted: int | None = None,
    weights: Ints | None = None,
    *,
    unit: Fraction = Fraction(1),
    bias: Fraction = Fraction(0),
) -> OneHot:
    factors = {axis: Factor(g.copy(), np.ones(len(g), dtype=np.int64)) for axis, g in groups.items()}
    if weighted is not None and weights is not None:
        column = factors.get(weighted)
        placed = column.groups if column else np.zeros(universe.shape[weighted], dtype=np.int64)
        factors[weighted] = Factor(placed, weights.copy())
    return OneHot(universe, factors, sizes, unit=unit, bias=bias)


def _in_words(question: Question, universe: Universe) -> str:
    """As it was asked, but numbers in cells are named as what is really counted."""
    known = {k: words for k, (name, wanted) in enumerate(question.where) if (words := told(name, wanted, universe))}
    return write(question, goals=False, instead=known)


def _labels(question: Question, groupings: list[Grouping], sizes: dict[int, int], universe: Universe) -> list[str]:
    """One label per row, in the order of the rows: attributes in the universe's order, the last fastest."""
    named = {g.axis: g.labels for g in groupings}
    if not named:
        return [f"{question.ask} {question.of}".strip() if not question.where else _in_words(question, universe)]
    labels = [""]
    for axis in sorted(sizes):
        if axis in named:
            labels = [f"{before}, {label}" if before else label for before in labels for label in named[axis]]
    return [f"{question.ask} {question.of}, {label}" for label in labels] if question.of else labels


def _require_unit(question: Question, unit: str) -> None:
    if question.unit and question.unit != unit:
        raise QuestionError(
            f"the target is in {question.unit}, but "
            + (f"the answer is in {unit}" if unit else "the answer has no unit"),
            where=f"question “{question}”",
        )
