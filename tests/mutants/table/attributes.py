"""Bugs of `attributes`."""

from mutants.planting import Mutant

ATTRIBUTES = (
    # what is checked, read and rounded
    Mutant(
        "attributes/registry.py",
        "return KINDS.get(attribute.kind) is type(attribute)",
        "return True",
        "tests/contracts/test_new_attribute_kind.py",
        "test_a_kind_that_nobody_registered_is_refused",
    ),
    Mutant(
        "attributes/base.py",
        "if math.prod(entry.codec.listed for entry in self.entries_read) != self.listed:",
        "if False:",
        "tests/contracts/test_new_attribute_kind.py",
        "test_places_that_are_not_the_values_are_refused",
    ),
    # what a policy declares about files and spellings
    Mutant(
        "attributes/values.py",
        " | facts | self.spelling.spec()",
        " | facts",
        "tests/engines/test_spelling.py",
        "test_a_spelling_is_part_of_the_digest_and_comes_back",
    ),
    Mutant(
        "attributes/matching.py",
        "pairs |= {(before.listed, k) for text, k in after.places.items() if more[1].varies(text)}",
        "pass",
        "tests/engines/test_spelling.py",
        "test_two_versions_have_every_pair_that_some_entry_is_read_as",
    ),
    # conditions that count what they say, in words and in SQL
    Mutant(
        "attributes/order.py",
        'splits = self.cuts(at) or (sign == "<" and at == high and self.closed)',
        "splits = self.cuts(at)",
        "tests/unit/questions/test_conditions.py",
        "test_what_would_count_something_else_is_refused",
    ),
    Mutant(
        "attributes/order.py",
        'if sign in (">", "<=") and before < len(self.starts)',
        'if sign in (">=", "<=") and before < len(self.starts)',
        "tests/unit/questions/test_conditions.py",
        "test_a_condition_keeps_what_it_says",
    ),
    # values in an order, and rows that find their place by coordinates
    Mutant(
        "attributes/ranks.py",
        "return range(int(first), int(last) + 1)",
        "return range(int(first), int(last))",
        "tests/unit/policy/test_order.py",
        "test_a_range_is_its_two_ends_and_all_between_them",
    ),
    Mutant(
        "attributes/matching.py",
        "if old.located != new.located:",
        "if False:",
        "tests/unit/policy/test_by_coordinates.py",
        "test_past_costs_follow_the_same_places_only",
    ),
)
