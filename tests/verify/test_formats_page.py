"""The page, the verifier and the model know the same kinds: a new one must come to all three."""

from pathlib import Path

import pytest

import dxprivacy.metrics  # noqa: F401  (its classes are looked up)
from dxprivacy.metrics import Metric
from dxprivacy.universe.attributes import attribute_kinds  # noqa: F401
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.blocks import Block
from dxprivacy.verify import attributes, metric, picks, plan, queries, release, selection, synthesis

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


def kinds(base):
    found = [c for c in base.__subclasses__() if c.__module__.startswith("dxprivacy.")]
    out = {str(c.__dict__["kind"]) for c in found if c.__dict__.get("kind")}
    return out.union(*(kinds(c) for c in found)) if found else out


@pytest.mark.parametrize(
    ("base", "known"),
    [(Metric, metric._BUILD), (Attribute, attributes._KINDS), (Block, ("table", "people", "along", "soft", "matrix"))],
)
def test_every_kind_is_verified_and_specified(base, known):
    assert len(kinds(base)) >= 3
    assert kinds(base) == set(known)
    for kind in known:
        assert f"| `{kind}` |" in PAGE, kind


@pytest.mark.parametrize(
    "known",
    [plan.PLANS, release.RELEASES, selection.SELECTIONS, selection.SELECTION_PLANS, synthesis.REPORTS],
    ids=lambda x: next(iter(x)),
)
def test_every_format_that_is_read_is_specified(known):
    for name in known:
        edition = name.rpartition("/")[2]
        assert f"`{name}`" in PAGE or f"`…/{edition}` files" in PAGE, name


def test_every_query_choice_and_method_is_specified():
    for name in picks._PICKS:
        assert f"| `{name}` |" in PAGE, name
    for name in (*queries._KINDS, *synthesis._METHODS):
        assert f"*{name}*" in PAGE or f"*{name} of" in PAGE, name
