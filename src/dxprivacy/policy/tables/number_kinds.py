"""Ordered attributes of a policy: integers, binned numbers, dates, weekdays, times of day, and series of numbers."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dxprivacy.errors import Hint, PolicyError
from dxprivacy.exact.rounding import KILOMETERS, Exact
from dxprivacy.metrics import Metric, attribute_metrics
from dxprivacy.policy.tables.place_files import PlacesFile, too_many
from dxprivacy.policy.tables.table_keys import DAYS, HOURS, LENGTHS, MONTHS, MOST_VALUES, Keys, divide
from dxprivacy.policy.toml_file import UNPRINTABLE
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.attributes.times import DAY as DAY_SECONDS
from dxprivacy.universe.attributes.times import Times, Weekdays
from dxprivacy.universe.reading.calendar import DAY, Step
from dxprivacy.universe.reading.text_formats import as_date
from dxprivacy.universe.universe import Universe

# -- `coordinates = ["lat", "lon"]`: the two columns of numbers by which a row finds its place -------------------------


EXAMPLE = 'coordinates = ["lat", "lon"]'
_BY_ID = ("trim", "fold_case", "aliases")


def two_columns(keys: Keys) -> tuple[str, str]:
    """Read the two columns of coordinates: latitude and longitude, or x and y."""
    given = keys.table.get("coordinates")
    if (
        not isinstance(given, list)
        or len(given) != 2
        or len({str(column) for column in given}) != 2
        or not all(isinstance(c, str) and c.strip() and not UNPRINTABLE.search(c) for c in given)
    ):
        what = "coordinates names two columns: of latitudes and of longitudes, or of x and y"
        raise keys.error(what, "coordinates", [EXAMPLE])
    if "column" in keys:
        what = "coordinates are in two columns, which coordinates names; column means nothing here"
        raise keys.error(what, "column", [EXAMPLE])
    return given[0], given[1]


def nearest(keys: Keys, places: PlacesFile) -> dict[str, Any]:
    """Return the arguments of an attribute whose rows belong to the nearest listed place."""
    for key in _BY_ID:
        if key in keys:
            what = f"{key} is about the spelling of ids; rows with coordinates have no ids"
            raise keys.error(what, key, [("leave it out", ""), (f"leave out {EXAMPLE}", "if a column has the ids")])
    if places.coordinates.shape[1] != 2:
        what = f"places in {places.coordinates.shape[1]} dimensions cannot be found by two columns"
        raise keys.error(what, "coordinates", [("columns x and y alone", "in the points file")])
    reach = None
    if "reach" in keys and places.geographic:
        reach = keys.length(keys["reach"], "reach", KILOMETERS, "50 km")
    elif "reach" in keys:
        reach = keys.number(keys["reach"], "reach", hints=[("reach = 50", "in the unit of the coordinates")])
    return {"columns": two_columns(keys), "earth": places.geographic, "reach": reach}


def require_by_id(keys: Keys) -> None:
    """Refuse `format` and `reach`, which mean nothing if a column has the ids of places."""
    for key in ("format", "reach"):
        if key in keys:
            what = f"{key} is for places that are found by coordinates; here a column has their ids"
            raise keys.error(what, key, [(EXAMPLE, "two columns of numbers"), ("leave it out", "")])


# -- Ordered attributes of a policy ------------------------------------------------------------------------------------


Price = tuple[Exact, Fraction | None]
"""The distance of one step of an ordered attribute, and the cap."""
_OUTSIDE = {"other": "what lies outside the range counts as invalid", "clamp": "as the nearest end"}
_MOST_ON_A_CIRCLE = 1_440
_BIN_VALUES = {
    "middle": "a number counts as the middle of its step in sums",
    "low": "as the lower end; right for whole numbers in steps of 1",
    "high": "as the upper end",
}


def integers(keys: Keys) -> tuple[Attribute, Metric]:
    """Build `integers = [0, 120]`, alone or as the entries of a series."""
    ends = keys["integers"]
    if not isinstance(ends, list) or len(ends) != 2 or any(isinstance(e, bool) or type(e) is not int for e in ends):
        raise keys.error(
            f"{keys.name}: integers needs two ends, both whole numbers", "integers", ["integers = [0, 120]"]
        )
    if ends[1] < ends[0]:
        raise keys.error(
            f"{keys.name} runs from {ends[0]} to {ends[1]}, which is empty",
            "integers",
            [f"integers = [{ends[1]}, {ends[0]}]"],
        )
    other, value = keys.other(numbers="columns" not in keys)
    attribute = Integers(low=ends[0], high=ends[1], clamp=_clamps(keys), other_value=value, **keys.common())
    return _finish(keys, attribute, _plain_steps(keys, attribute, Fraction(1)), other)


def numbers(keys: Keys) -> tuple[Attribute, Metric]:
    """Build `numbers = [0, 200000]` with `step = 1000`: half-open bins, which count as their middle in sums."""
    given = keys["numbers"]
    hints: list[Hint | str] = ["numbers = [0, 200000]", ("step = 1000", "the width of a bin")]
    if not isinstance(given, list) or len(given) != 2:
        raise keys.error(f"{keys.name}: numbers needs two ends", "numbers", hints)
    low, high = (keys.number(x, "numbers", "an end", (-LENGTHS[1], LENGTHS[1]), hints) for x in given)
    if "step" not in keys:
        raise keys.error(f"{keys.name}: numbers need the width of a bin", "numbers", [("add   step = 1000", "")])
    step = keys.number(keys["step"], "step", "step", LENGTHS, ["step = 1000"])
    other, value = keys.other(numbers="columns" not in keys)
    attribute = Numbers(
        low=low,
        high=high,
        step=step,
        clamp=_clamps(keys),
        bin_value=keys.one_of("bin_value", _BIN_VALUES, "middle"),
        other_value=value,
        **keys.common(),
    )
    return _finish(keys, attribute, _plain_steps(keys, attribute, step), other)


def _clamps(keys: Keys) -> bool:
    """Return whether numbers outside the range count as its nearest end."""
    return keys.one_of("outside", _OUTSIDE, "other") == "clamp"


def _plain_steps(keys: Keys, attribute: Integers | Numbers, width: Fraction) -> Price:
    """Return epsilon for one step, from epsilon for every `per` apart in the unit of the numbers; and the cap."""
    epsilon = keys.epsilon()
    unit = f" {attribute.unit}" if attribute.unit else ""
    example = 10 * max(int(width), 1)
    per = keys.per((f"per = {example}", f"{keys['epsilon']} for every {example}{unit} apart"))
    length = keys.number(per, "per", "per", LENGTHS, [f"per = {example}"])
    price = divide(epsilon, length / width)
    return price, keys.cap(epsilon, price)


def _finish(keys: Keys, attribute: Integers | Numbers, step: Price, other: Exact | None) -> tuple[Attribute, Metric]:
    price, cap = step
    if attribute.listed > MOST_VALUES:
        error = too_many(keys.name, attribute.kind, attribute.listed, MOST_VALUES)
        raise keys.error(error.what, attribute.kind, error.hints)
    if "columns" not in keys:
        return attribute, attribute_metrics.stepped(Universe([attribute]), attribute, price, other, cap)
    columns = keys["columns"]
    if (
        not isinstance(columns, list)
        or not columns
        or not all(isinstance(c, str) and c.strip() and not UNPRINTABLE.search(c) for c in columns)
    ):
        raise keys.error("columns is a list of names", "columns", ['columns = ["jan", "feb", "mar"]'])
    if "column" in keys:
        raise keys.error("a series has columns, not a column", "column", ['columns = ["jan", "feb", "mar"]'])
    entry = replace(attribute, complete=False)
    series = Series(
        name=keys.name, columns=tuple(columns), entry=entry, unit=attribute.unit, complete=attribute.complete
    )
    return series, attribute_metrics.series(Universe([series]), series, price, other, cap)


def dates(keys: Keys) -> tuple[Attribute, Metric]:
    """Build `dates = ["2026-01-01", "2026-12-31"]` with `per = "7 days"`."""
    given = keys["dates"]
    example = 'dates = ["2026-01-01", "2026-12-31"]'
    days = [day for x in given if (day := as_date(x))] if isinstance(given, list) else []
    if len(days) != 2 or len(given) != 2:
        raise keys.error(f"{keys.name}: dates needs a first and a last day", "dates", [example])
    if "columns" in keys:
        raise keys.error("a series of dates is not supported", "columns", ["integers", "numbers"])
    other, _ = keys.other()
    step = _calendar_step(keys)
    attribute = Dates(first=days[0], last=days[1], step=step, clamp=_clamps(keys), **_zone(keys), **keys.common())
    epsilon = keys.epsilon()
    price = divide(epsilon, _per_step(keys, step))
    if price not in (0, math.inf) and "unit" in keys:
        raise keys.error(f"dates are counted in {step.unit}; unit means nothing here", "unit")
    return attribute, attribute_metrics.stepped(
        Universe([attribute]), attribute, price, other, keys.cap(epsilon, price)
    )


def _calendar_step(keys: Keys) -> Step:
    if "step" not in keys:
        return DAY
    given = keys["step"]
    try:
        return Step.of(given if isinstance(given, str) else str(given))
    except PolicyError as error:
        raise keys.error(error.what, "step", list(error.hints)) from None


def _per_step(keys: Keys, step: Step) -> Fraction:
    """Return `per` in steps; months cannot be converted to days, nor days to months."""
    example = {True: "1 year", False: "7 days"}[bool(step.months)]
    per = keys.per((f'per = "{example}"', f"{keys['epsilon']} for every {example} apart"))
    words = set(re.findall("[a-z]+", per)) if isinstance(per, str) else set()
    if not step.months and words & MONTHS.keys():
        raise keys.error(
            "months and years have no fixed length",
            "per",
            [('per = "30 days"', ""), ('per = "52 weeks"', ""), ('step = "1 month"', "counts in months")],
        )
    if step.months and words & DAYS.keys():
        raise keys.error(
            f"{keys.name} is known in steps of {step}, and a month has no fixed number of days",
            "per",
            [('per = "1 month"', ""), ('per = "1 year"', ""), ('step = "1 week"', "counts in days")],
        )
    return keys.length(per, "per", MONTHS if step.months else DAYS, example) / step.size


def weekdays(keys: Keys) -> tuple[Attribute, Metric]:
    """Build `weekdays = true`: Monday to Sunday, from a column of dates."""
    if keys["weekdays"] is not True:
        raise keys.error(f"{keys.name}: weekdays is true", "weekdays", ["weekdays = true"])
    other, _ = keys.other()
    attribute = Weekdays(**_zone(keys), **keys.common())
    universe, epsilon = Universe([attribute]), keys.epsilon()
    if "per" not in keys:
        if "max_epsilon" in keys:
            raise keys.error(
                "max_epsilon means nothing without per", "max_epsilon", [('per = "1 day"', "on the ring of a week")]
            )
        return attribute, attribute_metrics.discrete(universe, epsilon, other)
    price = divide(epsilon, keys.length(keys["per"], "per", DAYS, "1 day"))
    return attribute, attribute_metrics.ring(universe, attribute, price, other, keys.cap(epsilon, price))


def hours(keys: Keys) -> tuple[Attribute, Metric]:
    """Build `hours = [0, 24]` with `step = "1 hour"`: times of day in half-open bins, on a line or on a circle."""
    given = keys["hours"]
    example: list[Hint | str] = ["hours = [0, 24]", ("hours = [6, 22]", "times outside count as invalid")]
    if not isinstance(given, list) or len(given) != 2:
        raise keys.error(f"{keys.name}: hours needs a first and a last one", "hours", example)
    low, high = (keys.number(x, "hours", "an hour", (Fraction(0), Fraction(24)), example) * 3600 for x in given)
    step = 3600 * (keys.length(keys["step"], "step", HOURS, "15 minutes") if "step" in keys else Fraction(1))
    if any(x.denominator != 1 for x in (low, high, step)):
        raise keys.error(f"{keys.name}: hours and steps are whole numbers of seconds", "hours", example)
    if "unit" in keys:
        raise keys.error("times of day are counted in hours; unit means nothing here", "unit")
    circle = keys.table.get("circle", False)
    if not isinstance(circle, bool):
        raise keys.error("circle is true or false", "circle", [("circle = true", "23:00 is next to midnight")])
    other, _ = keys.other()
    attribute = Times(low=int(low), high=int(high), step=int(step), **_zone(keys), **keys.common())
    epsilon = keys.epsilon()
    per = keys.per(('per = "1 hour"', f"{keys['epsilon']} for every hour apart"))
    price = divide(epsilon, keys.length(per, "per", HOURS, "1 hour") * 3600 / step)
    cap = keys.cap(epsilon, price)
    if not circle:
        return attribute, attribute_metrics.stepped(Universe([attribute]), attribute, price, other, cap)
    if high - low != DAY_SECONDS:
        raise keys.error("only a whole day is a circle", "circle", [("hours = [0, 24]", ""), ("circle = false", "")])
    if attribute.listed > _MOST_ON_A_CIRCLE:
        raise keys.error(
            f"{attribute.listed:,} steps on a circle are more than the {_MOST_ON_A_CIRCLE:,} we can hold",
            "step",
            [('step = "1 minute"', ""), ("circle = false", "")],
        )
    return attribute, attribute_metrics.ring(Universe([attribute]), attribute, price, other, cap)


def _zone(keys: Keys) -> dict[str, Any]:
    return {"timezone": keys.text("timezone", "Europe/Berlin")} if "timezone" in keys else {}
