"""Pictures of releases: what was published, and nothing else."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from pictured import marks, numbers, texts

import dxprivacy as dx
from dxprivacy.release.release import Release, Row, from_json

HOUSEHOLD = Path(__file__).parents[3] / "examples" / "household"


def released(*rows, records=100):
    return Release(name="7f3a", answers=rows, promise=(), records=records, facts={})


def row(label, value, width=5.0, question="count by sex", unit="", **more):
    return Row(label, question, value, value - width, value + width, unit, width == 0, **more)


def test_a_real_release_shows_its_answers_and_intervals(tmp_path):
    with dx.Session(HOUSEHOLD / "policy.toml", HOUSEHOLD / "people.csv", ledger=tmp_path / "ledger.db") as session:
        release = session.release(session.plan("count by sex", "mean age by sex", "count by age"))
    picture = dx.plots.release(release)
    assert picture.to_svg().startswith("<svg")
    assert picture.title == "Household survey (simulated): 105 answers, as released"
    drawn = set(numbers(picture))
    assert all({r.value, r.low, r.high} <= drawn for r in release.answers)
    assert dx.plots.release(from_json(release.to_json())) == picture


def test_every_number_drawn_is_of_the_release():
    rows = [row("M", 40.0), row("F", 60.0)]
    drawn = {x for field in ("v", "lo", "hi") for x in numbers(dx.plots.release(released(*rows)), field)}
    assert drawn == {40.0, 35.0, 45.0, 60.0, 55.0, 65.0}


def test_exact_and_vague_answers_are_told_in_words():
    vague = row("M", 50.0, 50.0, vague=True)
    picture = dx.plots.release(released(vague, row("F", -7.0, 0.0), row("D", -3.0, 4.0)))
    assert {"too few to say", "−7 exact", "−3 ± 4"} <= texts(picture)
    assert "Grey: too few" in picture.subtitle


def test_it_says_what_the_intervals_cover_also_of_releases_of_earlier_versions():
    new = released(row("M", 40.0))
    assert "covers privacy noise and cells, not sampling error" in dx.plots.release(new).subtitle
    old = replace(new, format="dxprivacy-release/2")
    assert "covers privacy noise only, neither cells nor sampling error" in dx.plots.release(old).subtitle


def test_an_axis_starts_at_zero_unless_that_would_hide_the_intervals():
    def domain(*rows):
        return next(s["domain"] for s in marks(dx.plots.release(released(*rows)), "scale") if "domain" in s)

    assert domain(row("M", 40.0))[0] == 0
    assert domain(row("M", -40.0))[1] == 0
    assert domain(row("M", 40_000.0))[0] > 39_000
    low, high = domain(row("M", 0.0, 0.0))
    assert low < high


@pytest.mark.parametrize("value", [0.0, -1e15, 1e15, 1e-9, 123456789.123])
@pytest.mark.parametrize("width", [0.0, 1e-12, 1.0, 1e9])
def test_numbers_of_any_size_can_be_drawn(value, width):
    assert dx.plots.release(released(row("x", value, width))).to_svg().startswith("<svg")


def test_the_same_label_in_two_questions_is_not_mixed_up():
    rows = [row("M", 1.0), row("F", 2.0), row("M", 3.0, question="b"), row("F", 4.0, question="b")]
    assert len(dx.plots.release(released(*rows)).to_dict()["vconcat"]) == 2
    once = dx.plots.release(released(row("M", 1.0), row("M", 3.0)))
    assert {"M", "M (2)"} <= texts(once)


def test_how_many_records_there_are_is_not_said_where_it_is_private():
    assert "100 records" in dx.plots.release(released(row("M", 1.0))).subtitle
    assert "record" not in dx.plots.release(released(row("M", 1.0), records=None)).subtitle


def test_thirty_thousand_answers_are_binned():
    rows = [row(f"cell {k}", float(k % 97)) for k in range(30_000)]
    start = time.process_time()
    picture = dx.plots.release(released(*rows))
    assert time.process_time() - start < 4
    assert len(picture.text) < 100_000
    assert "binned" in picture.subtitle
    assert min(numbers(picture, "lo")) == -5
    assert max(numbers(picture, "hi")) == 101
    assert picture.to_svg().startswith("<svg")


def test_a_release_without_answers_can_be_drawn():
    assert dx.plots.release(released()).title == "0 answers, as released"


def test_many_questions_are_counted():
    rows = [row(str(k), 1.0, question=f"q{q}") for q in range(20) for k in range(2)]
    assert "8 of 20 panels shown" in dx.plots.release(released(*rows)).subtitle
