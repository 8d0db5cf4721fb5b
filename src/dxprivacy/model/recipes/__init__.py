"""Recipes: how an answer is made of rows, what noise in the rows does to it, and what of it can be said beforehand."""

from dxprivacy.model.recipes.base import COVERAGE, EACH, ErrorOf, Interval, Law, Number, Recipe
from dxprivacy.model.recipes.inverse import Inverse, Ramps
from dxprivacy.model.recipes.linear import Linear
from dxprivacy.model.recipes.ratio import Ratio
from dxprivacy.model.recipes.spread import Spread, Total

__all__ = [
    "COVERAGE",
    "EACH",
    "ErrorOf",
    "Interval",
    "Inverse",
    "Law",
    "Linear",
    "Number",
    "Ramps",
    "Ratio",
    "Recipe",
    "Spread",
    "Total",
]
