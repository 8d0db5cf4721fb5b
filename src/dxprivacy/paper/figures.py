"""The names of all figures, their modules and what they show; imports no experiment."""

from dataclasses import dataclass

from dxprivacy.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Figure:
    """A figure: its name, the module that measures and draws it, and what it shows."""

    name: str
    module: str
    about: str


FIGURES = (
    Figure("fig1a", "universes", "Fig. 1a: 50 random points, and why universes differ"),
    Figure("fig1b", "universes", "Fig. 1b: improvement factors of 1,000 random queries, over many universes"),
    Figure("fig1c", "strategies_by_k", "Fig. 1c: 1 to 10 uniform queries, strategies 1, 2, 3 and the optimum"),
    Figure("fig1d", "strategies_by_k", "Fig. 1d: the same with binary queries"),
    Figure("fig2", "us_places", "Fig. 2: US places, random queries and mean elevation"),
    Figure("fig3", "thresholds", "Fig. 3: error under Blowfish and smooth thresholds against ε"),
    Figure("fig4", "thresholds", "Fig. 4: improvement factors under Blowfish and smooth thresholds"),
    Figure("baselines", "standard_comparison", "new: standard DP at the strictest and at our worst-case ε"),
    Figure("personal", "personal", "new: stretching and sampling, compared with our plan and standard DP"),
    Figure("gain", "metric_families", "new: improvement factors by family of metrics and kind of query"),
    Figure("bias", "bias_at_small_n", "new: the error with bias, for few records"),
    Figure("mwem", "mwem_errors", "new: MWEM under d_X, against standard DP and a direct fit"),
    Figure("ranges", "range_strategies", "new: the matrix mechanism on all ranges of a line"),
)
NAMES = tuple(figure.name for figure in FIGURES)


def chosen(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the chosen figures in their usual order; all if there are none.

    >>> chosen(("fig2", "fig1a", "fig2"))
    ('fig1a', 'fig2')
    """
    for name in names:
        if name not in NAMES:
            raise UsageError(
                f"no figure “{name}”", details=[f"figures: {', '.join(NAMES)}"], hints=did_you_mean(name, NAMES)
            )
    return tuple(name for name in NAMES if name in names or not names)
