"""Bugs of `trees`."""

from mutants.planting import Mutant

TREES = (
    Mutant(
        "trees/node_pairs.py",
        "        if walk.crowded:  # checked here",
        "        if False and walk.crowded:  # checked here",
        "tests/oracle/test_trees.py",
        "test_a_crowd_closer_than_the_sphere_can_tell_is_never_taken_for_decided",
    ),
)
