"""What answers are called on screens, where no column says what they are grouped by."""

import numpy as np
import pytest

import dxprivacy as dx
from contracts.methods import plain_plan
from dxprivacy.mechanisms.laplace.answers import build_release
from dxprivacy.questions.asking import gather
from dxprivacy.release.booking import Booking
from dxprivacy.screens.names import names, under_headings
from dxprivacy.screens.plan import plan_lines
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


def named(*questions):
    return names(gather(list(questions)).on(POLICY.universe).answers)


def rows_of(lines):
    return [" ".join(plain(line).split()) for line in lines]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("count by month", ["month 1", "month 2", "month 3"]),
        ("count by month/2, smokes", ["month 1, yes", "month 1, no", "month 2–3, yes", "month 2–3, no"]),
        ("prefixes month[1,2]", ["month 1", "month 1+"]),
        ("mean hour by month[1,3]", ["mean hour, month 1–2", "mean hour, month 3+"]),
        ("count by smokes", ["yes", "no"]),
        ("count by place", ["1770", "Agnes Water", "Bundaberg"]),
        ("count where month=1", ["count where month=1"]),
    ],
)
def test_an_attribute_is_named_before_numbers_and_not_before_words(question, wanted):
    assert named(question) == wanted


def test_an_attribute_is_named_where_another_question_has_the_same_label():
    assert named("count by smokes", "count by drinks", "count by place") == [
        "smokes yes", "smokes no", "drinks yes", "drinks no", "1770", "Agnes Water", "Bundaberg",
    ]  # fmt: skip


def test_labels_that_name_their_attributes_stay_as_they_are():
    assert named("marginals 1")[0] == "month: 1"
    assert names(gather(dx.matrix(np.eye(3), labels="123")).on(dx.metrics.constant(3, 1).universe).answers) == [
        "row 1", "row 2", "row 3",
    ]  # fmt: skip


def test_questions_are_headings_only_where_names_alone_would_mislead():
    lines = [("count by sex", "M", "1"), ("mean age within 2", "mean age", "2")]
    assert under_headings(lines) == [["M", "1"], ["mean age", "2"]]
    headed = columns(under_headings([*lines, ("count by sex where age=1", "M", "3")]), "lr")
    assert rows_of(headed) == ["count by sex", "M 1", "mean age 2", "count by sex where age=1", "M 3"]


def test_a_plan_and_its_release_call_no_two_answers_the_same():
    asked = ["count by month", "count by hour", "count by smokes", "count by smokes where hour=1"]
    plan = plain_plan(asked, POLICY.metric, rows=100)
    noisy = np.arange(plan.workload.rows, dtype=np.int64)
    release = build_release(plan, noisy, 100, Booking("ledger.db", 1, "2026-01-01", "x", 1.0))
    wanted = [
        "count by month", "month 1", "month 2", "month 3", "count by hour", "hour 1", "hour 2", "hour 3", "hour 4",
        "count by smokes", "yes", "no", "count by smokes where hour=1", "yes", "no",
    ]  # fmt: skip
    for lines in (rows_of(plan_lines(plan))[3:], str(release).splitlines()[1:]):
        shown = rows_of(lines)[: len(wanted)]
        assert all(row == name or row.startswith(f"{name} ") for row, name in zip(shown, wanted, strict=True)), shown
    assert [row["label"] for row in release.rows()][:2] == ["1", "2"]  # stored as ever


@pytest.mark.parametrize(("asked", "found"), [("hour 2", "Why hour 2 "), ("2", "Why month 2 "), ("yes", "Why yes ")])
def test_an_answer_is_explained_by_its_name_on_the_screen_or_its_label(asked, found):
    plan = plain_plan(["count by month", "count by hour", "count by smokes"], POLICY.metric, rows=100)
    assert any(row.startswith(found) for row in map(plain, plan_lines(plan, why=asked)))
