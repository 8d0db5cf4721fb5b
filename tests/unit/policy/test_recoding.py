"""`was` and `was_column`: public facts about the version before, checked where they stand."""

import pytest

import dxprivacy as dx
from dxprivacy.errors import PolicyError

TEXT = """title = "T"
dataset = "d"
[attributes.region]
column = "code"
values = ["A1", "A2", "B", 3]
epsilon = 1
{}
[attributes.age]
integers = [0, 4]
epsilon = 1
per = 1
{}
"""


def policy(region="", age="", before='was_version = "1"\n'):
    head = f'version = "2"\n{before}' if "was" in region + age and region != "was = {}" else ""
    return dx.Policy.parse(head + TEXT.format(region, age))


@pytest.mark.parametrize(
    ("before", "what"),
    [
        ("", "need was_version, the version before"),
        ("was_version = []\n", "need was_version, the version before"),
        ("was_version = 2\n", "was_version is 2, and so is version"),
    ],
)
def test_a_recoding_names_the_version_that_it_speaks_about(before, what):
    with pytest.raises(PolicyError, match=what) as caught:
        policy('was = { A1 = "A" }', before=before)
    assert caught.value.hints


def test_a_version_before_without_a_recoding_means_nothing():
    with pytest.raises(PolicyError, match="means nothing without was"):
        dx.Policy.parse('was_version = "1"\n' + TEXT.format("", ""))


def test_what_is_declared_is_carried_and_changes_no_distance():
    told = policy('was = { A1 = "A", 3 = [1, "x", "x"] }\nwas_column = "region"', 'was_column = "years"')
    assert dict(told.recoded["region"].texts) == {"A1": ("A",), "3": ("1", "x")}
    assert (told.recoded["region"].column, told.recoded["age"].column) == ("region", "years")
    assert told.digest == policy().digest
    assert policy().recoded == {}
    assert policy("was = {}").recoded == {}


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ('was = "A"', "was is a table"),
        ("was = 3", "was is a table"),
        ('was = { A3 = "A" }', "has no value 'A3'"),
        ("was = { A1 = [] }", "was of A1 must be"),
        ("was = { A1 = inf }", "was of A1 must be"),
        ("was = { A1 = { x = 1 } }", "was of A1 must be"),
        ("was = { A1 = [[1]] }", "was of A1 must be"),
        ('was = { A1 = "\\u0007" }', "was of A1 must be"),
        ("was_column = 3", "was_column must be a name"),
        ('was_column = " "', "was_column must be a name"),
        ('was_column = "code"', "is still its column"),
        ('were = { A1 = "A" }', "unknown key “were”"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(region, words):
    with pytest.raises(PolicyError) as caught:
        policy(region)
    assert words in str(caught.value)
    assert caught.value.where == ("policy.toml:7" if region.startswith("were") else "policy.toml:9")
    assert caught.value.hints


def test_numbers_are_not_recoded():
    with pytest.raises(PolicyError, match="not for integers"):
        policy(age='was = { 1 = "2" }')
