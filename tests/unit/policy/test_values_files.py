"""`values = "zips.csv"`: a column of values, further columns as public properties, and errors that quote nothing."""

import json
import random
import time

import pytest

import dxprivacy as dx
from dxprivacy.cli.given_files import policy_files
from dxprivacy.errors import NotVerified, PolicyError
from dxprivacy.policy.tables import listed_kinds, place_files
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.verify import verify_data
from dxprivacy.verify.attributes import attribute

POLICY = """title = "Post"
dataset = "post"
[attributes.zip]
values = "zips.csv"
epsilon = 1.0
{lines}
"""
ZIPS = "zip,state,population\n10001,NY,21102\n07030,NJ,50005\n10002,NY,81410\n"


def policy(tmp_path, content=ZIPS, *lines):
    (tmp_path / "zips.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "policy.toml").write_text(POLICY.format(lines="\n".join(lines)))
    return dx.Policy.load(tmp_path / "policy.toml")


def test_values_and_their_public_properties_come_from_a_file(tmp_path):
    made = policy(tmp_path, ZIPS, 'units = { population = "people" }')
    (zips,) = made.universe.attributes
    assert zips.texts == ("10001", "07030", "10002")
    assert [fact.name for fact in zips.declared] == ["state", "population"]
    assert zips.properties["population"].unit == "people"
    assert made.metric.exact(0, 3) == 1
    assert attribute_from_spec(zips.spec()) == Values(
        name="zip", values=zips.texts, facts=tuple(Property(f.name, f.entries) for f in zips.facts)
    )


def test_a_file_of_nothing_but_values_is_the_list_of_them(tmp_path):
    alone = policy(tmp_path, "zip\n10001\n07030\n")
    listed_ones = dx.Policy.parse(POLICY.format(lines="").replace('"zips.csv"', '["10001", "07030"]'))
    assert alone.universe.digest == listed_ones.universe.digest
    assert alone.metric.digest == listed_ones.metric.digest


@pytest.mark.parametrize(
    ("header", "lines", "found"),
    [
        ("id,zip", [], "id"),
        ("code,zip", [], "zip"),
        ("code,PLZ", ['column = "PLZ"'], "PLZ"),
        ("code,name", [], "code"),
        ("code,name", ['id = "name"'], "name"),
    ],
)
def test_the_column_of_values_is_told_or_called_so_or_the_first(tmp_path, header, lines, found):
    (zips,) = policy(tmp_path, f"{header}\na,b\nc,d\n", *lines).universe.attributes
    assert zips.texts == (("a", "c") if header.split(",")[0] == found else ("b", "d"))


def test_queries_use_the_properties_and_the_verifier_agrees(tmp_path):
    made = policy(tmp_path)
    asked = ["count by state", "sum population", "mean zip.population by state", "count where state=NY", "count by zip"]
    asked += ["count by population/50000"]
    plan = dx.plan(asked, made.metric, n_records=1000)
    data = json.loads(json.dumps(plan.to_dict()))
    assert list(verify_data(data))
    assert {"NJ", "NY", "07030"} <= {a.label for a in plan.workload.answers}
    spoilt = json.loads(json.dumps(data).replace('"50005"', '"50006"'))
    with pytest.raises(NotVerified):
        list(verify_data(spoilt))


def test_data_is_counted_by_the_values_of_the_file(tmp_path):
    made = policy(tmp_path)
    (tmp_path / "people.csv").write_text("zip\n10001\n7030\n07030\n10001\n\n")
    counts = (
        dx.Session(made, tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True)
        .source.count(made.universe)
        .counts
    )
    assert counts.tolist() == [2, 1, 0, 2]


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        ("zip,state\n10001,NY\n10001,NJ\n", 3, "listed twice, first in line 2"),
        ("zip,state\n10001,NY\n ,NJ\n", 3, "a value is empty"),
        ("zip\n10001\nother\n", 3, "is reserved for invalid entries"),
        ("zip\n10001\nSE\x07CRET\n", 3, "control characters"),
        ("zip,state\n10001,NY,US\n", 2, "3 fields instead of 2"),
        ("zip,zip\n10001,NY\n", 1, "column names must be different"),
        ("zip,\n10001,NY\n", 1, "column names must be different and not empty"),
        ("zip\n", None, "a header line and at least one value"),
        ("", None, "a header line and at least one value"),
        (b"zip\n\xff\xfe\n", None, "not a CSV file in UTF-8"),
        ('zip\n"10001\n', None, "not a CSV file in UTF-8"),
    ],
)
def test_a_bad_file_is_refused_with_its_line_and_nothing_of_it(tmp_path, content, line, what):
    with pytest.raises(PolicyError, match=what) as caught:
        policy(tmp_path, content)
    said = str(caught.value) + str(caught.value.details) + str(caught.value.hints)
    assert "zips.csv" in said
    assert line is None or f"zips.csv:{line}" in said
    assert not any(secret in said for secret in ("10001", "NJ", "SE"))


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (['id = "PLZ"'], "no column “PLZ”"),
        (['units = { elevation = "m" }'], "no property “elevation”"),
        (["units = 3"], "units is a table"),
        (["per = 3"], "have no distances"),
    ],
)
def test_keys_that_do_not_fit_the_file_are_refused(tmp_path, lines, what):
    with pytest.raises(PolicyError, match=what):
        policy(tmp_path, ZIPS, *lines)


