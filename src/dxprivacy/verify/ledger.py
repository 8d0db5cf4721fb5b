"""Checking a release against the ledger (docs/formats.md, section 8): chain, witness, entry, stored release, budget."""

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dxprivacy.errors import LedgerError, Undecided
from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block, workload_digest
from dxprivacy.verify.certificate import Loss, Tightest, largest_loss, tightest
from dxprivacy.verify.plan import Check, Claim, Kept, close, infinite_as_null, read_scales
from dxprivacy.verify.questions import ask
from dxprivacy.verify.reading import refuse

_KINDS = ("open", "reserve", "finish")
_COLUMNS = "seq, kind, request, body, content, at, previous, hash"
_GRID = 1 << 60


@dataclass(frozen=True)
class Row:
    """One row of the journal."""

    seq: int
    kind: str
    request: str
    body: str
    content: str
    at: str
    previous: str
    hash: str

    def digest(self) -> str:
        """What its hash must be."""
        fields = [self.seq, self.kind, self.request, self.body, self.content, self.at, self.previous]
        return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode("ascii")).hexdigest()


def read_rows(path: Path) -> list[Row]:
    """All rows; the file is only read."""
    if not path.is_file():
        raise LedgerError("no ledger here", where=str(path))
    waiting = path.with_name(path.name + "-wal")
    # A reader of a write-ahead log needs a place for its index; a file without such a log can do without.
    quiet = not waiting.exists() or not waiting.stat().st_size
    for mode in ("mode=ro", *(("mode=ro&immutable=1",) if quiet else ())):
        try:
            database = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=30)
            try:
                found = database.execute(f"SELECT {_COLUMNS} FROM journal ORDER BY seq").fetchall()
            finally:
                database.close()
        except (sqlite3.Error, UnicodeError):
            continue
        if not all(isinstance(r[0], int) and all(isinstance(x, str) for x in r[1:]) for r in found):
            raise refuse("has a row of wrong types", f"ledger {path.name}")
        return [Row(*r) for r in found]
    raise LedgerError("not a ledger, or it cannot be read", where=str(path))


def check_chain(rows: list[Row], path: Path) -> None:
    """Every row has its hash and continues the one before; the witness has seen them all."""
    where = f"ledger {path.name}"
    previous, reserved, finished = "0" * 64, set[str](), set[str]()
    for number, row in enumerate(rows, 1):
        if row.seq != number:
            raise refuse(f"row {number} is missing", where)
        if row.previous != previous:
            raise refuse(f"row {number} does not continue the row before", where)
        try:
            digest = row.digest()
        except UnicodeError:
            digest = ""
        if digest != row.hash:
            raise refuse(f"row {number} was changed", where)
        if row.kind not in _KINDS or (row.kind == "open") != (number == 1):
            raise refuse(f"row {number} is of an unknown kind, or in the wrong place", where)
        if row.kind == "reserve":
            if row.request in reserved:
                raise refuse(f"row {number} repeats a request", where)
            reserved.add(row.request)
        if row.kind == "finish":
            if row.request not in reserved or row.request in finished:
                raise refuse(f"row {number} answers what was not reserved", where)
            finished.add(row.request)
        previous = row.hash
    if not rows:
        raise refuse("is empty", where)
    witness = path.resolve().with_name(path.resolve().name + ".witness")
    try:
        lines = witness.read_bytes().decode("ascii", "replace").split("\n")[:-1]
    except OSError:
        raise refuse(f"{witness.name} is missing; only it shows that no row was cut off", where) from None
    if not len(rows) - 1 <= len(lines) <= len(rows):
        raise refuse(f"has {len(rows)} rows, its witness {len(lines)}", where)
    for row, line in zip(rows, lines, strict=False):
        if line != f"{row.seq} {row.hash}":
            raise refuse(f"row {row.seq} is not the one that the witness recorded", where)


