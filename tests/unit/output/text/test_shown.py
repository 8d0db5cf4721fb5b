"""What answers are called on screens, where no column says what they are grouped by."""

import re

import numpy as np
import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy.mechanisms.linear.release_answers import build_release
from dxprivacy.output.text.headings import under_headings
from dxprivacy.output.text.plan_text import plan_lines
from dxprivacy.output.text.release_text import release_lines
from dxprivacy.queries.asking import gather
from dxprivacy.releases.answer_tables import names
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.wording import columns, plain

POLICY = dx.Policy.parse("""title = "T"
dataset = "t"
[attributes.month]
integers = [1, 3]
epsilon = 1
per = 1
[attributes.hour]
integers = [1, 4]
epsilon = 1
per = 1
[attributes.smokes]
values = ["yes", "no"]
epsilon = 1
[attributes.drinks]
values = ["yes", "no"]
epsilon = 1
[attributes.place]
values = ["1770", "Agnes Water", "Bundaberg"]
epsilon = 1
""")


def named(*queries):
    return names(gather(list(queries)).on(POLICY.universe).answers)


def rows_of(lines):
    return [" ".join(plain(line).split()) for line in lines]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("count by month", ["month 1", "month 2", "month 3"]),
        ("count by month/2, smokes", ["month 1, yes", "month 1, no", "month 2–3, yes", "month 2–3, no"]),
        ("prefixes month[1,2]", ["month 1", "month 1–3"]),
        ("mean hour by month[1,3]", ["mean hour, month 1–2", "mean hour, month 3"]),
        ("count by smokes", ["yes", "no"]),
        (
            "quantile 0.25, 0.75 of hour by smokes, month[1,3]",
            [
                f"quantile {q} of hour, {s}, month {m}"
                for m in ("1–2", "3")
                for s in ("yes", "no")
                for q in (0.25, 0.75)
            ],
        ),
        ("quantile 0.25, 0.75 of hour", ["quantile 0.25 of hour", "quantile 0.75 of hour"]),
        ("count by place", ["1770", "Agnes Water", "Bundaberg"]),
        ("count where month=1", ["count where month=1"]),
    ],
)
def test_an_attribute_is_named_before_numbers_and_not_before_words(query, wanted):
    assert named(query) == wanted


def test_an_attribute_is_named_where_another_query_has_the_same_label():
    assert named("count by smokes", "count by drinks", "count by place") == [
        "smokes yes", "smokes no", "drinks yes", "drinks no", "1770", "Agnes Water", "Bundaberg",
    ]  # fmt: skip


def test_labels_that_name_their_attributes_stay_as_they_are():
    assert named("marginals 1")[0] == "month: 1"
    assert names(gather(dx.matrix(np.eye(3), labels="123")).on(dx.metrics.constant(3, 1).universe).answers) == [
        "row 1", "row 2", "row 3",
    ]  # fmt: skip


def test_queries_are_headings_only_where_names_alone_would_mislead():
    lines = [("count by sex", "M", "1"), ("mean age within 2", "mean age", "2")]
    assert under_headings(lines) == [["M", "1"], ["mean age", "2"]]
    headed = columns(under_headings([*lines, ("count by sex where age=1", "M", "3")]), "lr")
    assert rows_of(headed) == ["count by sex", "M 1", "mean age 2", "count by sex where age=1", "M 3"]


ASKED = ["count by month", "count by hour", "count by smokes", "count by smokes where hour=1"]


def released(*queries):
    plan = standard_plan(list(queries), POLICY.metric, n_records=100)
    noisy = np.arange(plan.workload.rows, dtype=np.int64)
    return build_release(plan, noisy, 100, LedgerReference("ledger.db", 1, "2026-01-01", "x", 1.0))


def test_a_plan_calls_no_two_answers_the_same():
    plan = standard_plan(ASKED, POLICY.metric, n_records=100)
    wanted = [
        "count by month", "month 1", "month 2", "month 3", "count by hour", "hour 1", "hour 2", "hour 3", "hour 4",
        "count by smokes", "yes", "no", "count by smokes where hour=1", "yes", "no",
    ]  # fmt: skip
    shown = rows_of(plan_lines(plan))[3:][: len(wanted)]
    assert all(row == name or row.startswith(f"{name} ") for row, name in zip(shown, wanted, strict=True)), shown


