"""Recipes: how an answer is computed from rows, its expected error, and its confidence interval.

In reading order: `recipe`, `linear_answers`, `quantile_answers`, `ratio_answers`, `spread_answers`.
"""

from dxprivacy.universe.answers.linear_answers import Linear
from dxprivacy.universe.answers.quantile_answers import QuantileRamps, QuantileRecipe
from dxprivacy.universe.answers.ratio_answers import Ratio
from dxprivacy.universe.answers.recipe import COVERAGE, EACH, Distribution, ErrorOf, Interval, Number, Recipe
from dxprivacy.universe.answers.spread_answers import Spread, Total

__all__ = [
    "COVERAGE",
    "EACH",
    "Distribution",
    "ErrorOf",
    "Interval",
    "Linear",
    "Number",
    "QuantileRamps",
    "QuantileRecipe",
    "Ratio",
    "Recipe",
    "Spread",
    "Total",
]
