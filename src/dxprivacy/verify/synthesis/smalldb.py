"""A report on a small database: one selection among all of them, its distribution and its bounds worked out again."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from dxprivacy.errors import Undecided
from dxprivacy.verify import reading
from dxprivacy.verify.blocks import workload_digest
from dxprivacy.verify.certificate import tightest
from dxprivacy.verify.guarantee import check_number
from dxprivacy.verify.journal import json_object
from dxprivacy.verify.ledger import Book
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.privacy import Check, Policy, check_certificate, check_request, read_budget, read_scales, untitled
from dxprivacy.verify.queries import Asked, ask
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.selection import SelectionSpent
from dxprivacy.verify.synthesis.report import Interval, Run, same_number
from dxprivacy.verify.versions import Version

_PLAN = (
    *("mechanism", "name", "request", "queries", "put", "weights", "scale", "budget", "size", "records", "alpha"),
    *("beta", "route", "log_candidates", "bounds", "certificate"),
)
_ROUTES = ("enumeration", "answer table", "rejection")
_STEP = "small database"
_MOST_ENTRIES = 1 << 22


class SmallDb(Run):
    """A few records that answer almost as the data would."""

    members = ("plan",)

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data)
        plan = self.plan = reading.members(data["plan"], "plan", _PLAN)
        if plan["mechanism"] != "smalldb" or plan["route"] not in _ROUTES:
            raise refuse("is of another mechanism, or by an unknown route", "plan mechanism")
        self.request = self.named(plan)
        self.weights = reading.each(plan["weights"], "plan weights", lambda x, w: reading.whole(x, w, 1, 1 << 62))
        (self.scale,) = read_scales([plan["scale"]], 1)
        self.size = reading.whole(plan["size"], "plan size", 1, 1 << 31)
        self.records = reading.whole(plan["records"], "plan records", 1, 1 << 62)
        self.beta = reading.number(plan["beta"], "plan beta")
        if not self.scale > 0 or not 0 < self.beta < 1 or not self.weights:
            raise refuse("has a scale, a weight or a probability that is none", "plan")
        self.alpha = math.sqrt(math.log(2 * len(self.weights)) / (2 * self.size))
        same_number(plan["alpha"], self.alpha, "plan alpha")
        self.log_candidates = reading.number(plan["log_candidates"], "plan log_candidates")
        self.bounds = reading.each(plan["bounds"], "plan bounds", reading.number)
        self._check_intervals()
        stated = reading.members(plan["certificate"], "certificate", ("norm", "ratio", "witness", "rule", "metric"))
        if stated["metric"] != self.policy or reading.fraction(stated["ratio"], "certificate") > read_budget(
            plan["budget"]
        ):
            raise refuse("speaks about another metric, or states more than the budget", "certificate")
        check_number(data["guarantee"], self.records)

    def _check_intervals(self) -> None:
        """Every answer was released, with its bound on either side."""
        given = self.data["answers"]
        if len(given) != len(self.bounds):
            raise refuse(f"{len(self.bounds):,} for {len(given):,} answers", "plan bounds")
        for k, (answer, bound) in enumerate(zip(given, self.bounds, strict=True)):
            value = reading.number(answer["released"], f"answer {k + 1}")
            if (answer["low"], answer["high"]) != (value - bound, value + bound):
                raise refuse("its interval is not that of its bound", f"answer {k + 1}")

    def checks(self) -> Iterator[Check]:
        yield from super().checks()
        yield Check("bounds", f"{self.size:,} records stand for {self.records:,}; every interval is that of its bound")

    def by_ledger(self, book: Book) -> Iterator[Check]:
        """Certificate and bounds, the entry's cost, and what the stored draw answers."""
        yield from self.opened(book)
        version, found = self.version(book)
        yield found
        plan, universe = self.plan, version.universe
        asked = ask(plan["queries"], universe, units=version.has_units)
        put = ask(plan["put"], universe, units=version.has_units)
        policy = Policy(universe, version.metric, version.digest, self.dataset)
        if put.rows != asked.rows or len(self.weights) != put.rows:
            raise refuse("are not one for each row", "plan weights")
        same = plan["put"] == plan["queries"]
        if not same:
            _check_flatter(plan["put"], asked)
        covered = {
            "mechanism": "smalldb",
            "metric": policy.digest,
            "dataset": policy.dataset,
            "queries": untitled(plan["queries"]),
            "workload": workload_digest(universe.digest, put.blocks),
            **{name: plan[name] for name in ("weights", "scale", "size", "records", "budget")},
        }
        check_request(plan, covered)
        scales = [_rounded_down(Fraction(self.scale) / w) for w in self.weights]
        loss = Loss(universe, put.blocks, scales, [range(put.rows)])
        spent = SelectionSpent(policy, read_budget(plan["budget"]), loss, self.request)
        yield check_certificate(plan["certificate"], tightest(loss, version.metric, spent.budget), spent)
        rows = _Rows(asked, put, version, same=same)
        self._check_bounds(asked, rows, universe.cells)
        yield Check("bounds", "follow from rows, scale, size and probability")
        drawn = self._drawn(book, loss, rows)
        self.check_labels(asked.answers, version)
        if drawn is not None:
            self.check_released(self._released(asked, rows, drawn))
            yield Check("released", "is what the stored database answers")
        book.check_budgets()
        self.check_guarantee(book, version, self.records)
        yield Check("guarantee", "says what follows from the ledger")
        yield book.budget(version)

    def _check_bounds(self, asked: Asked, rows: "_Rows", cells: int) -> None:
        """Proposition 1, corrected: bias + alpha n + 2c (ln C(N + m - 1, m) + ln 1/beta), by each row's range."""
        m, n = self.size, self.records
        candidates = math.lgamma(cells + m) - math.lgamma(m + 1) - math.lgamma(cells)
        same_number(self.log_candidates, candidates, "plan log_candidates")
        spans = [span * w for span, w in zip(rows.spans, self.weights, strict=True)]
        c = self.scale if any(spans) else 0.0
        off = self.alpha * max(spans) * n + 2 * c * (candidates + math.log(1 / self.beta))
        for k, answer in enumerate(asked.answers):
            row = answer.row
            found = rows.bias[row] * n + (off * float(rows.units[row]) / self.weights[row] if spans[row] else 0.0)
            found /= n if answer.recipe.over_all else 1
            same_number(self.bounds[k], found, f"plan bounds, answer {k + 1}")

    def _drawn(self, book: Book, loss: Loss, rows: "_Rows") -> dict[int, int] | None:
        """How many of its records lie in each cell, as the ledger keeps it; nothing where nothing had to be spent."""
        free = not any(rows.spans)
        self.steps(book, self.request, [] if free else [_STEP])
        if free:
            return None
        (number,) = self.entries
        entry = book.entries[number - 1]
        content = json_object(entry.row, book.where)
        if content["kind"] != "selection" or content["queries"] != self.plan["put"] or entry.loss.scales != loss.scales:
            raise refuse(f"entry {number} has another cost than the report", book.where)
        kept = reading.members(reading.parse(book.stored(number, "outcome")), book.where, ("cells", "counts"))
        last = loss.universe.cells - 1
        cells = reading.each(kept["cells"], book.where, lambda x, w: reading.whole(x, w, 0, last))
        counts = reading.each(kept["counts"], book.where, lambda x, w: reading.whole(x, w, 1))
        if sorted(set(cells)) != cells or len(cells) != len(counts) or sum(counts) != self.size:
            raise refuse(f"entry {number} holds no database of {self.size:,} records", book.where)
        return dict(zip(cells, counts, strict=True))

    def _released(self, asked: Asked, rows: "_Rows", drawn: dict[int, int]) -> list[list[Interval]]:
        """What the database answers, rescaled to all records."""
        found = [0] * asked.rows
        for cell, count in drawn.items():
            for row, x in rows.column(cell).items():
                found[row] += count * x
        out = []
        for answer, bound in zip(asked.answers, self.bounds, strict=True):
            row = answer.row
            value = float(found[row] * rows.units[row] * self.records / self.size)
            value /= self.records if answer.recipe.over_all else 1
            out.append([(value, value - bound, value + bound)])
        return out


