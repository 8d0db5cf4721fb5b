"""A kind of attribute that the package has never heard of, defined here: it goes the whole way, and touches no source.

Months of the year lie on a ring: December is next to January.  The kind says which values there are, how an entry is
read, what groups mean, and what its spec is; its table says what a policy file may write.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dxprivacy as dx
from dxprivacy.engines.open_source import open_source
from dxprivacy.errors import DataError, DxError, NotVerified, PolicyError, QueryError, UsageError
from dxprivacy.ledger.adoption import stored_policy
from dxprivacy.metrics import Metric, attribute_metrics
from dxprivacy.policy.tables import table_kinds
from dxprivacy.policy.tables.table_keys import Keys
from dxprivacy.universe.attribute_matching import relate
from dxprivacy.universe.attributes import attribute_kinds
from dxprivacy.universe.attributes.attribute import OTHER, Attribute, Property
from dxprivacy.universe.ordering.order import End, Scale
from dxprivacy.universe.reading.codecs import Codec, ListedTexts, WholeNumbers
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import verify_data

NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Calendar(Scale):
    """Months in the order of a year that may start anywhere."""

    name: str
    months: tuple[str, ...]
    example: str = "Jan,Jul"

    @property
    def starts(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(k) for k in range(12))

    def read(self, written: End) -> Fraction:
        if str(written) in self.months:
            return Fraction(self.months.index(str(written)))
        if isinstance(written, Fraction) and 1 <= written <= 12:  # the second month is number 2
            return written - 1
        raise QueryError(f"{self.name} holds months")

    def label(self, low: Fraction, high: Fraction | None) -> str:
        last = 11 if high is None else int(high) - 1
        return f"{self.months[int(low)]}–{self.months[last]}"

    def inside(self, low: End, high: End) -> list[int]:
        return [k for k in range(12) if self.read(low) <= k <= self.read(high)]

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        if width != "quarter":
            raise QueryError(f"cannot group {self.name} by “{width}”", hints=[f"{self.name}/quarter"])
        labels = [self.label(Fraction(k), Fraction(k + 3)) for k in range(0, 12, 3)]
        return [k // 3 for k in range(12)], labels


@dataclass(frozen=True, kw_only=True)
class Months(Attribute):
    """Months of the year, the first one as declared."""

    first: str = "Jan"
    kind: str = field(init=False, default="months")
    listed = 12
    neighbors = "months"

    @property
    def months(self) -> tuple[str, ...]:
        at = NAMES.index(self.first)
        return (*NAMES[at:], *NAMES[:at])

    def label(self, index: int) -> str:
        return self.months[index] if index < 12 else OTHER

    def find(self, value: object) -> int:
        known = (*self.months, OTHER)
        if value not in known[: self.size]:
            raise self._unknown(value, known)
        return known.index(str(value))

    @property
    def codec(self) -> Codec:
        return ListedTexts(self.months)

    def order(self, fact: Property | None = None) -> Scale | None:
        return Calendar(self.name, self.months) if fact is None else None

    def spec(self) -> dict[str, Any]:
        return self._base_spec() | {"first": self.first}

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        return {"first": spec["first"]}


@dataclass(frozen=True, kw_only=True)
class Hours(Attribute):
    """Hours of the day, written as whole numbers from 0 to 23."""

    kind: str = field(init=False, default="hours")
    listed = 24
    unit_step = Fraction(1)

    def label(self, index: int) -> str:
        return f"{index}:00" if index < 24 else OTHER

    def find(self, value: object) -> int:
        known = [*(f"{k}:00" for k in range(24)), OTHER]
        if value not in known[: self.size]:
            raise self._unknown(value, known)
        return known.index(str(value))

    @property
    def codec(self) -> Codec:
        return WholeNumbers(0, 23)

    @property
    def needed(self) -> str:
        return "an hour from 0 to 23"

    def spec(self) -> dict[str, Any]:
        return self._base_spec()

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        return {}


def months(keys: Keys) -> tuple[Attribute, Metric]:
    """`months = "Jan"`: the first one; epsilon between neighbors, and the shorter way round between all others."""
    if keys["months"] not in NAMES:
        raise keys.error(f"{keys.name}: no month {keys['months']!r}", "months", ['months = "Jan"'])
    attribute = Months(first=keys["months"], **keys.common())
    ring = zip(attribute.months, (*attribute.months[1:], attribute.months[0]), strict=True)
    edges = [(a, b, keys.epsilon()) for a, b in ring]
    return attribute, attribute_metrics.linked(Universe([attribute]), attribute, edges, keys.other()[0])


POLICY = """
title = "Births"
dataset = "births-1"
[attributes.born]
months = "{first}"
column = "month"
epsilon = 0.5
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
"""
ROWS = [("Jan", "M"), ("Feb", "F"), ("Feb", "F"), ("Dec", "M"), ("jan", "F"), ("", "M"), ("13", "x")]


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """The kinds are known during a test, and forgotten after it."""
    before, tables = dict(attribute_kinds.KINDS), dict(table_kinds.TABLES)
    attribute_kinds.register(Months)
    attribute_kinds.register(Hours)
    table_kinds.register("months", table_kinds.PolicyTable(months, 'months = "Jan"'))
    yield
    for registered, original in ((attribute_kinds.KINDS, before), (table_kinds.TABLES, tables)):
        registered.clear()
        registered.update(original)


def policy(first: str = "Jan") -> dx.Policy:
    return dx.Policy.parse(POLICY.format(first=first))


def written(tmp_path, ending: str, rows: Sequence[tuple[str, str]] = ROWS) -> str:
    path = tmp_path / f"births.{ending}"
    if ending == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("month", "sex"), *rows])
    else:
        pq.write_table(pa.table({"month": [m or None for m, _ in rows], "sex": [s for _, s in rows]}), path)
    return str(path)


def test_a_policy_file_may_have_a_table_of_the_new_kind():
    made = policy()
    d, (born, sex) = made.metric, made.universe.attributes
    assert born == Months(name="born", column="month")
    assert sex.name == "sex"
    at = {m: made.universe.index([{"born": m, "sex": "M"}])[0] for m in NAMES}
    assert d.exact(at["Dec"], at["Jan"]) == Fraction(1, 2)
    assert d.exact(at["Jan"], at["Jul"]) == 3
    with pytest.raises(PolicyError, match="no month 'Brumaire'"):
        policy("Brumaire")
    with pytest.raises(PolicyError, match=r"unknown key “per”"):
        dx.Policy.parse(POLICY.format(first="Jan").replace("epsilon = 0.5", "epsilon = 0.5\nper = 2"))


def test_checks_differences_and_pictures_ask_the_kind():
    assert "neighboring months" in str(policy().check())
    assert "born" in str(policy().diff(policy("Apr")))
    assert dx.plots.policy(policy()).to_dict()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_its_entries_are_counted_by_every_engine(tmp_path, ending):
    universe = policy().universe
    histogram = open_source(written(tmp_path, ending)).count(universe)
    want = universe.index([{"born": m if m in NAMES else OTHER, "sex": s if s in "MF" else OTHER} for m, s in ROWS])
    assert histogram.counts.tolist() == [want.tolist().count(k) for k in range(universe.size)]


@pytest.mark.parametrize("entries", [["0", "23", "24", "7.0", "x"], [0, 23, 24, 7, None], [0.0, 23.0, 7.5, 7.0, None]])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_kind_that_reads_whole_numbers_is_counted_whatever_the_column_holds(tmp_path, ending, entries):
    path = tmp_path / f"visits.{ending}"
    if ending == "csv":
        path.write_text("hour\n" + "".join(f"{'' if e is None else e}\n" for e in entries))
    elif isinstance(entries[0], str):
        pq.write_table(pa.table({"hour": entries}), path)
        source = open_source(str(path))
        with pytest.raises(DataError, match="the policy needs whole numbers"):
            source.count(Universe([Hours(name="hour")]))
        return
    else:
        pq.write_table(pa.table({"hour": entries}), path)
    counts = open_source(str(path)).count(Universe([Hours(name="hour")])).counts
    assert {k: int(n) for k, n in enumerate(counts) if n} == {0: 1, 7: 1, 23: 1, 24: 2}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_queries_plans_releases_and_a_reopened_ledger_know_it(tmp_path, ending):
    data, ledger = written(tmp_path, ending, ROWS * 50), tmp_path / "ledger.db"
    session = dx.Session(policy(), data, ledger=ledger, new_ledger=True)
    asked = [dx.table("born/quarter", "sex"), dx.count(born="Feb"), dx.count(born=(2, 4)), dx.table("born[Jan,Jul]")]
    plan = session.plan(*asked, budget="20%")
    release = session.release(plan)
    labels = [row["label"] for row in release.rows()]
    assert {"Jan–Mar, M", "Jan–Jun", "Jul–Dec"} <= set(labels), labels
    assert str(plan)

    again = stored_policy(ledger)
    assert again.universe.digest == policy().universe.digest
    assert again.metric.digest == policy().metric.digest
    reopened = dx.Session(again, data, ledger=ledger, new_ledger=True)
    assert reopened.release(reopened.plan(*asked, budget="20%")).rows() == release.rows()  # replayed, not drawn anew


def test_the_verifier_refuses_what_it_does_not_know():
    plan = dx.plan(dx.table("born"), policy().metric, n_records=100)
    with pytest.raises(NotVerified, match="an attribute of unknown kind 'months'"):
        list(verify_data(json.loads(json.dumps(plan.to_dict()))))


def test_two_versions_are_compared_by_the_way_their_entries_are_read():
    found = relate(Months(name="born"), Months(name="born", first="Apr"))
    assert {(int(a), int(b)) for a, b in zip(found.old, found.new, strict=True)} == {
        *((k, (k - 3) % 12) for k in range(12)),
        (12, 12),
    }
    with pytest.raises(PolicyError, match="was months and is hours now"):
        relate(Months(name="born"), Hours(name="born"))


def test_distances_per_step_need_only_the_step():
    d = dx.metrics.attributes(Universe([Hours(name="hour")]), {"hour": {"epsilon": 1, "per": 4}})
    assert d.exact(0, 6) == Fraction(3, 2)


def test_a_kind_that_nobody_registered_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Lunar(Months):
        kind: str = field(init=False, default="lunar")

    lunar = Lunar(name="born")
    with pytest.raises(PolicyError, match="an attribute of kind “lunar” is not known"):
        Universe.from_spec([lunar.spec()])
    with pytest.raises(DxError, match="cannot be counted yet"):
        open_source(pa.table({"born": ["Jan"]})).count(Universe([lunar]))
    with pytest.raises(PolicyError, match="lunar are not known here"):
        relate(lunar, lunar)


def test_a_name_that_is_taken_is_refused():
    class Other(Months):
        pass

    class Nameless(Months):
        kind = ""

    assert attribute_kinds.register(Months) is Months
    for kind, what in ((Other, "is called “months” already"), (Nameless, "needs a kind"), (Attribute, "implements")):
        with pytest.raises(UsageError, match=what):
            attribute_kinds.register(kind)
    for taken in ("months", "values", "epsilon", "step"):
        with pytest.raises(UsageError, match="means something in a policy already"):
            table_kinds.register(taken, table_kinds.PolicyTable(months, 'months = "Jan"'))


def test_places_that_are_not_the_values_are_refused():
    class Thirteen(Months):
        listed = 13

    with pytest.raises(PolicyError, match="the places of entries do not match"):
        Thirteen(name="born")
