"""Universes from their specs; two versions of an attribute have the relation that the engines read."""

import copy
import json
import random
from fractions import Fraction as F

import numpy as np
import pytest

from contracts.random_models import random_metric
from dxprivacy.engines.entries import entry_reader
from dxprivacy.errors import PolicyError, QueryError
from dxprivacy.privacy.pullback import Pullback, PulledBack
from dxprivacy.queries.asking import gather
from dxprivacy.universe.attribute_matching import Recoding, relate
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.attribute_kinds import KINDS, attribute_from_spec
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.ordered_values import Ordered
from dxprivacy.universe.universe import Universe

PLACES = Points(
    name="home",
    column="h",
    ids=("7", "ä", "x"),
    coordinates=np.array([[0.1, -0.0], [1e-300, 2.5], [3, 1 / 3]]),
    facts=(
        Property("zone", ("n", "s", "s")),
        Property("name", ("Ort", "Ort", "Dorf")),
        Property("area", ("u", "v", "w")),
        Property("height", ("1", "2.5", "-3")),
    ),
)
SOME = [
    Values(name="sex", values=("M", "F"), has_other=False),
    Values(name="größe", column='a "b"', values=("", " ", "1", "true")),
    Integers(name="age", low=-3, high=3, unit="years", other_value=F(1, 3)),
    Ordered(name="stage", values=("I", "II"), has_other=False),
    PLACES,
]


@pytest.mark.parametrize("attribute", SOME, ids=lambda a: a.name)
def test_an_attribute_comes_back_from_its_spec(attribute):
    back = attribute_from_spec(json.loads(json.dumps(attribute.spec())))
    assert back.spec() == attribute.spec()
    assert type(back) is type(attribute)
    assert [back.label(k) for k in range(back.size)] == [attribute.label(k) for k in range(attribute.size)]
    assert back.has_other == attribute.has_other
    assert back.other_value == attribute.other_value


@pytest.mark.parametrize("seed", range(20))
def test_a_universe_comes_back_with_its_digest(seed):
    universe = random_metric(random.Random(seed), places=True).universe
    back = Universe.from_spec(json.loads(json.dumps(universe.spec())))
    assert back == universe
    assert back.digest == universe.digest


def test_places_keep_the_order_of_their_properties_as_it_decides_their_names():
    back = attribute_from_spec(json.loads(json.dumps(PLACES.spec())))
    assert list(back.properties) == ["zone", "name", "area", "height"]
    assert [back.label(k) for k in range(3)] == ["Ort, n", "Ort, s", "Dorf"]


@pytest.mark.parametrize("spec", [None, [], "x", 3, {}, {"kind": None}, {"kind": 3}, {"kind": "values"}])
def test_what_is_no_spec_is_refused(spec):
    with pytest.raises(PolicyError):
        attribute_from_spec(spec)


@pytest.mark.parametrize("attribute", SOME, ids=lambda a: a.name)
def test_a_damaged_spec_is_refused(attribute):
    for key in attribute.spec():
        for bad in (None, 7, "x", [], {}, [["x"]], float("nan"), True):
            spec = copy.deepcopy(attribute.spec())
            if spec[key] == bad and type(spec[key]) is type(bad):
                continue
            spec[key] = bad
            try:
                back = attribute_from_spec(spec)
            except PolicyError:
                continue
            assert back.spec() == spec  # another attribute, but a sound one
        spec = attribute.spec()
        del spec[key]
        with pytest.raises(PolicyError):
            attribute_from_spec(spec)
    with pytest.raises(PolicyError):
        attribute_from_spec({**attribute.spec(), "more": 1})
    for spec in (None, "x", {}, 7, [attribute.spec(), attribute.spec()], []):
        with pytest.raises(PolicyError):
            Universe.from_spec(spec)


def test_every_kind_of_attribute_has_a_reader():
    assert {a.kind for a in SOME} <= set(KINDS)


# -- two versions ------------------------------------------------------------------------------------------------------

TEXTS = [
    "",
    " ",
    "A",
    "B",
    "C",
    "a",
    "A ",
    "1",
    "01",
    "+1",
    "1.0",
    "1.5",
    "-1",
    "2",
    "3",
    "9",
    "true",
    "NaN",
    "other",
    "é",
]


def versions(rng):
    if rng.random() < 0.5:
        ends = [sorted(rng.randint(-2, 4) for _ in range(2)) for _ in range(2)]
        return [Integers(name="x", low=low, high=high) for low, high in ends]
    listed = [t for t in TEXTS if t != "other"]
    return [
        Points(name="x", ids=tuple(texts), coordinates=np.zeros((len(texts), 1)))
        if rng.random() < 0.3
        else Values(name="x", values=tuple(texts))
        for texts in (rng.sample(listed, rng.randint(1, 6)) for _ in range(2))
    ]


@pytest.mark.parametrize("seed", range(200))
def test_the_relation_holds_what_the_engines_read_and_nothing_else(seed):
    old, new = versions(random.Random(seed))
    found = relate(old, new)
    pairs = list(zip(found.old.tolist(), found.new.tolist(), strict=True))
    written = {*TEXTS, *(str(v) for v in range(-5, 8))}
    assert set(pairs) == {(entry_reader(old.codec)(t), entry_reader(new.codec)(t)) for t in written}
    assert len(pairs) == len(set(pairs))
    assert [(found.representative[b], b) in pairs for b in range(new.size)] == [True] * new.size
    for b, olds in found.merged:
        assert {a for a, c in pairs if c == b} == set(olds)
        assert len(olds) > 1


def test_without_other_both_sides_must_have_every_value():
    old = Values(name="x", values=("A", "B"), has_other=False)
    assert relate(old, Values(name="x", values=("B", "A"), has_other=False)).representative.tolist() == [1, 0]
    for texts, words in ((("A",), "x B of the version before"), (("A", "B", "C"), "x C of the new version")):
        with pytest.raises(PolicyError, match=words):
            relate(old, Values(name="x", values=texts, has_other=False))
    with pytest.raises(PolicyError, match="“other”"):
        relate(old, Values(name="x", values=("A", "B")))


def test_numbers_cannot_be_recoded():
    age = Integers(name="age", low=0, high=3)
    with pytest.raises(PolicyError, match="was is for values"):
        relate(age, age, Recoding({"1": ("2",)}))


def test_maps_that_do_not_fit_are_refused():
    u, v = Universe.listed("ab"), Universe.listed("abc")
    good = Pullback(u, v, (0,), (np.array([0, 1, 1]),))
    assert PulledBack(gather([[1, 0]]).on(u).blocks[0], good).dense().tolist() == [[1, 0, 0]]
    for sources, values in (((0,), [0, 1]), ((0,), [0, 1, 2]), ((None,), [0, 1]), ((0,), [0, -1, 1])):
        with pytest.raises(QueryError):
            Pullback(u, v, sources, (np.array(values),))
    with pytest.raises(QueryError):
        good.after(good)
    with pytest.raises(QueryError):
        PulledBack(gather([[1, 0, 0]]).on(v).blocks[0], good)
