"""The values of a column that is declared public: the same from every engine, within limits, and nothing quoted."""

import pyarrow as pa
import pytest

from dxprivacy.engines import open_source
from dxprivacy.engines.fit import LONGEST_VALUE, MOST_VALUES, public_values
from dxprivacy.errors import DataError, DxError, UsageError
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from engines.engine_kinds import KINDS, build

STATES = ["Ohio", "New Jersey", None, "Ohio", "größe", 'a"b\\c', "x,y", "", "other", " Utah", "bad\tvalue", "10", "9"]
LISTED = ("9", "10", " Utah", "New Jersey", "Ohio", 'a"b\\c', "größe", "x,y")


def columns(states=STATES):
    numbers = [k % 7 - 3 for k in range(len(states))]
    return {
        "state": (pa.string(), list(states)),
        "n": (pa.int64(), [*numbers[:-1], None] if len(states) > 1 else numbers),
        "x": (pa.float64(), [0.5] * len(states)),
        "day": (pa.date32(), [None] * len(states)),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_engine_lists_the_same_values(kind, tmp_path):
    source = open_source(build(kind, columns(), tmp_path))
    assert public_values(source, "state") == LISTED


@pytest.mark.parametrize("kind", ["parquet", "polars", "arrow"])
def test_whole_numbers_are_listed_in_their_order(kind, tmp_path):
    source = open_source(build(kind, columns(), tmp_path))
    assert public_values(source, "n") == (-3, -2, -1, 0, 1, 2, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_every_listed_value_is_found_again_when_counting(kind, tmp_path):
    data = build(kind, columns(), tmp_path)
    source = open_source(data)
    listed = public_values(source, "state")
    counts = source.count(Universe([Values(name="state", values=listed)])).counts
    assert (counts[:-1] > 0).all()
    assert counts[-1] == 4  # missing, empty, “other”, and the one with a tab


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_values_are_listed_and_one_more_is_refused(kind, tmp_path):
    most = [f"v{k}" for k in range(MOST_VALUES)] * 2
    assert len(public_values(open_source(build(kind, columns(most), tmp_path)), "state")) == MOST_VALUES
    source = open_source(build(kind, columns([*most, "secret-one-more"]), tmp_path))
    with pytest.raises(DataError, match="more than 1,000 different values") as caught:
        public_values(source, "state")
    assert caught.value.hints
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_values_to_list_is_refused_without_quoting_it(kind, tmp_path):
    source = open_source(build(kind, columns(["secret" * LONGEST_VALUE, "a"]), tmp_path))
    refused = [("state", "more than 200 characters"), ("sttae", "no column “sttae”"), ("", "no column “”")]
    if kind != "csv":  # which knows no types
        refused += [("x", "floating-point"), ("day", "column day")]
    for column, what in refused:
        with pytest.raises(DxError, match=what) as caught:
            public_values(source, column)
        assert caught.value.hints
        assert "secret" not in str(caught.value)
    empty = open_source(build(kind, columns([None, "", "other"]), tmp_path))
    with pytest.raises(DataError, match="no values to list"):
        public_values(empty, "state")


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,x\n1,2\n")
    with pytest.raises(DataError, match="2 columns"):
        public_values(open_source(tmp_path / "a.csv"), "x")


def test_truths_are_known_without_reading():
    with pytest.raises(UsageError, match="true or false"):
        public_values(open_source(pa.table({"ok": [True]})), "ok")
