"""Values in an order: `order = ["never", "rarely", "often"]`, one step apart or at places of their own."""

from fractions import Fraction
from itertools import pairwise

from dxprivacy.metrics import Metric, attribute_metrics
from dxprivacy.policy.tables.listed_kinds import listed_texts, require_declared, spelt
from dxprivacy.policy.tables.table_keys import LENGTHS, Keys, divide
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.ordered_values import Ordered
from dxprivacy.universe.universe import Universe

EXAMPLE = 'order = ["never", "rarely", "often"]'


def order(keys: Keys) -> tuple[Attribute, Metric]:
    """Epsilon for every `per` apart, in steps or in the unit of the places."""
    texts = listed_texts(keys, "order", [EXAMPLE])
    require_declared(keys)
    placed = "places" in keys
    if "complete" in keys and not placed:
        raise keys.error(
            "complete is for means, and values without places have none",
            "complete",
            [("places = [0, 1, 4]", "a number for each value")],
        )
    other, value = keys.other(numbers=placed)
    places = _places(keys, len(texts)) if placed else ()
    attribute = spelt(keys, Ordered(values=texts, places=places, other_value=value, **keys.common()))
    epsilon = keys.epsilon()
    apart = keys.per(("per = 1", f"{keys['epsilon']} for every {'1 of the places' if placed else 'step'} apart"))
    length = keys.number(apart, "per", "per", LENGTHS, ["per = 1"])
    price = divide(epsilon, length / attribute.unit_step)
    nearest = min((b - a for a, b in pairwise(attribute.positions)), default=1)
    cap = keys.cap(epsilon, price * nearest)
    return attribute, attribute_metrics.stepped(Universe([attribute]), attribute, price, other, cap)


def _places(keys: Keys, listed: int) -> tuple[Fraction, ...]:
    """A number for each value, as they are written."""
    given = keys["places"]
    example = [(f"places = [{', '.join(map(str, range(min(listed, 4))))}{', …' if listed > 4 else ''}]", "")]
    if not isinstance(given, list) or len(given) != listed:
        what = f"{len(given):,}" if isinstance(given, list) else "no list of them"
        raise keys.error(f"places has a number for each of the {listed:,} values; here {what}", "places", example)
    places = tuple(keys.number(x, "places", "a place", (-LENGTHS[1], LENGTHS[1]), example) for x in given)
    if any(a >= b for a, b in pairwise(places)):
        raise keys.error(
            "places must grow, as the order of the values does",
            "places",
            [*example, ("values = […]", "for values without an order")],
        )
    return places
