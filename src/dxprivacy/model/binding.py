"""Binding a question to a universe: names become attributes or properties, groups become rows, numbers a grid."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np

from dxprivacy.errors import DxError, QuestionError, did_you_mean
from dxprivacy.model.arrays import Ints
from dxprivacy.model.attributes import Attribute, Integers, Property
from dxprivacy.model.blocks import AlongAxis, Block, Explicit, Factor, OneHot
from dxprivacy.model.grammar import number_text, write
from dxprivacy.model.grid import to_grid
from dxprivacy.model.numbers import exact
from dxprivacy.model.questions import Condition, Matrix, Question, is_range
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Answer, Linear, Ratio, Workload, stack

MAX_ROWS = 2_000_000
MAX_RANGES = 300


@dataclass(frozen=True)
class Reference:
    """What a name in a question means: an attribute, or a public property of its values."""

    axis: int
    attribute: Attribute
    fact: Property | None = None

    @property
    def name(self) -> str:
        """As a person writes it."""
        return self.fact.name if self.fact else self.attribute.name

    @property
    def unit(self) -> str:
        """The unit of its numbers."""
        return self.fact.unit if self.fact else self.attribute.unit

    @property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The number behind each listed value."""
        return self.fact.numbers if self.fact else self.attribute.numbers

    def text(self, index: int) -> str:
        """The label of a listed value."""
        return self.fact.entries[index] if self.fact else self.attribute.label(index)


