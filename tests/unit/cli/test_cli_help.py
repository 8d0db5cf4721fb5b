"""Help and version: each command teaches with an example."""

import importlib.metadata
import re

import pytest


def test_dxp_alone_explains_itself_and_where_to_begin(dxp):
    called = dxp().fine()
    for word in ("demo", "check", "plan", "release", "ledger", "policy file", "Begin with: dxp demo"):
        assert word in called.out
    assert dxp("--help").out == dxp("-h").out == called.out


def test_the_version_is_shown(dxp):
    shown = re.fullmatch(r"dxp, version (\d+\.\d+\.\d+(?:\.dev\d+)?)\n", dxp("--version").fine().out)
    assert shown
    assert shown[1] == importlib.metadata.version("dxprivacy")


@pytest.mark.parametrize(
    ("command", "teaches"),
    [
        ("demo", ["simulated", "standard DP", "dxp demo --write demo/"]),
        ("check", ["strictest and loosest pair", "e^ε", "[attributes.age]", "per = 10", "--list tightened"]),
        (
            "plan",
            ["Spends nothing", "count by sex", "age/10", "where sex=F", "within 10", "--budget 25%", "--n-records"],
        ),
        ("release", ["written to the ledger before", "costs nothing", "--request", "dxp release plan-7f3a.json"]),
        ("ledger", ["--between age=64 age=65", "what is left", "sex=F,age=64"]),
    ],
)
def test_every_help_teaches_with_an_example(dxp, command, teaches):
    text = dxp(command, "--help").fine().out
    for word in (*teaches, "--json"):
        assert word in " ".join(text.split())
    options = re.findall(r"^  (?:-h, )?--[a-z]+.*$", text, re.MULTILINE)
    assert all(len(line.split("  ")) > 2 for line in options)  # each has a text of its own
    assert max(map(len, text.splitlines())) <= 110
