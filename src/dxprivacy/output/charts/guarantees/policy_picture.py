"""`plots.policy`: who is protected from what (UX `policy_map` and `policy_attributes`), one panel per attribute.

On a sum of attributes pairs that differ in one attribute generate the metric, so that these panels hold the whole
policy, however many possible records there are.
"""

import math
from collections.abc import Sequence

from dxprivacy.errors import UsageError, did_you_mean
from dxprivacy.metrics import Metric
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.metrics.with_other import WithAbsent, along, present
from dxprivacy.output.charts.chart_style import clean, sentences
from dxprivacy.output.charts.guarantees.policy_map import can_map, policy_map
from dxprivacy.output.charts.guarantees.policy_panels import Shown, attribute_panel, presence_panel
from dxprivacy.output.charts.layers import several
from dxprivacy.output.charts.pair_heat import packed
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.output.charts.shades import EPSILON
from dxprivacy.output.text.plan_text import pair_words
from dxprivacy.policy import Policy
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import digits, plural, short_pair

PANELS = 12


def policy_picture(policy: Policy | Metric, *, around: str = "") -> Picture:
    """What a policy, or any metric, allows: a map for places, a table of pairs or bars by difference for the rest.

    `around` names the place around which the rings are drawn.  Reads nothing but the policy.

    >>> import dxprivacy as dx
    >>> dx.plots.policy(dx.metrics.constant(3, 1))
    Picture('Every two values have the same ε, 1')
    """
    hints = ['dx.plots.policy(dx.Policy.load("policy.toml"))', "dx.metrics.line(9, 1)"]
    require(policy, (Policy, Metric), "a policy", hints)
    metric = policy.of_people if isinstance(policy, Policy) else policy
    attributes = metric.universe.attributes
    axes = along(metric)
    if axes is None:
        axes, attributes = _as_one(metric)
    chosen = _around(attributes, around)
    shown: list[Shown] = []
    maps, notes = [], []
    every = list(zip(attributes, axes, strict=True))
    for attribute, axis in every[:PANELS]:
        if can_map(attribute, axis):
            earth = isinstance(policy, Policy) and _on_earth(policy, attribute.name)
            mapped = policy_map(attribute, axis, earth=earth, around=chosen.get(attribute.name))
            maps.append(mapped)
            notes.append(mapped.reading)
        else:
            shown.append(attribute_panel(attribute, axis))
    if isinstance(metric, WithAbsent):
        shown.append(presence_panel(float(metric.radius)))
    found = [*(e for s in shown for e in s.found), *(e for m in maps for e in m.found)]
    views = [*(m.panel.view for m in maps), *packed([s.panel for s in shown]), EPSILON.key(found)]
    title, reading = _finding(metric, axes), _reading(metric, shown, notes, len(every))
    return several(views, title, reading, description="What a policy allows between two records", own_axes=False)


def _as_one(metric: Metric) -> tuple[tuple[Metric, ...], tuple[Attribute, ...]]:
    """Records that have no attributes of their own to the metric: one panel over whole records, if they are few."""
    if metric.universe.size > 5_000:
        raise UsageError(
            f"a metric over {metric.universe.size:,} whole records, not by attributes, is too large to draw",
            hints=["dx.metrics.attributes(…)", "dx.metrics.restricted(metric, cells)"],
        )
    base = present(metric)
    labels = [", ".join(r.values()) for r in base.universe.records(range(base.universe.size))]
    whole = Universe.listed(labels, name="record")
    attribute = Values(name="record", values=whole.attributes[0].values, has_other=False)  # type: ignore[attr-defined]
    return (metric,), (attribute,)


def _around(attributes: Sequence[Attribute], name: str) -> dict[str, int]:
    """The place of that name, in every attribute of places that knows it."""
    if not isinstance(name, str):
        raise UsageError(f"around is the name of a place, not a {type(name).__name__}")
    if not name:
        return {}
    places = [a for a in attributes if isinstance(a, Points)]
    known = {a.name: {a.label(k): k for k in range(a.listed)} | {i: k for k, i in enumerate(a.ids)} for a in places}
    found = {attribute: at[name] for attribute, at in known.items() if name in at}
    if not found:
        names = [label for at in known.values() for label in at]
        raise UsageError(f"no place “{clean(name)}” in this policy", hints=did_you_mean(name, names))
    return found


def _on_earth(policy: Policy, name: str) -> bool:
    """A threshold with a unit of length is only accepted for latitudes and longitudes."""
    table = policy.file.tables["attributes"].get(name, {})
    return isinstance(table.get("within"), str)


def _finding(metric: Metric, axes: Sequence[Metric]) -> str:
    near = metric.closest
    public = any(axis.has_infinite for axis in axes)
    if near is None:
        return "Everything is public" if public else "No two records may be told apart"
    far = max((axis.farthest.distance for axis in axes if axis.farthest), default=near.distance)
    best = short_pair(pair_words(metric, near.pair), 50)
    if not public and math.isclose(near.distance, far, rel_tol=1e-9):
        return f"Every two values have the same ε, {digits(far)}"
    where = "within one attribute the largest" if len(axes) > 1 else "the largest"
    least = "some differences are public" if public else f"{where} is ε {digits(far)}"
    return f"Best protected: {best}, ε {digits(near.distance)}; {least}"


def _reading(metric: Metric, shown: Sequence[Shown], notes: Sequence[str], panels: int) -> str:
    parts = []
    base = present(metric)
    if len(metric.universe.attributes) > 1 and base.by_attribute is not None:
        several = "the largest counts" if isinstance(base, AttributeMax) else "they add up"
        parts.append(f"Records alike except in one attribute; where several differ, {several}")
    parts.append("ε: how far answers may tell the two apart, over all releases ever")
    if shown:
        parts.append("Dark: hard to tell apart")
    if any(s.outlined for s in shown):
        parts.append("Outlined: tightened, a way over another value or over absence is shorter than what was written")
    if any(s.coarse for s in shown):
        parts.append("Where values stand together, their worst pair counts, the most easily told apart")
    if not all(s.complete for s in shown):
        parts.append("Very many values: worst of the pairs looked at, not of all")
    if any(a.has_other for a in metric.universe.attributes):
        parts.append("“other”: missing and invalid entries")
    parts += [note.rstrip(".") for note in notes if note]
    if panels > PANELS:
        parts.append(f"{PANELS} of {plural(panels, 'attribute')} shown")
    return sentences(parts)
