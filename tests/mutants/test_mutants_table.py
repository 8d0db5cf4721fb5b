"""The table of planted bugs stays true: each names one place in the sources, and a test that is there."""

import ast
import functools
import importlib
import pkgutil

import pytest

from contracts.long_forms import SHORT
from mutants import table
from mutants.planting import ROOT, SOURCES
from mutants.table import MUTANTS


@functools.cache
def names_in(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name[:80])
def test_every_bug_can_be_planted_in_one_place_and_is_still_code(mutant):
    text = (SOURCES / mutant.file).read_text(encoding="utf-8")
    planted = mutant.planted(text)
    assert planted != text
    ast.parse(planted)


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if not m.harmless], ids=lambda m: m.name[:80])
def test_every_bug_names_a_test_that_is_there(mutant):
    assert mutant.test in names_in(mutant.tests_in)


def test_every_bug_is_noticed_by_a_test_with_a_form_that_is_not_slow(request):
    """Of those that were collected together with this one: `make test` collects all."""
    short = request.config.stash[SHORT]
    assert [m.killer for m in MUTANTS if not m.harmless and not short.get(m.killer, True)] == []


def test_the_bugs_are_as_many_as_were_once_planted_and_differ():
    assert len({(m.file, m.before, m.after) for m in MUTANTS}) == len(MUTANTS) >= 66


def test_every_bug_is_in_the_file_of_its_package_and_no_file_is_left_out():
    for module in pkgutil.iter_modules(table.__path__):
        bugs = getattr(importlib.import_module(f"mutants.table.{module.name}"), module.name.upper())
        assert bugs
        assert {m.file.split("/")[0].removesuffix(".py") for m in bugs} == {module.name}
        assert set(bugs) <= set(MUTANTS)
