"""A report on a run of MWEM: every selection and every measurement is an entry of the ledger, checked one by one."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dxprivacy.verify import noise, reading
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.entries import Entry
from dxprivacy.verify.guarantee import check_number
from dxprivacy.verify.journal import json_object
from dxprivacy.verify.ledger import Book
from dxprivacy.verify.noise import Laplace
from dxprivacy.verify.privacy import Check, read_budget, read_scales
from dxprivacy.verify.queries import Asked, ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.synthesis.report import Interval, Run
from dxprivacy.verify.versions import Version

_PLAN = (
    *("method", "name", "request", "rounds", "why", "budget", "passes", "averaged", "again", "records"),
    *("queries", "workload"),
)
_GOALS = ("within", "unit", "weight", "title")
_GRID = 1 << 60
_MOST_ROUNDS = 10_000


class Mwem(Run):
    """Rounds of one selection and one measurement each, after what the policy leaves free."""

    members = ("plan", "measurements")

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data)
        plan = self.plan = reading.members(data["plan"], "plan", _PLAN)
        if plan["method"] != "mwem":
            raise refuse("is of another method", "plan method")
        self.request = self.named(plan)
        self.rounds = reading.whole(plan["rounds"], "plan rounds", 1, _MOST_ROUNDS)
        self.part = Fraction(int(read_budget(plan["budget"]) * _GRID / (2 * self.rounds)), _GRID)
        reading.text(plan["why"], "plan why")
        reading.whole(plan["passes"], "plan passes", 0)
        reading.flag(plan["averaged"], "plan averaged")
        again = reading.flag(plan["again"], "plan again")
        self.records = reading.whole(plan["records"], "plan records", 1, 1 << 62)
        reading.hash_text(plan["workload"], "plan workload")
        given = reading.items(data["measurements"], "measurements")
        self.measured = [_Measurement(one, f"measurement {k + 1}") for k, one in enumerate(given)]
        self.free = [one for one in self.measured if not one.scale]
        rows = [one.row for one in self.measured]
        if [*self.free, *self.measured[len(self.free) :]] != self.measured or (
            not again and len(set(rows)) < len(rows)
        ):
            raise refuse("are out of order, or a row was measured twice", "measurements")
        if len(rows) != len(self.free) + self.rounds or len(self.entries) != 2 * self.rounds + bool(self.free):
            raise refuse("are not one for each round", "measurements")
        check_number(data["guarantee"], self.records)

    def checks(self) -> Iterator[Check]:
        yield from super().checks()
        yield Check(
            "rounds", f"{self.rounds:,}, with {len(self.measured):,} measurements in {len(self.entries):,} entries"
        )

    def by_ledger(self, book: Book) -> Iterator[Check]:
        """Every step's entry, its cost, its row and its noisy number."""
        yield from self.opened(book)
        version, found = self.version(book)
        yield found
        turns = [f"round {t} {what}" for t in range(1, self.rounds + 1) for what in ("selection", "measurement")]
        self.steps(book, self.request, [*(["public answers"] if self.free else []), *turns])
        universe = version.universe
        asked = ask(self.plan["queries"], universe, units=version.has_units)
        if self.plan["workload"] != workload_digest(universe.digest, asked.blocks):
            raise refuse("is not the digest of the rows that the queries ask for", "plan workload")
        self._check_steps(book, version)
        yield Check("steps", f"all {len(self.entries):,}, each within {100 * float(self.part):.6g} % of the policy")
        self.check_labels(asked.answers, version)
        self.check_released(self._released(asked))
        yield Check("released", "follows from the measurements, which are those of the ledger")
        book.check_budgets()
        self.check_guarantee(book, version, self.records)
        yield Check("guarantee", "says what follows from the ledger")
        yield book.budget(version)

    def _check_steps(self, book: Book, version: Version) -> None:
        numbers, rounds = list(self.entries), self.measured
        if self.free:
            kept = _Kept(book, numbers.pop(0), version)
            self._check_free(kept, version)
            rounds = rounds[len(self.free) :]
        for k, one in enumerate(rounds):
            selection, measurement = (_Kept(book, number, version) for number in numbers[2 * k : 2 * k + 2])
            where = f"measurement {len(self.free) + k + 1}"
            if selection.content["kind"] != "selection" or selection.content["queries"] != self.plan["queries"]:
                raise refuse("was chosen among something else", where)
            if selection.outcome("row") != one.row:
                raise refuse("is not of the row that was chosen", where)
            picked, label = self._picked(one.row, version)
            if measurement.content["kind"] != "laplace" or measurement.content["queries"] != [picked]:
                raise refuse("is not of its row", where)
            if (measurement.entry.loss.scales, measurement.outcome("noisy")) != ([one.scale], one.noisy):
                raise refuse("has another scale or another number in the ledger", where)
            if one.label != label:
                raise refuse(f"label is not {label[:60]!r}", where)
            for step in (selection, measurement):
                step.require_at_most(self.part)

    def _check_free(self, kept: "_Kept", version: Version) -> None:
        """Rows that the policy leaves free: exact, at no cost."""
        picked = [self._picked(one.row, version) for one in self.free]
        if kept.content["kind"] != "laplace" or kept.content["queries"] != [query for query, _ in picked]:
            raise refuse("are not those that the policy leaves free", "measurements")
        if any(kept.entry.loss.scales) or kept.outcome("exact") != [one.noisy for one in self.free]:
            raise refuse("have another scale or another number in the ledger", "measurements")
        if [one.label for one in self.free] != [label for _, label in picked]:
            raise refuse("are called otherwise", "measurements")
        kept.require_at_most(Fraction(0))

    def _picked(self, row: int, version: Version) -> tuple[dict[str, Any], str]:
        """A row of all queries as a query of its own, and what it is called."""
        before = 0
        for query in self.plan["queries"]:
            rows = ask([query], version.universe, units=version.has_units).rows
            if row < before + rows:
                alone = {name: value for name, value in query.items() if name not in _GOALS}
                picked = query if query["ask"] == "row" else {"ask": "row", "of": alone, "row": row - before}
                return picked, ask([picked], version.universe, units=version.has_units).answers[0].label
            before += rows
        raise refuse(f"has no row {row + 1}", "plan queries")

    def _released(self, asked: Asked) -> list[list[Interval]]:
        """What may be stated of each answer: the mean of what was measured, with the interval of one measurement."""
        found: dict[int, list[_Measurement]] = {}
        for one in self.measured:
            found.setdefault(one.row, []).append(one)
        rows = [Fraction(0)] * asked.rows
        distributions = [Laplace(0.0)] * asked.rows
        for row, several in found.items():
            rows[row] = Fraction(sum(one.noisy for one in several), len(several))
            distributions[row] = Laplace(max(one.scale for one in several))
        return [
            [option[:3] for option in noise.released(answer, distributions, rows, self.records, 0.0)]
            if all(row in found for row in answer.rows)
            else []
            for answer in asked.answers
        ]


class _Measurement:
    """A row, and the noisy number that was found."""

    def __init__(self, data: Any, where: str) -> None:
        given = reading.members(data, where, ("row", "label", "noisy", "scale"))
        self.row = reading.whole(given["row"], where, 0, 1 << 31)
        self.label = reading.text(given["label"], where)
        self.noisy = reading.whole(given["noisy"], where)
        (self.scale,) = read_scales([given["scale"]], 1)


class _Kept:
    """A step in the ledger, and what was kept of it."""

    def __init__(self, book: Book, number: int, version: Version) -> None:
        self.entry: Entry = book.entries[number - 1]
        self.where, self._version = f"{book.where}, row {self.entry.row.seq}", version
        self.content = json_object(self.entry.row, self.where)
        self._kept = reading.parse(book.stored(number, "outcome"))

    def outcome(self, name: str) -> Any:
        """The one thing that was kept."""
        return reading.members(self._kept, self.where, (name,))[name]

    def require_at_most(self, part: Fraction) -> None:
        """No step takes more of the policy than its part."""
        if self.entry.under(self._version).high > part:
            raise refuse("takes more of the policy than a step may", self.where)
