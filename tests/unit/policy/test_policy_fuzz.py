"""Policies by chance: whatever stands in the file, only our own errors come out, each with its place and what to do."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.errors import PolicyError
from dxprivacy.wording import UNPRINTABLE

POLICY = """\
title = "Everything"
dataset = "everything"
version = "2"
was_version = "1"
neighbors = "add-remove"
epsilon_presence = 1.5
max_records = 100_000
[attributes.sex]
column = "SEX"
values = ["M", "F", "ä b"]
epsilon = { M = 0.1, F = 2.0, "ä b" = 1 }
between = "smaller"
declared_public = true
was = { M = "m" }
[attributes.age]
integers = [0, 12]
unit = "years"
epsilon = 0.5
per = 10
max_epsilon = 3
other = { epsilon = 5, value = 40 }
format = "1.234,5"
[attributes.income]
numbers = [0, 20.5]
step = 0.5
outside = "clamp"
epsilon = 1.0
per = 10
was_column = "inc"
[attributes.visit]
dates = ["2026-01-01", "2026-01-31"]
format = ["%d.%m.%Y", "iso"]
timezone = "Europe/Berlin"
epsilon = 0.5
per = "7 days"
[attributes.power]
columns = ["night", "day"]
integers = [0, 2]
epsilon = 1.0
per = 1
[attributes.home]
points = "homes.csv"
epsilon = 1.0
metric = "blowfish"
threshold = 3
id = "code"
units = { height = "m" }
[attributes.friend]
graph = "friends.csv"
epsilon = 0.25
[combine]
how = "sum"
"""
PARTS = POLICY.split("[attributes.")
HEAD, SECTIONS = PARTS[0], ["[attributes." + part.split("[combine]")[0] for part in PARTS[1:]]
TOKENS = [
    "0", "-1", "1", "1e400", "1e-400", "nan", "inf", "-inf", "true", '""', '"x"', '"7 days"', '"4 km"', "[]",
    "[1]", "[1, 0]", "[0, 1]", '["a"]', '["a", "a"]', '["2026-01-01", "2025-01-01"]', "{}", "{ a = 1 }",
    "{ epsilon = 1 }", "9223372036854775807", "0x7f", "99999999999999999999", "2026-01-01", "10:00:00",
    "[[1], [2]]", "0.1", "1_0", "'\u202e'", '"\\u0000"', '"%d"', '"Mars/X"', "[0, 1e9]",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy")
    (folder / "homes.csv").write_text("code,x,y,height\n1,0,0,5\n2,3,4,7\n3,9,9,2\n")
    (folder / "friends.csv").write_text("a,b,length\nann,bob,1\nbob,cem,0.5\n")
    return folder


def test_the_policy_to_start_from_is_valid(folder):
    assert dx.Policy.parse(POLICY, folder=folder).universe.size > 1000


@st.composite
def damaged(draw):
    """One or two attributes of the policy, with a few changes in their lines."""
    chosen = draw(st.lists(st.sampled_from(range(len(SECTIONS))), min_size=1, max_size=2, unique=True))
    combine = draw(st.sampled_from(["", '[combine]\nhow = "max"\n', "[combine]\nhow = 1\n"]))
    lines = (HEAD + "".join(SECTIONS[k] for k in chosen) + combine).splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["value", "value", "value", "drop", "twice", "insert", "key", "swap", "cut"]))
        key, equals, _ = lines[at].partition("=")
        if how == "value" and equals:
            lines[at] = f"{key}= {draw(st.sampled_from(TOKENS))}"
        elif how == "drop":
            lines[at] = ""
        elif how == "twice":
            lines.insert(at, lines[at])
        elif how == "insert":
            lines.insert(at, draw(st.text(max_size=12)))
        elif how == "key" and equals:
            lines[at] = (
                draw(st.sampled_from(["per", "step", "values", "points", "x", "epsilon"]))
                + " ="
                + lines[at].partition("=")[2]
            )
        elif how == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        elif how == "cut":
            lines[at] = lines[at][: draw(st.integers(0, max(len(lines[at]) - 1, 0)))]
    return "\n".join(lines)


def refused_well(text, folder):
    """Valid, or refused with a place in the file and with something to do or to look at."""
    try:
        policy = dx.Policy.parse(text, folder=folder)
    except PolicyError as refused:
        error = refused
    else:
        str(policy.check())
        return
    assert error.where.startswith("policy.toml")
    assert error.hints or error.details
    assert not any(UNPRINTABLE.search(line) for line in str(error).split("\n"))


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
@example(HEAD)
def test_a_damaged_policy_gives_our_error_or_is_valid(folder, text):
    refused_well(text, folder)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_our_error(folder, text):
    refused_well(text, folder)
