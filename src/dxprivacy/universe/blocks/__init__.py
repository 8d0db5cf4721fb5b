"""Blocks: groups of rows of the workload matrix Q, stored by structure instead of as a dense matrix.

In a counting, sum or mean query, every record counts in at most one row, with an integer weight: column i of its block
is `value(i) * e_row(i)`.  Row and value are products over the attributes, so a block is a few short arrays for any size
of the universe.  If a record counts in several rows, with a part in each, these rows are a small matrix along one
attribute, combined with groups of the others.  Anything else is an explicit matrix.  Counts of people and blurred maps
have proportional cost and are not accounted pair by pair of records (`Block.by_pairs`).

In reading order: `block`, `dense_and_sparse`, `along`, `one_hot`, `soft_tables`, `bell`, `people_counts`.
"""

from dxprivacy.universe.blocks.along import AlongAxis
from dxprivacy.universe.blocks.bell import Bell, Blurred
from dxprivacy.universe.blocks.block import Block, Differences, Rows, joint_classes, largest_entry
from dxprivacy.universe.blocks.dense_and_sparse import Explicit, MatrixRows
from dxprivacy.universe.blocks.one_hot import Factor, OneHot
from dxprivacy.universe.blocks.people_counts import PeopleTable
from dxprivacy.universe.blocks.soft_tables import SoftTable

__all__ = [
    "AlongAxis",
    "Bell",
    "Block",
    "Blurred",
    "Differences",
    "Explicit",
    "Factor",
    "MatrixRows",
    "OneHot",
    "PeopleTable",
    "Rows",
    "SoftTable",
    "joint_classes",
    "largest_entry",
]