def resolve(name: str, universe: Universe) -> Reference:
    """Find `sex`, `home.state`, or just `state` where only one attribute has it."""
    for axis, attribute in enumerate(universe.attributes):
        if attribute.name == name:
            return Reference(axis, attribute)
    owner, _, short = name.rpartition(".")
    found = [
        Reference(axis, attribute, fact)
        for axis, attribute in enumerate(universe.attributes)
        for fact in attribute.properties.values()
        if fact.name == short and owner in ("", attribute.name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise QuestionError(f"“{name}” could be several things", hints=[f"{r.attribute.name}.{short}" for r in found])
    facts = [f"{a.name}.{p}" for a in universe.attributes for p in a.properties]
    known = [*universe.names, *facts]
    shorts = {fact.rpartition(".")[2]: fact for fact in facts}
    close = did_you_mean(name, [*known, *shorts])
    raise QuestionError(
        f"no attribute “{name}”" + (f" · did you mean {close[0][0]}?" if close else ""),
        details=[f"there are: {', '.join(known)}"],
    )


@dataclass(frozen=True)
class Grouping:
    """The group of each value of one attribute (-1 for `other`), and the groups' labels."""

    axis: int
    groups: Ints
    labels: tuple[str, ...]
    name: str = ""


def group(spec: str, universe: Universe) -> Grouping:
    """`age`, `age/10`, `age[0,18,65]`, `home.state`, `elevation/500`."""
    match = re.fullmatch(r"(?P<name>[^\[\]/]+)(?:/(?P<width>[^\[\]/]+)|\[(?P<edges>[^\[\]]*)\])?", spec.strip())
    if match is None:
        raise QuestionError(f"cannot group by “{spec}”", hints=["age", "age/10", "age[0,18,65]"])
    ref = resolve(match["name"].strip(), universe)
    if match["width"] is not None:
        width = Fraction(exact(match["width"], what=f"the width of {ref.name}"))
        if width <= 0:
            raise QuestionError(f"cannot group {ref.name} by steps of {match['width']}")
        keys = _floor_divided(ref, _numbers(ref, spec), width)
        order, groups = np.unique(keys, return_inverse=True)
        span = _Span.of(_numbers(ref, spec))
        labels_ = [span.between(int(k) * width, (int(k) + 1) * width) for k in order]
        return _grouping(ref, groups.reshape(-1).tolist(), labels_)
    if match["edges"] is not None:
        edges = [Fraction(exact(e, what=f"an edge of {ref.name}")) for e in match["edges"].split(",") if e.strip()]
        if not edges or any(a >= b for a, b in pairwise(edges)):
            raise QuestionError(f"the edges of {ref.name} must grow", hints=[f"{ref.name}[0,18,65]"])
        numbers = _numbers(ref, spec)
        at = [sum(e <= v for e in edges) - 1 for v in numbers]
        ends = [*edges[1:], None]
        span = _Span.of(numbers)
        names_ = [span.between(a, b) for a, b in zip(edges, ends, strict=True)]
        return _grouping(ref, at, names_)
    labels: dict[str, int] = {}
    texts = [ref.text(k) for k in range(ref.attribute.listed)]
    if ref.fact is not None:
        for text in sorted(set(texts), key=lambda t: (_as_number(ref, t), t)):
            labels[text] = len(labels)
        return _grouping(ref, [labels[t] for t in texts], list(labels))
    return _grouping(ref, list(range(len(texts))), texts)


def _as_number(ref: Reference, text: str) -> Fraction:
    return Fraction(exact(text)) if ref.numbers is not None else Fraction(0)


def _floor_divided(ref: Reference, numbers: tuple[Fraction, ...], width: Fraction) -> Ints:
    """floor(v / width) for each value; whole numbers and widths at once."""
    if isinstance(ref.attribute, Integers) and ref.fact is None and width.denominator == 1:
        low, high = ref.attribute.low, ref.attribute.high
        return np.arange(low, high + 1, dtype=np.int64) // np.int64(width.numerator)
    return np.array([int(v // width) for v in numbers], dtype=np.int64)


@dataclass(frozen=True)
class _Span:
    """What all values have in common, for the labels of groups."""

    low: Fraction
    high: Fraction
    whole: bool

    @classmethod
    def of(cls, numbers: tuple[Fraction, ...]) -> "_Span":
        return cls(min(numbers), max(numbers), all(v.denominator == 1 for v in numbers))

    def between(self, low: Fraction, high: Fraction | None) -> str:
        if high is None:
            return f"{number_text(low)}+"
        if self.whole and low.denominator == high.denominator == 1:
            first, last = max(low, self.low), min(high - 1, self.high)
            return f"{number_text(first)}–{number_text(last)}" if last > first else number_text(first)
        return f"{number_text(low)} to {number_text(high)}"


def _grouping(ref: Reference, groups: list[int], labels: list[str]) -> Grouping:
    """Groups that no possible record can be in are left out: their count would always be 0."""
    present = sorted(set(groups) - {-1})
    if len(present) < len(labels):
        place = {old: new for new, old in enumerate(present)} | {-1: -1}
        groups, labels = [place[g] for g in groups], [labels[g] for g in present]
    padded = groups + [-1] * ref.attribute.has_other
    name = f"{ref.attribute.name}.{ref.name}" if ref.fact else ref.name
    return Grouping(ref.axis, np.array(padded, dtype=np.int64), tuple(labels), name)


def _numbers(ref: Reference, spec: str) -> tuple[Fraction, ...]:
    if ref.numbers is None:
        raise QuestionError(f"{ref.name} has no numbers, so “{spec}” has no meaning", hints=[ref.name])
    return ref.numbers


def selected(
    name: str, wanted: Condition, universe: Universe
) -> tuple[int, "np.ndarray[tuple[int], np.dtype[np.bool_]]"]:
    """Which values of an attribute fulfil a condition."""
    ref = resolve(name, universe)
    mask = np.zeros(ref.attribute.size, dtype=bool)
    if is_range(wanted):
        low, high = wanted
        hit = [k for k, v in enumerate(_numbers(ref, name)) if low <= v <= high]  # type: ignore[operator]
    elif ref.fact is None:
        hit = [ref.attribute.find(v) for v in wanted]
    else:
        unknown = [str(v) for v in wanted if v not in ref.fact.entries]
        if unknown:
            raise QuestionError(
                f"{ref.name} has no value {unknown[0]!r}", hints=did_you_mean(unknown[0], set(ref.fact.entries))
            )
        hit = [k for k, entry in enumerate(ref.fact.entries) if entry in wanted]
    if not hit:
        raise QuestionError(f"no possible record fulfils the condition on {ref.name}")
    mask[hit] = True
    return ref.axis, mask


def bind(question: Question, universe: Universe) -> Workload:
    """The rows of a question."""
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
    labels = [_joined(grouping.labels[a], grouping.labels[b]) for a, b in spans]
    answers = [Answer(label, 0, Linear(k, Fraction(1)), "", question.within) for k, label in enumerate(labels)]
    spanned = replace(grouping, labels=tuple(labels))
    return Workload(universe, (block,), _in_groups(answers, [spanned], universe), (str(question),))


def _joined(first: str, last: str) -> str:
    """`0–9` and `30–39` together are `0–39`; with `65+` they are `0+`."""
    if first == last:
        return first
    start = first.partition("–")[0]
    return f"{start}+" if last.endswith("+") else f"{start}–{last.rpartition('–')[2]}"


def _marginals(question: Question, universe: Universe) -> Workload:
    """All tables of so many attributes."""
    order = int(question.of) if question.of.isdigit() else 0
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
    for name, wanted in question.where:
        axis, mask = selected(name, wanted, universe)
        sizes.setdefault(axis, 1)
        current = groups.setdefault(axis, np.zeros(universe.shape[axis], dtype=np.int64))
        current[~mask] = -1
    labels = _labels(question, groupings, sizes)
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
    filtered = bool(groups)
    weighed = ref.attribute.values_in_sums(numbers)  # with the one for `other`, which may lie outside the range
    bounds = (min(weighed), max(weighed))
    centre = (bounds[0] + bounds[1]) / 2 if question.ask == "mean" and filtered else Fraction(0)
    weights = to_grid([v - centre for v in weighed])
    sizes.setdefault(ref.axis, 1)
    sums = _block(universe, groups, sizes, ref.axis, weights.whole, unit=weights.unit, bias=weights.bias)
    if question.ask == "mean" and filtered:
        counts = _block(universe, groups, sizes)
        recipes: list[Linear | Ratio] = [
            Ratio(k, sums.rows + k, weights.unit, centre, *bounds, weights.bias) for k in range(sums.rows)
        ]
        blocks: tuple[Block, ...] = (sums, counts)
    else:
        mean = question.ask == "mean"
        recipes = [Linear(k, weights.unit, weights.bias, per_record=mean) for k in range(sums.rows)]
        blocks = (sums,)
    answers = [Answer(label, 0, r, ref.unit, question.within) for label, r in zip(labels, recipes, strict=True)]
    return Workload(universe, blocks, _in_groups(answers, groupings, universe), (str(question),))


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
        block: Block = Explicit(universe, question.whole, unit=question.factor, bias=question.bias)
    block = _one_hot(question, universe) or block
    labels = question.labels or tuple(f"row {k + 1}" for k in range(block.rows))
    answers = tuple(
        Answer(label, 0, Linear(k, block.unit, block.bias), "", question.within, groups=(("row", label),))
        for k, label in enumerate(labels)
    )
    return _announced(Workload(universe, (block,), answers), str(question), question.weight)


def _one_hot(question: Matrix, universe: Universe) -> OneHot | None:
    """A matrix with at most one entry per column, over one attribute, is a table."""
    from scipy.sparse import coo_array

    entries = coo_array(question.whole)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    if len(universe.attributes) != 1 or len(np.unique(entries.col)) != entries.nnz or not entries.nnz:
        return None
    groups = np.full(universe.size, -1, dtype=np.int64)
    values = np.zeros(universe.size, dtype=np.int64)
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


def _labels(question: Question, groupings: list[Grouping], sizes: dict[int, int]) -> list[str]:
    """One label per row, in the order of the rows: attributes in the universe's order, the last fastest."""
    named = {g.axis: g.labels for g in groupings}
    if not named:
        return [f"{question.ask} {question.of}".strip() if not question.where else write(question, goals=False)]
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
