"""Blocks: groups of rows of the workload matrix Q, never dense where structure is known.

A counting, sum or mean question puts every record into at most one row with a whole weight: column i of its block is
`value(i) * e_row(i)`.  Row and value are products over the attributes, so a block is a few short arrays however large
the universe.  Where a record counts in several rows, a part in each, those are rows along one attribute, beside groups
of others.  Anything else is an explicit matrix.  Counts of people and blurred maps are accounted as a whole, not pair
by pair of records (`Block.by_pairs`).
"""

from dxprivacy.model.blocks.along import AlongAxis
from dxprivacy.model.blocks.base import Block, Differences, Rows, joint_classes, largest_entry
from dxprivacy.model.blocks.blurred import Bell, Blurred
from dxprivacy.model.blocks.explicit import Explicit, MatrixRows
from dxprivacy.model.blocks.one_hot import Factor, OneHot
from dxprivacy.model.blocks.people import PeopleTable
from dxprivacy.model.blocks.soft import SoftTable

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
