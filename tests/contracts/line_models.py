"""Small random policies in which values of an attribute are equally far apart, and queries that weigh them."""

from fractions import Fraction

from dxprivacy.metrics import attribute_metrics
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.queries.asking import count, gather, mean_of, sum_of, table
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


def universe(rng):
    """Two ages, whose values get one distance, beside a group; each perhaps with `other`."""
    height = Integers(name="height", low=-2, high=rng.randint(0, 3), has_other=rng.random() < 0.5)
    age = Integers(name="age", low=rng.randint(-3, 0), high=3, has_other=rng.random() < 0.5)
    g = Values(name="g", values=("a", "b", "c")[: rng.randint(2, 3)], has_other=rng.random() < 0.5)
    return Universe([height, age, g])


def one_distance_each(rng):
    """A sum of attributes, along each of which all values have one distance, `other` perhaps its own."""
    whole = universe(rng)
    axes = []
    for attribute in whole.attributes:
        other = Fraction(rng.randint(1, 9), 4) if attribute.has_other and rng.random() < 0.5 else None
        axes.append(attribute_metrics.discrete(Universe([attribute]), Fraction(rng.randint(1, 5), 3), other))
    return AttributeSum(whole, axes)


def asked(rng):
    every = [
        table("age"),
        table("age", "g"),
        count(age=2),
        count(age=[0, 1, 2], g="a"),
        sum_of("age"),
        sum_of("age", by="g"),
        mean_of("age"),
        mean_of("age", by="g"),
        mean_of("height", by="g"),
        sum_of("height", where={"age": [1, 2]}),
        mean_of("height", by="age"),
        sum_of("age", by="age/3"),
        mean_of("age", by=("age/2", "g")),
        table("age/3"),
        table("g"),
    ]
    return gather(*rng.sample(every, rng.randint(1, 4)))


def towns(rng):
    """Towns of one height each, in states and at rivers, all equally far apart; and queries about them."""
    many = rng.randint(3, 7)
    heights = tuple(str(h) for h in rng.sample(range(9), many))
    facts = [Property("height", heights)]
    facts += [Property(name, tuple(rng.choice(["A", "B"]) for _ in range(many))) for name in ("state", "river")]
    town = Values(name="town", values=tuple("abcdefg"[:many]), has_other=rng.random() < 0.5, facts=tuple(facts))
    sex = Values(name="sex", values=("M", "F"), has_other=False)
    axes = [attribute_metrics.discrete(Universe([one]), Fraction(rng.randint(1, 3))) for one in (town, sex)]
    every = [
        sum_of("town.height"),
        mean_of("town.height", by="sex"),
        table("town.state"),
        table("town.river", "sex"),
        table("town"),
    ]
    return AttributeSum(Universe([town, sex]), axes), gather(*rng.sample(every, rng.randint(2, 4)))