class _Rows:
    """The rows that databases are compared by, and what they say about those that were asked.

    `units`: what one step means; `bias`: by how much both may differ per record; `spans`: from the least to the largest
    entry.  Flatter rows stand for asked ones that were brought to a unit range.
    """

    def __init__(self, asked: Asked, put: Asked, version: Version, *, same: bool) -> None:
        self.version, self.put, self.asked = version, put, asked
        self.spans = _spans(put)
        given = [block.unit for block in asked.blocks for _ in range(block.rows)]
        self.bias = [float(block.bias) for block in asked.blocks for _ in range(block.rows)]
        self.units = given
        if not same:
            factors = [block.unit for block in put.blocks for _ in range(block.rows)]
            proportional = [span or 1 for span in _spans(asked)]
            self.units = [w * f * u for w, f, u in zip(proportional, factors, given, strict=True)]
            self.bias = [b + more for b, more in zip(self.bias, self._apart(given), strict=True)]

    def _apart(self, given: list[Fraction]) -> list[float]:
        """The largest difference of an asked row and the one that stands for it, rounded up."""
        universe = self.version.universe
        if universe.cells * len(given) > _MOST_ENTRIES:
            raise Undecided("too many possible records to compare the rows", where="plan put")
        most = [Fraction(0)] * len(given)
        for values in product(*map(range, universe.shape)):
            mine, theirs = (self._column(side, values) for side in (self.put, self.asked))
            for row in mine.keys() | theirs.keys():
                apart = abs(mine.get(row, 0) * self.units[row] - theirs.get(row, 0) * given[row])
                most[row] = max(most[row], apart)
        return [math.nextafter(float(x), math.inf) for x in most]

    def _column(self, side: Asked, values: tuple[int, ...]) -> dict[int, int]:
        return {row: x for block in side.blocks for row, x in block.column(values).items()}

    def column(self, cell: int) -> dict[int, int]:
        """Where a cell counts."""
        return self._column(self.put, tuple(self.version.universe.values(cell)))


def _check_flatter(put: list[Any], asked: Asked) -> None:
    """Rows that stand for asked ones are explicit, and called like the answers where each row is one."""
    labels = [answer.label for answer in asked.answers] if len(asked.answers) == asked.rows else []
    if len(put) != 1 or put[0]["ask"] != "matrix" or put[0]["labels"] != labels or {"within", "weight"} & set(put[0]):
        raise refuse("are not flatter rows for what was asked", "plan put")


def _spans(asked: Asked) -> list[int]:
    """From the least to the largest entry of each row."""
    found = {row: spread for block in asked.blocks for row, spread in block.spreads(absent=False)}
    return [found.get(row, 0) for row in range(asked.rows)]


def _rounded_down(x: Fraction) -> float:
    """The largest float64 that is not more."""
    near = float(x)
    return near if Fraction(near) <= x else math.nextafter(near, 0.0)
