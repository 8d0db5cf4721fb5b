"""Bugs of `policy`."""

from mutants.planting import Mutant

POLICY = (
    Mutant(
        "policy/tables/table_keys.py",
        "return self.number(given, key, what, limits, hints) / self.rows_each",
        "return self.number(given, key, what, limits, hints)",
        "tests/people/test_people_guarantee.py",
        "test_a_row_gets_its_part_of_every_distance_of_every_kind",
    ),
    Mutant(
        "policy/compiler.py",
        "return whole.radius / rows_each if isinstance",
        "return whole.radius if isinstance",
        "tests/people/test_people_guarantee.py",
        "test_a_row_gets_its_part_of_every_distance_of_every_kind",
    ),
    Mutant(
        "policy/tables/listed_kinds.py",
        "edges = [(a, b, length / keys.rows_each) for a, b, length in edges]",
        "edges = [(a, b, length) for a, b, length in edges]",
        "tests/people/test_people_guarantee.py",
        "test_a_row_gets_its_part_of_every_distance_of_every_kind",
    ),
)
