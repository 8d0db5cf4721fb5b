"""Spatial trees of points: find the relevant pairs without comparing all of them.

All inputs and outputs are arrays of floats.  Every bound is rounded outwards by a proved amount, so that callers, who
decide in exact fractions, get all pairs that may matter.

In reading order: `embedding`, `tree`, `closest_classes`, `extremes`, `features`, `node_pairs`.
"""

from dxprivacy.trees.closest_classes import closest_across
from dxprivacy.trees.embedding import Embedding
from dxprivacy.trees.extremes import closest_pairs, farthest_pairs, same_places, second_nearest, within_pairs
from dxprivacy.trees.features import Dense, Labels, Numerator, Scalar
from dxprivacy.trees.node_pairs import FoundPairs, largest_ratio, largest_ratios
from dxprivacy.trees.tree import PointTree

__all__ = [
    "Dense",
    "Embedding",
    "FoundPairs",
    "Labels",
    "Numerator",
    "PointTree",
    "Scalar",
    "closest_across",
    "closest_pairs",
    "farthest_pairs",
    "largest_ratio",
    "largest_ratios",
    "same_places",
    "second_nearest",
    "within_pairs",
]
