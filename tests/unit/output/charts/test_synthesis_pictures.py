"""Pictures of synthetic answers: bars of what was released, dots of what the records say."""

import pytest
from pictured import marks, numbers, texts

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.releases.release import Row
from dxprivacy.synthetic.synthesis_report import ComparedAnswer, Report


def answer(label, value, synthetic, width=5.0, query="count by sex", **more):
    row = Row(label, query, value, value - width, value + width, "", width == 0, **more)
    return ComparedAnswer(label, query, "", synthetic, row)


def picture(*answers, records=100):
    return dx.plots.synthesis(Report(answers, records))


def test_bars_are_what_was_released_and_dots_what_the_records_say():
    drawn = picture(answer("M", 40.0, 41.0), answer("F", 60.0, 77.0))
    assert set(numbers(drawn, "lo")) == {35.0, 55.0}
    assert set(numbers(drawn, "hi")) == {45.0, 65.0}
    assert set(numbers(drawn, "s")) == {41.0, 77.0}
    assert drawn.title == "1 of 2 synthetic answers lie within the released 95 % intervals"
    assert "open if it lies outside" in drawn.subtitle
    assert "77, outside" in texts(drawn)
    assert drawn.to_svg().startswith("<svg")


def test_dots_far_outside_stay_on_the_picture():
    low, high = next(s["domain"] for s in marks(picture(answer("M", 40.0, 4000.0)), "scale") if "domain" in s)
    assert low <= 35 < 4000 <= high


def test_many_answers_are_measured_by_their_own_intervals():
    drawn = picture(*(answer(f"a{k}", 100.0 * k, 100.0 * k + 2.5) for k in range(100)))
    assert set(numbers(drawn, "w")) == {0.5}
    crowded = picture(*(answer(f"a{k}", 0.0, 50.0 if k == 1999 else 0.0) for k in range(4000)))
    assert max(numbers(crowded, "w")) > 2  # of neighbors the worst is drawn
    assert len(numbers(crowded, "w")) <= 1500
    assert "worst" in crowded.subtitle
    assert crowded.to_svg().startswith("<svg")


@pytest.mark.parametrize("value", [0.0, -1e15, 1e-9, 123456789.123])
@pytest.mark.parametrize("width", [0.0, 1e-12, 1e9])
@pytest.mark.parametrize("many", [1, 60])
def test_numbers_of_any_size_can_be_drawn(value, width, many):
    answers = [answer(f"a{k}", value, value + 1, width) for k in range(many)]
    assert picture(*answers).to_svg().startswith("<svg")


def test_vague_and_equal_answers_are_drawn_apart():
    twins = picture(answer("M", 1.0, 1.0), answer("M", 1.0, 1.0), answer("?", 50.0, 1.0, 50.0, vague=True))
    assert {"M", "M (2)", "?"} <= texts(twins)
    assert "Gray: too few" in twins.subtitle


def test_what_is_no_report_is_refused():
    with pytest.raises(UsageError, match="a report is needed"):
        dx.plots.synthesis(3)
    with pytest.raises(UsageError, match="no released answers"):
        dx.plots.synthesis(Report((ComparedAnswer("M", "count", "", 1.0),), 3))