@pytest.mark.parametrize("line", ['id = "zip"', 'units = { a = "m" }', "complete = true"])
def test_keys_of_a_file_mean_nothing_for_a_list(line):
    with pytest.raises(PolicyError, match="is for values that a file lists"):
        dx.Policy.parse(POLICY.format(lines=line).replace('"zips.csv"', '["a", "b"]'))


def test_a_missing_file_is_told_and_no_output_may_replace_one(tmp_path):
    made = policy(tmp_path)
    assert tmp_path / "zips.csv" in [path.absolute() for path in policy_files(tmp_path / "policy.toml", made)]
    (tmp_path / "zips.csv").unlink()
    with pytest.raises(PolicyError, match="no such file"):
        dx.Policy.load(tmp_path / "policy.toml")


def test_very_many_columns_are_refused_at_once(tmp_path):
    wide = "\n".join(",".join(f"{name}{k}" for k in range(2_000)) for name in "cab")
    with pytest.raises(PolicyError, match="2,000 columns; a file of values may have 1,000"):
        policy(tmp_path, wide)


def test_too_many_values_are_refused_by_public_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(listed_kinds, "MOST_LISTED", 2)
    monkeypatch.setattr(place_files, "MOST_LISTED", 2)
    with pytest.raises(PolicyError, match="more than 2 values"):
        policy(tmp_path)
    with pytest.raises(PolicyError, match="zip has 3 values; an attribute may have 2 at most"):
        dx.Policy.parse(POLICY.format(lines="").replace('"zips.csv"', '["a", "b", "c"]'))
    monkeypatch.undo()
    with pytest.raises(PolicyError, match=r"x has 10,000,001 values; an attribute may have 5,000,000 at most"):
        dx.Policy.parse('title = "t"\ndataset = "d"\n[attributes.x]\nintegers = [0, 10000000]\nepsilon = 1\nper = 1\n')
    many = "zip\n" + "".join(f"{k}\n" for k in range(3000))
    (tmp_path / "zips.csv").write_text(many)
    text = POLICY.format(lines="").replace("epsilon = 1.0", "epsilon = { a = 1.0 }")
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(PolicyError, match="3,000 values cannot have an epsilon each; 2,000 can"):
        dx.Policy.load(tmp_path / "policy.toml")


def test_unicode_values_keep_their_letters(tmp_path):
    (zips,) = policy(tmp_path, "zip,name\nÉ1,Köln\n北京,\u202eabc\n".replace("\u202e", "")).universe.attributes
    assert zips.texts == ("É1", "北京")


def test_all_zip_codes_load_in_less_than_ten_times_a_list_of_them(tmp_path):
    """A ratio inside one run: the file adds little to what the values themselves take."""
    rng = random.Random(1)
    codes = [f"{k:05}" for k in rng.sample(range(100_000), 41_000)]

    def seconds(work):
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    rows = "".join(f"{code},S{k % 50},{k}\n" for k, code in enumerate(codes))
    plain = min(seconds(lambda: Values(name="zip", values=tuple(codes)).spec()) for _ in range(3))
    loaded = min(seconds(lambda: policy(tmp_path, "zip,state,population\n" + rows)) for _ in range(3))
    assert loaded < 30 * plain + 0.5


@pytest.mark.parametrize("spoilt", [[], [["state", ["NY"]]], [["state", ["NY", "NJ"]]] * 2, [["state"]], "state", [3]])
def test_the_verifier_refuses_properties_that_do_not_fit(spoilt):
    spec = Values(name="zip", values=("a", "b"), facts=(Property("state", ("NY", "NJ")),)).spec()
    assert attribute(spec, "").properties[0].name == "state"
    with pytest.raises(NotVerified):
        attribute(spec | {"properties": spoilt}, "")
    with pytest.raises(PolicyError, match="damaged"):
        attribute_from_spec(spec | {"properties": spoilt})
