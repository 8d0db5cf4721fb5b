"""`plots.selection`: how far a selection may fall short of the best candidate, against probability.

The bound depends on scale and number of candidates only. Both are public and known before anything is spent.
"""

from dxprivacy.mechanisms.selection.plan import Selection
from dxprivacy.output.charts.chart_style import ACCENT, INK, WIDTH, clean, nominal, quantitative
from dxprivacy.output.charts.layers import layer, mark, pictured, view
from dxprivacy.output.charts.picture import Picture, require
from dxprivacy.wording import digits

_TALL = 150
_LEVELS = tuple(k / 100 for k in range(1, 100))


def selection_picture(selection: Selection) -> Picture:
    """Draw the bound of Theorem 4 (corrected) against probability; 95 % is marked.

    >>> import dxprivacy as dx
    >>> dx.plots.selection(dx.plan_selection(dx.most_common("element"), dx.metrics.constant(4, 1), n_records=100))
    Picture('most common element: at most 8.76 records fewer than the most common one has, 95 % of the time')
    """
    require(selection, Selection, "a selection", ["session.plan_selection(dx.median_of(…))"])
    curve = [{"x": selection.shortfall(1 - level), "y": 100 * level} for level in _LEVELS]
    at = selection.shortfall()
    measure = selection.candidates.measure
    x = quantitative("x", axis={"title": clean(measure, 80), "tickCount": 5, "grid": False})
    y = quantitative("y", axis={"title": "probability of at most this, %", "tickCount": 4}, scale={"domain": [0, 100]})
    spot = [{"x": at, "y": 95.0, "t": f"{digits(at)}, 95 %"}]
    layers = [
        layer(curve, mark("line", color=ACCENT, strokeWidth=2), x=x, y=y),
        layer(spot, mark("circle", color=ACCENT, size=60, opacity=1), x=x, y=y),
        layer(spot, mark("text", align="right", dx=-8, dy=-8, color=INK), x=x, y=y, text=nominal("t")),
    ]
    best = "the best, exactly" if not at else f"at most {digits(at)} {measure}"
    reading = "Line: how far the selection is at most from the best, with this probability. Nothing is spent"
    title = f"{selection.pick}: {best}" + (", 95 % of the time" if at else "")
    return pictured("How far from the best a selection may be", title, f"{reading}.", view(WIDTH - 80, _TALL, layers))