def test_a_release_shows_every_query_with_its_groups_in_columns():
    release = released(*ASKED)
    assert [row["label"] for row in release.rows()][:2] == ["1", "2"]  # stored as ever
    rows = rows_of(release_lines(release))
    for query, column, first in zip(ASKED, ("month", "hour", "smokes", "smokes"), "11yy", strict=True):
        at = rows.index(query)
        assert rows[at + 1] == f"{column} released 95 % interval"
        assert rows[at + 2].startswith(first)


def test_a_release_of_many_answers_shows_the_first_of_each_query_and_how_many_more():
    release = released("ranges hour", "count by place, month", "count", "count by month, hour", "marginals 2")
    rows = rows_of(release_lines(release, file="all.csv"))
    for query in ("ranges hour", "count by place, month", "count by month, hour", "marginals 2"):
        assert query in rows
    assert any(row.startswith("count ") and row.endswith("same for all records") for row in rows)
    (of_all,) = [row for row in rows if "more in all.csv." in row]
    per_table = [int(row.split()[1]) for row in rows if row.startswith("…") and row.endswith("more")]
    left_out = [int(row.split()[1]) for row in rows if row.endswith("more tables")]
    assert left_out == [4]  # of ten two-way tables
    numbers = sum(bool(re.search(r"\d – \S*\d$|noise-free: ", row)) for row in rows)
    assert int(of_all.split()[0]) == len(release.answers) - numbers
    assert sum(per_table) < int(of_all.split()[0])
    everything = rows_of(release_lines(release, everything=True))
    assert not any("more" in row for row in everything)
    assert sum(bool(re.search(r"\d – \S*\d$|noise-free: ", row)) for row in everything) == len(release.answers)


def test_groups_stand_in_the_order_asked_whatever_the_order_of_the_policy():
    rows = rows_of(release_lines(released("count by hour[1,3], month"), everything=True))
    at = rows.index("hour month released 95 % interval")
    assert [row.split()[:2] for row in rows[at + 1 : at + 7]] == [
        ["1–2", "1"], ["1–2", "2"], ["1–2", "3"], ["3–4", "1"], ["3–4", "2"], ["3–4", "3"],
    ]  # fmt: skip


def test_a_two_way_table_is_a_crosstab_where_there_is_room_for_it():
    release = released("count by month, smokes")
    rows = rows_of(release_lines(release, wide=True))
    at = rows.index("month × smokes yes no")
    values = [[int(cell.rstrip(" ░▒▓█")) for cell in re.findall(r"(?<= )\d+", row)] for row in rows[at + 1 : at + 4]]
    assert values == [[0, 1], [2, 3], [4, 5]]
    assert rows[at + 3].endswith("█")  # the largest is darkest
    assert rows[at + 4].startswith("each ± ")
    assert "month × smokes yes no" not in rows_of(release_lines(release))
    long = rows_of(release_lines(released("count by smokes, month, hour", "count by place, smokes"), wide=True))
    assert "place × smokes yes no" in long  # three-way tables stay lists
    assert "smokes month hour released 95 % interval" in long


def test_a_crosstab_with_many_columns_is_turned():
    policy = dx.Policy.parse(
        'title = "T"\ndataset = "t"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
        "[attributes.age]\nintegers = [0, 19]\nepsilon = 1\nper = 1\n"
    )
    plan = standard_plan(["count by sex, age"], policy.metric, n_records=100)
    release = build_release(plan, np.arange(40), 100, LedgerReference("ledger.db", 1, "2026-01-01", "x", 1.0))
    rows = rows_of(release_lines(release, wide=True))
    at = rows.index("age × sex M F")
    assert [re.findall(r"\d+", row) for row in rows[at + 1 : at + 3]] == [["0", "0", "20"], ["1", "1", "21"]]


@pytest.mark.parametrize(("asked", "found"), [("hour 2", "Why hour 2 "), ("2", "Why month 2 "), ("yes", "Why yes ")])
def test_an_answer_is_explained_by_its_name_on_the_screen_or_its_label(asked, found):
    plan = standard_plan(["count by month", "count by hour", "count by smokes"], POLICY.metric, n_records=100)
    assert any(row.startswith(found) for row in map(plain, plan_lines(plan, why=asked)))
