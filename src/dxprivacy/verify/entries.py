"""The costs in a ledger: read from its rows, their budgets, and all of them together (docs/formats.md, section 8)."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dxprivacy.errors import Undecided
from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block, workload_digest
from dxprivacy.verify.certificate import earlier_bound, largest_loss, tightest
from dxprivacy.verify.journal import Row, json_object
from dxprivacy.verify.loss import Loss, Tightest
from dxprivacy.verify.privacy import CLOSE, Check, close, read_scales, untitled
from dxprivacy.verify.queries import ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.versions import Version

_GRID = 1 << 60
_ROOM = Fraction(1, 1 << 50)


@dataclass(frozen=True)
class Entry:
    """One cost: its row, the version under which it was reserved, its loss, and how large it is under any version."""

    row: Row
    version: Version
    loss: Loss
    budget: Fraction
    found: dict[int, Tightest] = field(default_factory=dict)

    def under(self, version: Version) -> Tightest:
        """The largest ratio under a version with the same possible records."""
        if version.number not in self.found:
            self.found[version.number] = tightest(self.loss, version.metric, self.budget)
        return self.found[version.number]


_KINDS = ("laplace", "selection", "block-max", "people", "map")
_LARGEST = ("selection", "block-max")  # of which the largest loss of a row counts


def read_entry(row: Row, version: Version, place: str, known: dict[tuple[int, str], Entry]) -> Entry:
    """A cost from its own content; its body must fit.  Equal ones under one version are worked out once."""
    names = ("kind", "title", "queries", "universe", "scales", "budget")
    content = reading.members(json_object(row, place), place, names, ("asked", "alike"))
    if content["kind"] not in _KINDS or content["universe"] != version.universe.digest:
        raise refuse("is of another kind or universe", place)
    budget = reading.fraction(content["budget"], place)
    described = version.number, reading.canonical({name: x for name, x in content.items() if name != "budget"})
    if (equal := known.get(described)) is not None and equal.row.body == row.body:
        return replace(equal, row=row, budget=budget)
    asked = ask(content["queries"], version.universe, units=False)
    workload = workload_digest(version.universe.digest, asked.blocks)
    same = {name: value for name, value in content.items() if name != "budget"}
    same |= {name: untitled(content[name]) for name in ("queries", "asked") if name in content}
    text = json.dumps(same, sort_keys=True, ensure_ascii=False)
    if row.body != hashlib.sha256(f"{workload} {text}".encode()).hexdigest():
        raise refuse("its body is not the digest of its content", place)
    words = ask(content["asked"], version.universe, units=False).words if "asked" in content else asked.words
    if content["title"] != ("selection among " if content["kind"] == "selection" else "") + " + ".join(words):
        raise refuse("its title is not that of its queries", place)
    selections = [range(asked.rows)] if content["kind"] in _LARGEST else []
    loss = Loss(version.universe, asked.blocks, _scales(content, asked.rows, place), selections)
    if proportional_kind(loss) != (content["kind"] if content["kind"] in ("people", "map") else ""):
        raise refuse("does not say whether people are counted, or it has a map", place)
    known[described] = Entry(row, version, loss, budget)
    return known[described]


def proportional_kind(loss: Loss) -> str:
    """What a journal calls a cost of which something is accounted as a whole."""
    return "map" if loss.maps else "people" if loss.people else ""


def _scales(content: dict[str, Any], rows: int, place: str) -> list[float]:
    """One per row; where the largest loss counts perhaps one for all."""
    if "alike" not in content:
        return read_scales(content["scales"], rows)
    if content["kind"] not in _LARGEST or content["alike"] is not True:
        raise refuse("its scales are damaged", place)
    return read_scales(content["scales"], 1) * rows


def check_stored_fraction(budget: Fraction, found: Tightest, place: str) -> None:
    """A budget is the largest ratio, rounded up."""
    least = Fraction(math.ceil(found.low * _GRID), _GRID) if found.low < math.inf else Fraction(2)
    if budget < least or (found.exact and budget > found.high * (1 + max(found.room, _ROOM)) + Fraction(2, _GRID)):
        raise refuse(f"its budget is not {float(found.high):.6g}", place)


def _comparable(entries: Sequence[Entry], version: Version, versions: Sequence[Version]) -> list[Entry]:
    """The entries up to the end of a version that can be compared with it as they are."""
    first = version.number
    while first > 1 and versions[first - 1].follows(versions[first - 2]):
        first -= 1
    return [entry for entry in entries if first <= entry.version.number <= version.number]


def worst_case(
    entries: Sequence[Entry],
    versions: Sequence[Version],
    alone: float,
    largest: Callable[[Loss], float] = largest_loss,
) -> tuple[float, bool]:
    """That of all costs that can be compared with the last one, and whether these are all; `alone`: of the last one."""
    known = _comparable(entries, entries[-1].version, versions)
    so_far = alone
    if len(known) > 1:  # where the sum can only be bounded, each by itself may tell more
        so_far = min(largest(together(known)), math.fsum(_alone(known, largest)))
    return so_far, len(known) == len(entries)


def worst_case_instead_of(
    stated: float, entries: Sequence[Entry], versions: Sequence[Version], alone: float
) -> float | None:
    """The worst case of entries where a stated one is less, or more than what earlier versions bounded it by."""
    so_far, complete = worst_case(entries, versions, alone)
    if close(stated, so_far) or (not complete and stated >= so_far):
        return None
    if stated > so_far:
        bound, _ = worst_case(entries, versions, earlier_bound(entries[-1].loss), earlier_bound)
        if stated <= bound * (1 + CLOSE):
            return None
    return so_far


def _alone(entries: Sequence[Entry], largest: Callable[[Loss], float]) -> Iterator[float]:
    """The worst case of each entry by itself."""
    found: dict[int, float] = {}
    for loss in (entry.loss for entry in entries):
        if id(loss) not in found:
            found[id(loss)] = largest(loss)
        yield found[id(loss)]


def check_budget(entries: Sequence[Entry], versions: Sequence[Version], mine: Version, where: str) -> Check:
    """Under every version, all costs up to its end together; `Undecided` if some could not be brought to it."""
    unknown, used = 0, ""
    for version in versions:
        until = [entry for entry in entries if entry.version.number <= version.number]
        known = _comparable(until, version, versions)
        for entry in known:
            if entry.version is not version:
                stated = version.budgets[entry.row.seq]
                check_stored_fraction(stated, entry.under(version), f"{where}, row {version.seq}")
        unknown = max(unknown, len(until) - len(known))
        spent = _spent(known, version) if known else "0 %"
        used = spent if version is mine else used
    if unknown:
        raise Undecided(
            f"{unknown} of {len(entries)} costs are of versions of the policy with other possible records",
            where="ledger budget",
            details=["They were not carried over here, so nothing is said about the sum of all costs.",
                     "Everything above holds."],
            hints=[("dxp ledger LEDGER --policy POLICY", "carries them over and checks the sum")],
        )  # fmt: skip
    count = sum(entry.version.number <= mine.number for entry in entries)
    more = "" if len(versions) == 1 else f"; every one of the {len(versions)} versions is kept"
    return Check("budget", f"{used} of the policy, all {count} entries together{more}")


def together(entries: Sequence[Entry]) -> Loss:
    """Costs add up: one loss over the rows of all entries.  A selection that was made often counts so often."""
    blocks, scales, selections, times = list[Block](), list[float](), list[range](), list[int]()
    often = Counter(id(entry.loss) for entry in entries if entry.loss.selections)
    selections_once = {id(entry.loss): entry.loss for entry in entries if entry.loss.selections}
    sums = [entry.loss for entry in entries if not entry.loss.selections]
    for loss in (*sums, *selections_once.values()):
        times += [often[id(loss)] for _ in loss.selections]
        selections += [range(c.start + len(scales), c.stop + len(scales)) for c in loss.selections]
        blocks += [block.starting_at(block.first + len(scales)) for block in loss.blocks]
        scales += loss.scales
    return Loss(entries[-1].loss.universe, blocks, scales, selections, times)


def _spent(entries: Sequence[Entry], version: Version) -> str:
    """How much of a version all entries take, which must not be more than all of it."""
    largest = [entry.under(version).high for entry in entries]
    apart = sum((Fraction(x) for x in largest if x < math.inf), Fraction(0))
    if apart <= 1 and max(largest) < math.inf:
        return f"at most {100 * float(apart):.6g} %"  # the largest ratios add up to less already
    found = tightest(together(entries), version.metric, Fraction(1))
    if found.low > 1:
        raise refuse("more was spent than the policy allows", "ledger budget")
    if found.high > 1 and not found.exact:
        raise Undecided("what was spent could only be bounded, by more than the policy", where="ledger budget")
    return f"{100 * float(found.high):.6g} %"
