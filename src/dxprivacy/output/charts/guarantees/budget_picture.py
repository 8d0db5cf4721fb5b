"""`plots.budget`: the fraction of each pair's ε that a ledger has used."""

from collections.abc import Sequence

import numpy as np

from dxprivacy.ledger import Ledger
from dxprivacy.ledger.ledger_budget import Used as UsedPair
from dxprivacy.ledger.ledger_budget import used_by_attribute
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import WithAbsent, along, present
from dxprivacy.output.charts.chart_style import WIDTH, sentences
from dxprivacy.output.charts.guarantees.budget_panels import (
    UsedPanel,
    attribute_used,
    bands_used,
    percent_up,
    presence_used,
)
from dxprivacy.output.charts.guarantees.loss_profiles import Moves, presence
from dxprivacy.output.charts.layers import empty, several
from dxprivacy.output.charts.pair_heat import packed
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.output.charts.shades import USED
from dxprivacy.output.text.plan_text import pair_words
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import SumCost
from dxprivacy.wording import digits, plural, short, short_pair

PANELS = 12
_LISTED = 6


def budget_picture(ledger: Ledger) -> Picture:
    """Draw the fraction of ε that all releases together have used, by attribute and by distance.

    The picture depends on the policy and the costs in the ledger only, which are public.

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     dx.plots.budget(session.ledger)
    Picture('Nothing is used yet')
    """
    hints = ["dx.plots.budget(session.ledger)", 'dx.Ledger.open("ledger.db", policy)']
    require(ledger, Ledger, "a ledger", hints)
    return used_picture(ledger.spent, ledger.metric)


def used_picture(spent: SumCost, metric: Metric) -> Picture:
    """Draw the same for any sum of costs, such as those of a ledger and of a plan.

    >>> from dxprivacy import metrics
    >>> d = metrics.line(4, 1)
    >>> used_picture(SumCost(d.universe, []), d)
    Picture('Nothing is used yet')
    """
    most = used_by_attribute(spent, metric)
    touched = _touched(spent, metric)
    panels = _panels(spent, metric, most, touched)
    key = USED.key([x for p in panels if not p.banded for x in p.found])
    views = packed([p.panel for p in panels]) or [empty("every pair has all of its ε left", WIDTH)]
    title, reading = _finding(spent, metric, most, panels), _reading(metric, panels, touched)
    description = "Used fraction of each pair's ε"
    return several([*views, key], title, reading, description=description, own_axes=False)


def _touched(spent: SumCost, metric: Metric) -> dict[str, bool]:
    """Return for each attribute whether any query separates its values; empty if the metric has no attributes."""
    if present(metric).axes is None:
        return {}
    axes = {axis for term in spent.terms for axis in term.axes}
    flat = spent.proportional_loss  # counts of people use a part of every pair, maps of every pair of places
    return {name: axis in axes or bool(flat.along_axis(axis)) for axis, name in enumerate(metric.universe.names)}


def _panels(
    spent: SumCost, metric: Metric, most: dict[str, list[UsedPair]], touched: dict[str, bool]
) -> list[UsedPanel]:
    """Return one panel per attribute if pairs that differ in one attribute generate the metric, otherwise one panel."""
    universe = metric.universe
    axes = along(metric)
    if not spent.costs:
        return []
    if not touched or axes is None:
        special = [record for pairs in most.values() for used in pairs for record in used.pair]

        def label(record: int) -> str:
            return short(", ".join(universe.record(record).values()), 40)

        return [bands_used(Moves.along(spent, None), metric, None, "whole records", special, label)]
    found: list[UsedPanel] = []
    for axis, (attribute, own) in enumerate(zip(universe.attributes, axes, strict=True)):
        if not touched[attribute.name] or len(found) >= PANELS:
            continue
        records = [r for used in most.get(attribute.name, []) for r in used.pair if r != universe.absent]
        special = universe.along(axis, np.array(records, dtype=np.int64)).tolist()
        found.append(attribute_used(spent, axis, attribute, own, special))
    if isinstance(metric, WithAbsent) and universe.absent is not None:
        worst = presence(spent, universe.absent)
        fraction = float(max_ratio(spent, metric).upper) if worst is None else worst[0] / float(metric.radius)
        found.append(presence_used(min(fraction, 1.0), bounded=worst is None))
    return found


def _finding(spent: SumCost, metric: Metric, most: dict[str, list[UsedPair]], panels: Sequence[UsedPanel]) -> str:
    first = {name: used[0] for name, used in most.items() if used and used[0].fraction > 0}
    if not spent.costs:
        return "Nothing is used yet"
    if not first:
        return "Nothing is used: the answers so far separate no two records, or only public differences"
    if len(panels) == 1 and panels[0].banded and panels[0].complete and len(panels[0].fractions) > 1:
        fractions = panels[0].fractions
        full = int((fractions > 0.99).sum())
        half = f"half of all {len(fractions):,} pairs: up to {percent_up(float(np.median(fractions)))} %"
        if full:
            return f"{plural(full, 'pair')} over 99 % used; {half}"
        return f"Most used pair: {percent_up(float(fractions.max()))} %; {half}"
    top = max(first.values(), key=lambda used: used.fraction)
    pair = short_pair(pair_words(metric, top.pair), 48)
    return f"Most used: {pair}, {percent_up(min(top.fraction, 1.0))} % of ε {digits(top.allowed)}"


def _reading(metric: Metric, panels: Sequence[UsedPanel], touched: dict[str, bool]) -> str:
    parts = []
    if not panels:
        return "Per cent of each pair’s ε used, over all releases so far."
    banded = any(p.banded for p in panels)
    if any(not p.banded for p in panels):
        parts.append(
            "Per cent of ε used, rounded up, of the most used pair that differs in this attribute only, for any "
            "values of the others"
        )
        if any(p.coarse for p in panels):
            parts.append("Groups of values: their most used pair, also within a group")
        parts.append("Dark: used up")
    if banded:
        parts.append("Bands of distance: light up to the most used pair, then the 99th percentile, dark the median")
        if any(a.has_other for a in metric.universe.attributes):
            parts.append("Invalid entries (“other”) have no distance and are not in the bands")
    parts.append("Less can be left of a pair than shown here, if all paths between the two are used")
    if any(p.bounded for p in panels):
        parts.append("Some numbers are bounds from above: too many combinations to evaluate")
    if not all(p.complete for p in panels):
        parts.append("Very many values: a sample of pairs, which contains the most used pair of all")
    untouched = [short(name, 16) for name, is_touched in touched.items() if not is_touched]
    if untouched:
        more = f" and {len(untouched) - _LISTED} more" if len(untouched) > _LISTED else ""
        rest = "unused" if metric.universe.absent is None else "used only by detours over the absent record"
        parts.append(f"No query about {', '.join(untouched[:_LISTED])}{more}: {rest}")
    if sum(touched.values()) > PANELS:
        parts.append(f"{PANELS} of {sum(touched.values())} attributes shown")
    return sentences(parts)
