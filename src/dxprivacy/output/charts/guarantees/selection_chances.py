"""How far from the best a choice may be: the most that it is short, and how often at most it is so.

From public facts alone, before anything is spent: scale and number of candidates.
"""

from dxprivacy.mechanisms.selection.plan import Choice
from dxprivacy.output.charts.channels import nominal, quantitative
from dxprivacy.output.charts.chart_style import ACCENT, INK, WIDTH, clean
from dxprivacy.output.charts.layers import layer, mark, pictured, view
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.wording import digits

_TALL = 150
_LEVELS = tuple(k / 100 for k in range(1, 100))


def choice_picture(choice: Choice) -> Picture:
    """The bound of Theorem 4, corrected, over probabilities; 95 % is marked.

    >>> import dxprivacy as dx
    >>> dx.plots.choice(dx.plan_choice(dx.most_common("element"), dx.metrics.constant(4, 1), rows=100))
    Picture('most common element: at most 8.76 records fewer than the most common one has, 95 % of the time')
    """
    require(choice, Choice, "a choice", ["session.plan_choice(dx.median_of(…))"])
    curve = [{"x": choice.shortfall(1 - level), "y": 100 * level} for level in _LEVELS]
    at = choice.shortfall()
    measure = choice.candidates.measure
    x = quantitative("x", axis={"title": clean(measure, 80), "tickCount": 5, "grid": False})
    y = quantitative("y", axis={"title": "at most so far, % of the time", "tickCount": 4}, scale={"domain": [0, 100]})
    spot = [{"x": at, "y": 95.0, "t": f"{digits(at)}, 95 %"}]
    layers = [
        layer(curve, mark("line", color=ACCENT, strokeWidth=2), x=x, y=y),
        layer(spot, mark("circle", color=ACCENT, size=60, opacity=1), x=x, y=y),
        layer(spot, mark("text", align="right", dx=-8, dy=-8, color=INK), x=x, y=y, text=nominal("t")),
    ]
    best = "the best, exactly" if not at else f"at most {digits(at)} {measure}"
    reading = "Line: what the choice is short of the best by, at most, so often. Before anything is spent"
    title = f"{choice.pick}: {best}" + (", 95 % of the time" if at else "")
    return pictured("How far from the best a choice may be", title, f"{reading}.", view(WIDTH - 80, _TALL, layers))