def verify_entry(data: dict[str, Any], claim: Claim, kept: Kept, path: Path) -> Iterator[Check]:
    """The release's entry is in the ledger, with this content, and nothing there exceeds the policy."""
    rows = read_rows(path)
    check_chain(rows, path)
    yield Check("chain", f"{len(rows):,} rows of {path.name}, each continuing the one before, as the witness says")
    where = f"ledger {path.name}"
    binding = _json(rows[0].content, where)
    expected = {"dataset": claim.dataset, "metric": claim.metric_digest, "universe": claim.universe.digest}
    if binding != expected:
        raise refuse("belongs to another dataset or policy", where)
    facts = data["ledger"]
    entries = [row for row in rows if row.kind == "reserve"]
    if not 1 <= facts["entry"] <= len(entries):
        raise refuse(f"has no entry {facts['entry']}", where)
    entry = entries[facts["entry"] - 1]
    costs = [_cost(row, claim, kept, where) for row in entries]
    _check_entry(entry, data, where)
    finish = next((row for row in rows if row.kind == "finish" and row.request == entry.request), None)
    if finish is None:
        raise refuse(f"entry {facts['entry']} was never answered", where)
    stored = reading.parse(finish.content)
    shown = {name: value for name, value in data.items() if name != "repeated"}
    if finish.body != entry.body or reading.canonical(stored) != reading.canonical(shown):
        raise refuse("holds another release under this entry", where)
    yield Check("entry", f"{facts['entry']} of {len(entries)}, reserved {facts['at']}; the stored release is this one")
    yield Check("budget", f"{_budget(costs, claim)} of the policy, all {len(entries)} entries together")
    losses = [loss for loss, _ in costs[: facts["entry"]]]
    so_far = kept.worst_case if len(losses) == 1 else largest_loss(_together(losses, claim))
    stated = infinite_as_null(facts["worst_case_epsilon"], "ledger worst_case_epsilon")
    if not close(stated, so_far):
        raise refuse(f"is not that of the first {facts['entry']} entries, {so_far:.6g}", "ledger worst_case_epsilon")
    if facts["file"] != path.name:
        raise refuse(f"the release names {facts['file'][:60]!r}, this is {path.name!r}", "ledger file")


def _json(content: str, where: str) -> dict[str, Any]:
    data = reading.parse(content)
    if not isinstance(data, dict):
        raise refuse("a row holds no object", where)
    return data


def _cost(row: Row, claim: Claim, kept: Kept, where: str) -> tuple[Loss, Tightest]:
    """What an entry cost, from its own content; its share and its body must fit."""
    place = f"{where}, row {row.seq}"
    names = ("kind", "title", "questions", "universe", "scales", "share")
    content = reading.members(_json(row.content, place), place, names)
    if content["kind"] != "laplace" or content["universe"] != claim.universe.digest:
        raise refuse("is of another kind or universe", place)
    asked = ask(content["questions"], claim.universe)
    workload = workload_digest(claim.universe.digest, asked.blocks)
    if row.body != hashlib.sha256(f"{workload} {row.content}".encode()).hexdigest():
        raise refuse("its body is not the digest of its content", place)
    if content["title"] != " + ".join(asked.titles):
        raise refuse("its title is not that of its questions", place)
    loss = Loss(claim.universe, asked.blocks, read_scales(content["scales"], asked.rows))
    known = workload == claim.workload and loss.scales == claim.scales
    found = kept.tightest if known else tightest(loss, claim.metric)
    share = reading.fraction(content["share"], place)
    least = Fraction(math.ceil(found.low * _GRID), _GRID) if found.low < math.inf else Fraction(2)
    if share < least or (found.exact and share > found.high * (1 + Fraction(1, 1 << 50)) + Fraction(2, _GRID)):
        raise refuse(f"its share is not {float(found.high):.6g}", place)
    return loss, found


def _check_entry(entry: Row, data: dict[str, Any], where: str) -> None:
    facts = data["ledger"]
    content = _json(entry.content, where)
    for name, stated, found in (
        ("request", facts["request"], entry.request),
        ("time", facts["at"], entry.at),
        ("questions", data["questions"], content["questions"]),
        ("scales", data["scales"], content["scales"]),
    ):
        if stated != found:
            raise refuse(f"entry {facts['entry']} has other {name} than the release", where)


def _together(losses: list[Loss], claim: Claim) -> Loss:
    """Costs add up: one loss over the rows of all entries."""
    blocks, scales = list[Block](), list[float]()
    for loss in losses:
        blocks += [block.starting_at(block.first + len(scales)) for block in loss.blocks]
        scales += loss.scales
    return Loss(claim.universe, blocks, scales)


def _budget(costs: list[tuple[Loss, Tightest]], claim: Claim) -> str:
    """How much of the policy all entries take, which must not be more than all of it."""
    apart = sum((Fraction(found.high) for _, found in costs if found.high < math.inf), Fraction(0))
    if len(costs) == 1 or (apart <= 1 and all(found.high < math.inf for _, found in costs)):
        return f"at most {100 * float(apart):.6g} %"  # the largest ratios add up to less already
    found = tightest(_together([loss for loss, _ in costs], claim), claim.metric)
    if found.low > 1:
        raise refuse("more was spent than the policy allows", "ledger budget")
    if found.high > 1 and not found.exact:
        raise Undecided("what was spent could only be bounded, by more than the policy", where="ledger budget")
    return f"{100 * float(found.high):.6g} %"
