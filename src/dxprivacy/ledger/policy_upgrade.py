"""Match the values of two versions of a policy, and decide whether costs can be carried over.

Attributes are matched by their data column, that is by people's entries, not by name.  For a pair of new records, the
carried cost is the largest over all pairs of old records that the same entries could have been.  If a new value
represents several old ones (merged values, a removed attribute, a value that is `other` now), no cost may separate
these: the new policy treats them as one record, at distance 0.  Then any of them represents all.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dxprivacy.errors import LedgerError, PolicyError
from dxprivacy.exact.arrays import Ints
from dxprivacy.ledger.policy_versions import RecordedPolicy, Version
from dxprivacy.metrics import Metric
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.metrics.with_other import WithAbsent, along, present
from dxprivacy.privacy import contexts_of
from dxprivacy.privacy.costs import RowsCost
from dxprivacy.privacy.pullback import Pullback, pull_back
from dxprivacy.universe.attribute_matching import Recoding, Relation, relate
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.blocks import joint_classes
from dxprivacy.universe.file_format import FileFormat
from dxprivacy.universe.loss_terms import Terms
from dxprivacy.universe.universe import REPLACE, Universe
from dxprivacy.wording import digits, numbered

_CONTEXTS = 200_000
_PAIRS = 2_000_000


@dataclass(frozen=True, eq=False)
class Match:
    """One attribute in both versions, by position, with the relation of its values; None if a side is missing."""

    old: int | None
    new: int | None
    relation: Relation | None = None


@dataclass(frozen=True, eq=False)
class Apart:
    """A cost that separates two old values which the new policy treats as one."""

    entry: int
    match: Match
    values: tuple[int, int]
    amount: float | None  # None if there are too many contexts to compute it


@dataclass(frozen=True, eq=False)
class Upgrade:
    """The step from one universe to the next."""

    old: Universe
    new: Universe
    matches: tuple[Match, ...]
    recoded: Mapping[str, Recoding] = field(default_factory=dict)

    @classmethod
    def between(cls, old: Universe, new: Universe, recoded: Mapping[str, Recoding]) -> "Upgrade":
        """Match the attributes by their columns; raises PolicyError if entries cannot be matched."""
        wanted = [_columns_before(attribute, recoded.get(attribute.name)) for attribute in new.attributes]
        _require_known(old, new, recoded, wanted)
        texts = _by_column(new, recoded, wanted)
        matches: list[Match] = []
        used: set[int] = set()
        for axis, attribute in enumerate(old.attributes):
            candidates = [k for k, columns in enumerate(wanted) if columns == _columns(attribute)]
            if not candidates:
                matches.append(Match(axis, None))
                continue
            # Several attributes may read one column: any of them determines the old value.
            relations = _relations(
                attribute, {k: new.attributes[k] for k in candidates}, texts.get(wanted[candidates[0]])
            )
            order = {
                k: (len(r.merged), new.attributes[k].name != attribute.name, k in used) for k, r in relations.items()
            }
            chosen = min(order, key=lambda k: order[k])
            used.add(chosen)
            matches.append(Match(axis, chosen, relations[chosen]))
        matches += [Match(None, k) for k in range(len(new.attributes)) if k not in used]
        return cls(old, new, tuple(matches), recoded)

    @cached_property
    def pullback(self) -> Pullback:
        """The map from new records to representatives among the old ones."""
        sources: list[int | None] = []
        values = []
        for match in self.matches:
            if match.old is not None:
                sources.append(match.new)
                values.append(match.relation.representative if match.relation else np.zeros(1, dtype=np.int64))
        return Pullback(self.old, self.new, tuple(sources), tuple(values))

    @cached_property
    def merged(self) -> tuple[tuple[Match, tuple[int, ...]], ...]:
        """Sets of old values that the new policy merges."""
        out: list[tuple[Match, tuple[int, ...]]] = []
        for match in self.matches:
            if match.old is not None and match.relation is not None:
                out += [(match, values) for _, values in match.relation.merged]
            elif match.old is not None and self.old.shape[match.old] > 1:
                out.append((match, tuple(range(self.old.shape[match.old]))))
        return tuple(out)

    def apart(self, entry: int, cost: RowsCost) -> list[Apart]:
        """Return where a cost over the old universe separates merged values."""
        out = []
        for match, values in self.merged:
            if match.old is not None and (found := _separation(cost, match.old, values)) is not None:
                out.append(Apart(entry, match, found[0], found[1]))
        return out

    def require_same_lines(self) -> None:
        """Refuse another reading of the same lines: a line may then be any record, so no cost can be carried over."""
        before, after = self.old.file, self.new.file
        moved = [
            self.old.attributes[m.old].name
            for m in self.matches
            if m.old is not None
            and m.new is not None
            and _places(before, self.old.attributes[m.old]) != _places(after, self.new.attributes[m.new])
        ]
        if before.read_alike(after) and not moved:
            return
        what = "the lines of a file are read otherwise" if not moved else f"{moved[0]} is read from another position"
        raise PolicyError(
            f"{what} than before; nothing was changed",
            details=[
                f"[file] was: {before or 'not there'}. It is: {after or 'not there'}.",
                "One and the same line may mean another record in a way that cannot be followed.",
            ],
            hints=[
                ("keep [file] as it was", "it speaks about CSV files and sheets alone"),
                ("give the data as Parquet", "whose columns and texts are what they are"),
            ],
        )

    def carry(self, cost: RowsCost) -> RowsCost:
        """Return a cost that separates no merged values, over the new universe."""
        return pull_back(cost, self.pullback)

    def refusal(self, apart: Sequence[Apart], where: str) -> LedgerError:
        """Return the error for a version that cannot be adopted: the separated values, the entries, and remedies."""
        details, hints = [], []
        for match in dict.fromkeys(a.match for a in apart):
            found = [a for a in apart if a.match is match]
            worst = max(found, key=lambda a: float("inf") if a.amount is None else a.amount)
            attribute = self.old.attributes[match.old or 0]
            a, b = (attribute.label(v)[:60] for v in worst.values)
            entries = numbered(sorted({x.entry for x in found}))
            amount = "" if worst.amount is None else f" by up to ε {digits(worst.amount)}"
            told = "may have separated" if worst.amount is None else "separated"
            if match.new is None or match.relation is None:
                details.append(f"{attribute.name} is gone: {a} and {b} are one record then, but {entries} {told}")
                hints += [
                    (f"keep [attributes.{attribute.name}]", "what was released about it stays released"),
                    (f'was_column = "{attribute.column}"', "in its attribute, if the column was renamed"),
                ]
            else:
                after = self.new.attributes[match.new]
                now = next(b for b, olds in match.relation.merged if set(worst.values) <= set(olds))
                details.append(
                    f"{attribute.name} {a} and {b} are both “{after.label(now)[:60]}” now, but {entries} {told}"
                )
                gone = a if worst.values[1] == attribute.listed else b
                keep = f"list {gone}" if now == after.listed else "list both values"
                hints.append((keep, f"in [attributes.{after.name}], at any ε that fits"))
                if now == after.listed:
                    hints.append((f'was = {{ NEW = "{gone}" }}', "if it is written as NEW now"))
            details[-1] += f" them{amount}."
        return LedgerError(
            "the new policy merges records that were separated; nothing was changed",
            where=where,
            details=details,
            hints=list(dict.fromkeys(hints)),
        )


def require_neighbors(old: RecordedPolicy, neighbors: str) -> None:
    """Refuse a change from replace to add-remove neighbors.

    Adding or removing a record changes the number of records, which every release under `replace` treated as public.
    The opposite change weakens the guarantee of later releases only.
    """
    if old.neighbors == REPLACE and neighbors != REPLACE:
        raise PolicyError(
            f"neighbors cannot become “{neighbors}”: past releases treated the number of records as public",
            hints=[('neighbors = "replace"', "as before"), ("a new dataset", "starts a new ledger")],
        )


def require_people(old: Universe, new: Universe, recoded: Mapping[str, Recoding]) -> None:
    """Refuse changes of [people] and of attributes under it: contribution bounding must keep the same rows.

    Rows are chosen by their values of all attributes, so these must stay the same, too; distances may change.
    """
    if old.people is None and new.people is None:
        return
    hints = [("the same [people] and attributes", "ε may change"), ("a new dataset", "starts a new ledger")]
    if old.people != new.people:
        raise PolicyError("people cannot change: past releases kept the rows of the people that they knew", hints=hints)
    if any(recoded.values()):
        raise PolicyError("entries cannot be recoded under [people]: they decide which rows are kept", hints=hints)
    if old != new:
        raise PolicyError("attributes cannot change under [people]: they decide which rows are kept", hints=hints)


def require_fresh(before: Sequence[RecordedPolicy], version: Version) -> None:
    """Refuse a recoding that was applied already, or is for another version: costs would go to the wrong people."""
    if not any(version.recoded.values()):
        return
    current = before[-1]
    if version.was_version != current.version:
        raise PolicyError(
            f"was speaks about version “{version.was_version}”, but the ledger follows version “{current.version}”",
            details=["It says how entries changed since the version before, so it holds for one version only."],
            hints=[
                ("remove was, was_column and was_version", "if they were adopted already: the ledger has them"),
                (f'was_version = "{current.version}"', "if entries changed since that version"),
            ],
        )
    if version.version in {old.version for old in before}:
        raise PolicyError(
            f"there was a version “{version.version}” before",
            details=["Where entries were recoded, each version needs a name of its own."],
            hints=[(f'version = "{len(before) + 1}"', "for example")],
        )


def _places(file: FileFormat, attribute: Attribute) -> tuple[int, ...]:
    # The positions of an attribute's columns in lines without a header; empty if columns have names.
    return tuple(file.columns.index(c) if c in file.columns else -1 for c in attribute.reads if file.columns)


def _columns(attribute: Attribute) -> tuple[str, ...]:
    # The data columns that determine an attribute.
    columns: tuple[str, ...] = getattr(attribute, "reads", (attribute.column,))
    return columns


def _columns_before(attribute: Attribute, recoding: Recoding | None) -> tuple[str, ...]:
    return (recoding.column,) if recoding is not None and recoding.column else _columns(attribute)


def _relations(old: Attribute, candidates: Mapping[int, Attribute], recoding: Recoding | None) -> dict[int, Relation]:
    # The relations to all attributes that read the column; raises only if there is none.
    out: dict[int, Relation] = {}
    failure: PolicyError | None = None
    for k, attribute in candidates.items():
        try:
            out[k] = relate(old, attribute, recoding)
        except PolicyError as error:
            failure = error
    if not out and failure is not None:
        raise failure
    return out


def _by_column(
    new: Universe, recoded: Mapping[str, Recoding], wanted: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], Recoding]:
    # Recodings by column: all attributes that read a column must agree on its recoding.
    out: dict[tuple[str, ...], tuple[str, Recoding]] = {}
    for attribute, columns in zip(new.attributes, wanted, strict=True):
        recoding = recoded.get(attribute.name)
        if recoding is None or not recoding.texts:
            continue
        name, known = out.setdefault(columns, (attribute.name, recoding))
        if known.texts != recoding.texts:
            raise PolicyError(
                f"{name} and {attribute.name} read one column and say different things about how it was written",
                hints=[(f"the same was in [attributes.{name}] and [attributes.{attribute.name}]", "or in one only")],
            )
    listed: dict[tuple[str, ...], set[str]] = {}
    for attribute, columns in zip(new.attributes, wanted, strict=True):
        listed.setdefault(columns, set()).update(attribute.texts)
    return {columns: replace(r, still=frozenset(listed[columns])) for columns, (_, r) in out.items()}


def _require_known(
    old: Universe, new: Universe, recoded: Mapping[str, Recoding], wanted: Sequence[tuple[str, ...]]
) -> None:
    # A renamed column must have existed, and only one attribute may recode it.
    before = [_columns(attribute) for attribute in old.attributes]
    for axis, attribute in enumerate(new.attributes):
        recoding = recoded.get(attribute.name)
        if not recoding:
            continue
        if wanted[axis] not in before:
            column = ", ".join(wanted[axis])
            raise PolicyError(
                f"{attribute.name}: the version before read no column “{column}”",
                details=["was and was_column speak about the version before."],
                hints=[f"it read: {', '.join(sorted({c for columns in before for c in columns}))}"],
            )
        others = [new.attributes[k].name for k, columns in enumerate(wanted) if columns == wanted[axis] and k != axis]
        if others and recoding.column:
            raise PolicyError(
                f"{attribute.name} and {others[0]} both say that they were column “{recoding.column}”",
                hints=[(f"column or was_column of {others[0]}", "says where its entries were")],
            )


_Separation = tuple[tuple[int, int], float | None]
"""Two values that a cost separates, and their loss; None if there are too many contexts to compute it."""


def _separation(cost: RowsCost, axis: int, values: Sequence[int]) -> _Separation | None:
    # The two of some values that a cost separates most, in any context; None if it separates none.
    every = [found for terms in cost.alternatives if (found := _separation_by(cost, terms, axis, values)) is not None]
    return max(every, key=lambda found: math.inf if found[1] is None else found[1], default=None)


def _separation_by(cost: RowsCost, terms: Terms, axis: int, values: Sequence[int]) -> _Separation | None:
    # The same for one alternative of the cost.
    universe = cost.universe
    touching = [t for t in terms if axis in t.axes]
    classes = joint_classes([t.moving(axis) for t in touching], universe.shape[axis])
    chosen = np.asarray(values, dtype=np.int64)
    chosen = chosen[np.unique(classes[chosen], return_index=True)[1]]  # within a class no answer changes
    if len(chosen) < 2:
        return None
    others = sorted({x for t in touching for x in t.axes} - {axis})
    contexts = contexts_of(touching, others, universe, _CONTEXTS)
    if contexts is None:
        return (int(min(chosen[:2])), int(max(chosen[:2]))), None
    first, second = np.triu_indices(len(chosen), 1)
    if len(first) * len(contexts) > _PAIRS:  # equal answers are transitive: one value against all others decides
        first, second = np.zeros(len(chosen) - 1, dtype=np.int64), np.arange(1, len(chosen), dtype=np.int64)
    stride = universe.strides[axis]
    best, pair = 0.0, (0, 0)
    for u, v in zip(chosen[first].tolist(), chosen[second].tolist(), strict=True):
        amount = float(cost.pairwise(contexts + u * stride, contexts + v * stride).max())
        if amount > best:
            best, pair = amount, (min(u, v), max(u, v))
    return (pair, best) if best > 0 else None


# -- Does a new version of a policy make anyone more distinguishable? --------------------------------------------------
# Entries are compared, not names: each old value is mapped to the value of the same entries now.  The old distances are
# shortest paths of their generating pairs, so it suffices that no generating pair got longer, and that no value was
# split into several.  Distances within a billionth of each other count as equal: this decides only whether `looser` is
# needed.


_EQUAL = 1 + 1e-9
_UNKNOWN = "the distances of the two versions cannot be compared attribute by attribute; that counts as looser"


def loosened(before: Metric | None, after: Metric, upgrade: Upgrade) -> tuple[str, ...]:
    """Return sentences on where a version is looser than the one before; empty if no distance grew.

    `before` is None if the ledger does not hold the old distances.
    """
    old, new = None if before is None else along(before), along(after)
    if before is None or old is None or new is None:
        return (_UNKNOWN,)
    found = [_settings(before, after)]
    for match in upgrade.matches:
        if match.new is None:
            continue  # the attribute is gone
        if match.old is None:
            found.append(_added(new[match.new], upgrade.new.names[match.new]))
        else:
            found.append(_moved(old[match.old], new[match.new], match, upgrade))
    return tuple(words for words in found if words)


def _settings(before: Metric, after: Metric) -> str:
    # Changes other than distances between two values of an attribute.
    several = len(after.universe.attributes) > 1
    if several and isinstance(present(before), AttributeMax) and not isinstance(present(after), AttributeMax):
        return "differences in several attributes add up now, and the largest alone counted before"
    if isinstance(before, WithAbsent) and isinstance(after, WithAbsent) and after.radius > before.radius:
        return f"presence has ε {digits(float(after.radius))} now, and had {digits(float(before.radius))}"
    return ""


def _added(metric: Metric, name: str) -> str:
    if metric.farthest is None and not metric.has_infinite:
        return ""  # all of its values are identical
    return f"{name} is new: people who were alike become distinguishable by it"


def _moved(old: Metric, new: Metric, match: Match, upgrade: Upgrade) -> str:
    # The pair of values of one attribute whose distance grew most.
    relation = match.relation
    if relation is None or match.old is None or match.new is None:
        return _UNKNOWN
    attribute = upgrade.new.attributes[match.new]
    now = np.full(upgrade.old.shape[match.old], -1, dtype=np.int64)
    now[relation.old[::-1]] = relation.new[::-1]  # the first of several
    if (now < 0).any():
        return _UNKNOWN
    split = new.pairwise(relation.new, now[relation.old])
    if (split > 0).any():
        k = int(split.argmax())
        a, b = (attribute.label(int(v)) for v in (now[relation.old[k]], relation.new[k]))
        return f"{attribute.name}: {a} – {b} were one value, and have ε {digits(float(split[k]))} now"
    return _longest(old, new, now, attribute.name, attribute.label)


def _longest(old: Metric, new: Metric, now: Ints, name: str, label: object) -> str:
    worst, words = 1.0, ""
    for i, j in old.generators():
        inside = (i < len(now)) & (j < len(now))  # without pairs with `absent`
        i, j = i[inside], j[inside]
        before, after = old.pairwise(i, j), new.pairwise(now[i], now[j])
        looser = np.flatnonzero(after > before * _EQUAL)
        if not len(looser):
            continue
        with np.errstate(divide="ignore"):
            ratio = np.where(np.isinf(after[looser]), math.inf, after[looser] / before[looser])
        k = int(looser[ratio.argmax()])
        if float(ratio.max()) > worst:
            worst = float(ratio.max())
            a, b = (label(int(now[v[k]])) for v in (i, j))  # type: ignore[operator]
            words = f"{name}: {a} – {b} have ε {digits(float(after[k]))} now, and had {digits(float(before[k]))}"
    return words
