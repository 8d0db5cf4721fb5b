"""A number means what it says: intervals hold what cells hide, means are of valid entries, labels say what was counted.

The noise is switched off, so that an interval holds the truth for one reason only: its part for the cells is right.
"""

from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import seeds
from dxprivacy.errors import DxError, PolicyError, QueryError
from dxprivacy.policy.query_files import AskFile, read_queries
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.verify import verify_data


class Silence:
    """No noise at all."""

    def laplace(self, scales):
        return np.zeros(len(scales), dtype=np.int64)

    def together(self, family):
        return np.zeros(family.size, dtype=np.int64)

    def select(self, scores, scales, *, flip=False):
        raise AssertionError("nothing is chosen here")


@pytest.fixture(autouse=True)
def silence(monkeypatch):
    monkeypatch.setattr("dxprivacy.session.session.SystemNoise", Silence)


POLICY = """
title = "Cells"
dataset = "cells"
{unit}
[attributes.group]
values = ["a", "b"]
epsilon = 5
[attributes.x]
{x}
epsilon = 5
per = 10
"""
PRIVATE = 'neighbors = "add-remove"\nepsilon_presence = 5\nmax_records = 400'
FINE = "numbers = [0, 1000]\nstep = 250"


def released(tmp_path, rows, *asked, x=FINE, unit=""):
    (tmp_path / "people.csv").write_text("group,x\n" + "".join(f"{g},{v}\n" for g, v in rows), encoding="utf-8")
    policy = dx.Policy.parse(POLICY.format(x=x, unit=unit))
    with dx.Session(policy, tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        release = session.release(session.plan(*asked, budget="50%"), anyway=True)
    list(verify_data(release.to_dict()))
    (tmp_path / "ledger.db").unlink()
    (tmp_path / "ledger.db.witness").unlink()
    return {row["label"]: row for row in release.rows()}


def holds(row, truth):
    return row["low"] - 1e-9 <= truth <= row["high"] + 1e-9


@pytest.mark.parametrize("bin_value", ["low", "middle", "high"])
@pytest.mark.parametrize("unit", ["", PRIVATE], ids=["n public", "n private"])
@pytest.mark.parametrize("seed", seeds(4, fast=1))
def test_sums_and_means_hold_what_cells_hide(tmp_path, bin_value, unit, seed):
    rng = np.random.default_rng(seed)
    at = [
        rng.uniform(0, 1000, 300),
        250 * rng.integers(0, 4, 300),
        250 * rng.integers(1, 5, 300) - 0.001,
        [499.0] * 300,
    ]
    rows = list(zip(rng.choice(["a", "b"], 300), (round(float(v), 4) for v in at[seed]), strict=True))
    x = f'{FINE}\nbin_value = "{bin_value}"'
    found = released(tmp_path, rows, "mean x", "sum x", "mean x by group", "sum x by group", x=x, unit=unit)
    everybody = [v for _, v in rows]
    assert holds(found["mean x"], np.mean(everybody))
    assert holds(found["sum x"], np.sum(everybody))
    for name in "ab":
        mine = [v for g, v in rows if g == name]
        assert holds(found[f"mean x, {name}"], np.mean(mine))
        assert holds(found[f"sum x, {name}"], np.sum(mine))
        assert found[f"mean x, {name}"]["high"] - found[f"mean x, {name}"]["low"] <= 750
        assert 0 <= found[f"mean x, {name}"]["low"] <= found[f"mean x, {name}"]["high"] <= 1000


def test_whole_numbers_held_in_steps_of_one_have_an_interval_with_the_truth(tmp_path):
    rows = [("a", v) for v in range(0, 40)] * 5
    for end, shift in (("low", 0.0), ("middle", 0.5), ("high", 1.0)):
        x = f'numbers = [0, 100]\nstep = 1\noutside = "clamp"\nbin_value = "{end}"'
        row = released(tmp_path, rows, "mean x", x=x)["mean x"]
        assert row["value"] == pytest.approx(19.5 + shift)
        assert holds(row, 19.5)
        assert row["high"] - row["low"] >= 1


def test_a_condition_names_the_cell_that_it_counts(tmp_path):
    rows = [("a", 0.0)] * 10 + [("a", 0.4)] * 5 + [("a", 0.6)] * 3 + [("a", 10)] * 2
    x = "numbers = [0, 10]\nstep = 0.5"
    asked = [
        "count where x=0",
        "count where x=0..0.5",
        "count where x=0..2",
        "count where x=9..10",
        "count where x=0|0.7",
    ]
    found = released(tmp_path, rows, *asked, "count where x=other", x=x)
    assert (
        list(found)
        == [
            "count where x 0 to below 0.5",
            "count where x 0 to below 0.5",
            "count where x 0 to below 2",
            "count where x 9 to 10",
            "count where x 0 to below 0.5 or 0.5 to below 1",
            "count where x other",
        ][1:]
    )
    assert found["count where x 0 to below 0.5"]["value"] == 15
    assert found["count where x 0 to below 2"]["value"] == 18
    assert found["count where x 9 to 10"]["value"] == 2


def test_a_condition_that_cuts_a_cell_stays_refused():
    policy = dx.Policy.parse(POLICY.format(x=FINE, unit=""))
    with pytest.raises(QueryError, match="lies inside a step of x"):
        dx.plan("count where x=0..100", policy.metric)


def test_missing_entries_are_left_out_of_means_and_count_nothing_in_sums(tmp_path):
    rows = [("a", 10), ("a", 20), ("b", 30), ("a", ""), ("b", "unknown"), ("b", 2013)] * 20
    found = released(tmp_path, rows, "mean x", "sum x", "mean x by group", x="integers = [0, 100]")
    assert found["mean x"]["value"] == pytest.approx(20)
    assert found["sum x"]["value"] == pytest.approx(20 * 60)
    assert found["mean x, a"]["value"] == pytest.approx(15)
    assert found["mean x, b"]["value"] == pytest.approx(30)


def test_a_declared_value_counts_in_sums_and_not_in_means(tmp_path):
    rows = [("a", 10), ("a", "")] * 50
    found = released(tmp_path, rows, "mean x", "sum x", x="integers = [0, 100]\nother = { value = 7 }")
    assert found["mean x"]["value"] == pytest.approx(10)
    assert found["sum x"]["value"] == pytest.approx(50 * 17)


def test_a_complete_attribute_is_divided_by_the_public_number(tmp_path):
    policy = dx.Policy.parse(POLICY.format(x="integers = [0, 100]\ncomplete = true", unit=""))
    plain = dx.Policy.parse(POLICY.format(x="integers = [0, 100]", unit=""))
    complete, valid = (dx.plan("mean x", p.metric, n_records=1000) for p in (policy, plain))
    assert complete.workload.rows == 1
    assert valid.workload.rows == 2
    assert complete.errors[0].half_width < valid.errors[0].half_width
    found = released(tmp_path, [("a", 10), ("a", 30)] * 10, "mean x", x="integers = [0, 100]\ncomplete = true")
    assert found["mean x"]["value"] == pytest.approx(20)


def test_queries_of_old_files_mean_what_they_meant():
    policy = dx.Policy.parse(POLICY.format(x="integers = [0, 100]", unit=""))
    old, new = from_dict({"ask": "mean", "of": "x"}), dx.mean_of("x")
    assert old.on(policy.metric.universe).rows == 1
    assert old.on(policy.metric.universe).dense()[0, 101] == 50  # what is missing, as the middle of the range
    assert new.on(policy.metric.universe).rows == 2
    assert from_dict(new.to_dict()) == new
    assert from_dict(old.to_dict()) == old
    with pytest.raises(QueryError):
        from_dict({"ask": "mean", "of": "x", "missing": "zero"})


def test_a_mean_over_invalid_entries_alone_is_refused():
    policy = dx.Policy.parse(POLICY.format(x="integers = [0, 100]", unit=""))
    with pytest.raises(QueryError, match="over valid entries"):
        dx.plan("mean x where x=other", policy.metric, n_records=10)


STRICT = POLICY.format(x=FINE, unit="").replace("epsilon = 5\nper", "epsilon = 0.05\nper")


def test_errors_and_targets_know_what_cells_hide():
    policy = dx.Policy.parse(STRICT)
    plan = dx.plan(["sum x", "mean x"], policy.metric, n_records=300)
    total, mean = plan.errors
    assert total.hidden == 300 * 125
    assert mean.hidden == 125
    assert min(total.half_width - total.hidden, mean.half_width - mean.hidden) > 0
    assert min(total.typical - total.hidden, total.rmse - total.hidden) > 0
    # A target that cells alone miss is not chased with all of the budget: the noise is made as small as was asked.
    asked = dx.plan("mean x within 50", policy.metric, n_records=100_000)
    assert asked.errors[0].noise_half_width <= 50
    assert asked.certificate.ratio < F(1, 2)
    assert asked.errors[0].half_width > 125


def test_the_gain_of_an_answer_is_that_of_the_widths_shown():
    policy = dx.Policy.parse(STRICT)
    coarse = dx.plan("sum x", policy.metric, n_records=300)
    assert coarse.baselines.strict[0].hidden == coarse.errors[0].hidden > 0
    assert coarse.improvement[0] == coarse.baselines.strict[0].half_width / coarse.errors[0].half_width
    assert (
        1 < coarse.improvement[0] < coarse.gains[0]
    )  # what cells hide is the same for standard DP: only noise differs


@pytest.mark.parametrize("attribute", [
    Numbers(name="x", low=0, high=10, step=1, bin_value="low"),
    Numbers(name="x", low=0, high=10, step=1, bin_value="high", clamp=True),
    Integers(name="x", low=0, high=10, clamp=True),
    Integers(name="x", low=0, high=10, complete=True),
])  # fmt: skip
def test_new_settings_come_back_from_their_spec(attribute):
    assert attribute_from_spec(attribute.spec()) == attribute


def test_old_settings_have_the_spec_that_they_had():
    assert Numbers(name="x", low=0, high=10, step=1).spec().keys() == {
        "kind", "name", "column", "other", "other_value", "range", "step", "outside"
    }  # fmt: skip
    assert "outside" not in Integers(name="x", low=0, high=10).spec()


@pytest.mark.parametrize("written", ['bin_value = "mean"', 'outside = "wrap"', "complete = 1", "bin_value = 3"])
def test_settings_that_mean_nothing_are_refused(written):
    with pytest.raises(PolicyError, match=written.split(" ")[0]):
        dx.Policy.parse(POLICY.format(x=f"{FINE}\n{written}", unit=""))


def test_whole_numbers_can_clamp(tmp_path):
    age = Integers(name="age", low=0, high=100, clamp=True)
    written = ["-5", "0", "17", "100", "101", "9" * 24, "17.5", "x"]
    assert age.encode(written).tolist() == [0, 0, 17, 100, 100, 100, 101, 101]
    rows = [("a", -30), ("a", 40), ("a", 250), ("a", "x")] * 10
    found = released(tmp_path, rows, "mean x", "count where x=100", x=CLAMPED)
    assert found["mean x"]["value"] == pytest.approx(140 / 3)
    assert found["count where x 100 or more"]["value"] == 10


CLAMPED = 'integers = [0, 100]\noutside = "clamp"'
CLAMPED_CELLS = 'numbers = [0, 100]\nstep = 10\noutside = "clamp"'


@pytest.mark.parametrize(("x", "told"), [
    (CLAMPED, {"x=0": "x 0 or less", "x=100": "x 100 or more", "x=7": "x 7", "x=0..9": "x 9 or less",
               "x=10..100": "x 10 or more", "x=3..9": "x 3 to 9", "x=0..100": "x any number", "x=other": "x other",
               "x=100|0|7": "x 0 or less or 7 or 100 or more"}),
    (CLAMPED_CELLS, {"x=0": "x below 10", "x=100": "x 90 or more", "x=17": "x 10 to below 20", "x=0..20": "x below 20",
                     "x=20..100": "x 20 or more", "x=30..60": "x 30 to below 60", "x=0..100": "x any number"}),
])  # fmt: skip
def test_the_ends_of_a_range_that_clamps_are_called_what_they_count(tmp_path, x, told):
    rows = [("a", v) for v in (-30, 3, 7, 17, 40, 95, 250, "x")]
    found = released(tmp_path, rows, *(f"count where {c}" for c in told), x=x)
    assert list(found) == [f"count where {words}" for words in told.values()]
    for words in told.values():  # read as a person would, the label gives the count of the raw numbers
        low, high = -np.inf, np.inf
        if " or " not in words.removesuffix(" or less").removesuffix(" or more") and "other" not in words:
            numbers = [float(n) for n in words.replace("below", "").split() if n.isdigit()]
            if "or more" in words or " to " in words or words == "x 7":
                low = numbers[0]
            if "or less" in words or words == "x 7" or ("below" not in words and " to " in words):
                high = np.nextafter(numbers[-1], np.inf)
            elif "below" in words:
                high = numbers[-1]
            truth = sum(low <= v < high for _, v in rows if v != "x")
            assert found[f"count where {words}"]["value"] == truth, words


@pytest.mark.parametrize("asked", ["count where x=0", "count by x/50", "prefixes x/50", "ranges x/50", "marginals 1",
                                   "sum x", "mean x by group", "count by group where x=0..50"])  # fmt: skip
@pytest.mark.parametrize("x", [CLAMPED, CLAMPED_CELLS])
def test_every_answer_that_a_clamped_number_may_move_says_so(tmp_path, asked, x):
    (tmp_path / "people.csv").write_text("group,x\na,7\nb,250\n", encoding="utf-8")
    policy = dx.Policy.parse(POLICY.format(x=x, unit=""))
    with dx.Session(policy, tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        release = session.release(session.plan(asked, "count by group"), anyway=True)
    list(verify_data(release.to_dict()))
    assert sum("x outside its range counts as the nearest end" in note for note in release.to_dict()["notes"]) == 1


@pytest.mark.parametrize("value", ["101", "-1", "999999"])
@pytest.mark.parametrize("x", [CLAMPED, CLAMPED_CELLS])
def test_a_query_cannot_name_a_number_outside_a_range_that_clamps(value, x):
    metric = dx.Policy.parse(POLICY.format(x=x, unit="")).metric
    asked = f"count where x={value}"
    for make in (
        lambda: dx.plan(asked, metric),
        lambda: dx.plan_selection(dx.most_common(dx.table("group", where={"x": value})), metric),
        lambda: dx.plan_smalldb(asked, metric, n_records=10, alpha=0.5),
        lambda: dx.plan_synthesis(asked, metric, n_records=10),
    ):
        with pytest.raises(QueryError, match=f"{value} lies outside the range of x"):
            make()
    with pytest.raises(DxError, match=f"{value} lies outside the range of x"):
        read_queries(AskFile.parse(f'[[query]]\ntext = "{asked}"\n'), metric.universe)
