"""Released answers beside synthetic ones: the right number on each side, and a count of those that fit."""

import json
from pathlib import Path

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.output.text.synthesis_text import report_lines
from dxprivacy.queries.asking import gather
from dxprivacy.releases.release import Row
from dxprivacy.synthetic.synthesis_report import ComparedAnswer, Report, compare, synthetic_answers
from dxprivacy.wording import plain

HOUSEHOLD = Path(__file__).parents[3] / "examples" / "household"
PEOPLE = dx.Universe([dx.Values(name="sex", values=("M", "F")), dx.Integers(name="age", low=0, high=2)])
COUNTS = np.array([1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0])  # ages 0, 1, 2 and other of M, F and other


def row(label="M", value=10.0, width=5.0, **more):
    return Row(label, "count by sex", value, value - width, value + width, "", width == 0, **more)


def compared(synthetic, released=None, label="M"):
    return ComparedAnswer(label, "count by sex", "", synthetic, released)


def test_counts_sums_and_means_are_those_of_the_records():
    workload = gather(["count by sex", "sum age", "mean age", "mean age by sex", "count where age=1..2"]).on(PEOPLE)
    values = dict(zip([a.label for a in workload.answers], synthetic_answers(workload, COUNTS, 21), strict=True))
    counts = synthetic_answers(gather(["count by sex"]).on(PEOPLE), COUNTS, 21)
    assert counts == [6.0, 15.0]
    assert values["sum age"] == 0 * 5 + 1 * 7 + 2 * 9
    assert values["mean age"] == pytest.approx(25 / 21)
    assert synthetic_answers(gather(["mean age by sex"]).on(PEOPLE), COUNTS, 21)[:2] == pytest.approx([8 / 6, 17 / 15])


def test_more_or_fewer_records_than_people_are_weighed_accordingly():
    workload = gather(["count by sex", "mean age"]).on(PEOPLE)
    assert synthetic_answers(workload, COUNTS, 42) == pytest.approx([12.0, 30.0, 25 / 21])


def test_no_records_answer_nothing():
    assert synthetic_answers(gather(["count by sex"]).on(PEOPLE), np.zeros(12, dtype=np.int64), 10) == [0, 0]


def test_records_of_another_universe_are_refused():
    with pytest.raises(UsageError, match="another universe"):
        synthetic_answers(gather(["count by sex"]).on(PEOPLE), COUNTS[:5], 10)


def test_absent_people_are_in_no_answer():
    universe = dx.Universe(PEOPLE.attributes, max_records=50)
    assert synthetic_answers(gather(["count"]).on(universe), COUNTS, 21) == [21.0]


@pytest.mark.parametrize(("synthetic", "inside"), [(5.0, True), (15.0, True), (4.99, False), (15.01, False)])
def test_the_ends_of_an_interval_belong_to_it(synthetic, inside):
    assert compared(synthetic, row()).inside is inside


def test_an_exact_answer_must_be_met():
    assert compared(10.0, row(width=0.0)).inside is True
    assert compared(11.0, row(width=0.0)).inside is False


def test_the_summary_counts_what_fits_and_leaves_out_what_was_not_released():
    report = Report((compared(10.0, row()), compared(30.0, row()), compared(1.0)), 21)
    assert (report.inside, len(report.compared)) == (1, 2)
    assert report.summary == "1 of 2 synthetic answers lie within the released 95 % intervals"
    assert Report((compared(1.0),), 21).summary == "nothing was released to compare with"
    text = "\n".join(plain(line) for line in report_lines(report))
    assert "1 further answer" in text
    assert text.count("outside") == 1


def test_a_long_report_shows_what_does_not_fit_and_where_the_rest_is():
    answers = [compared(10.0, row(f"a{k}"), f"a{k}") for k in range(100)]
    answers[77] = compared(99.0, row("the odd one"), "the odd one")
    lines = [plain(line) for line in report_lines(Report(tuple(answers), 21), file="synthetic.json")]
    assert any("the odd one" in line and "outside" in line for line in lines)
    assert any("88 more in synthetic.json" in line for line in lines)
    assert len(lines) < 20
    assert len(report_lines(Report(tuple(answers), 21), everything=True)) > 100


def test_a_report_of_a_real_release_is_written_and_holds_no_true_answer(tmp_path):
    with dx.Session(
        HOUSEHOLD / "policy.toml", HOUSEHOLD / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as session:
        plan = session.plan("count by sex", "mean age", budget="25%")
        release = session.release(plan)
    counts = np.random.default_rng(0).multinomial(
        2000, np.full(plan.metric.universe.cells, 1 / plan.metric.universe.cells)
    )
    report = compare(plan.workload, release.answers, counts, 2000, method="direct")
    data = json.loads(report.save(tmp_path / "report.json").read_text(encoding="utf-8"))
    assert data["method"] == "direct"
    assert data["records"] == 2000
    assert [a["released"] for a in data["answers"]] == [r.value for r in release.answers]
    assert [a["synthetic"] for a in data["answers"]] == synthetic_answers(plan.workload, counts, 2000)
    assert data["inside"] == sum(a["low"] <= a["synthetic"] <= a["high"] for a in data["answers"])
    with pytest.raises(UsageError, match="cannot write"):
        report.save(tmp_path / "no" / "report.json")
