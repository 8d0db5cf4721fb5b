"""Bugs of `verify`."""

from mutants.planting import Mutant

VERIFY = (
    # which pairs are looked at, and what they come to
    Mutant(
        "verify/lines.py",
        "if step is None or step != before:",
        "if step != before:",
        "tests/verify/test_verify_lines.py",
        "test_under_one_distance_for_all_records",
    ),
    Mutant(
        "verify/exchange.py",
        "return all(x is None or x != y for x, y in zip(a, b, strict=True))",
        "return a != b",
        "tests/verify/test_verify_lines.py",
        "test_values_for_which_others_stand",
    ),
    Mutant(
        "verify/moves.py",
        "        for value in sight.outside:",
        "        for value in ():",
        "tests/verify/test_verify_many_places.py",
        "test_an_exact_row_that_only_other_shows_is_refused_where_other_is_no_public_matter",
    ),
    # what is checked, read and rounded
    Mutant(
        "verify/parts.py",
        "linked = [one for one in found if one[0] & axes]",
        "linked = list[tuple[set[int], list[Block]]]()",
        "tests/verify/test_verify_parts.py",
        "test_linked_tables_are_not_given_contexts_that_exclude_one_another",
    ),
    Mutant(
        "verify/parts.py",
        "MARGIN = 2.0**-17",
        "MARGIN = 0.0",
        "tests/verify/test_verify_margin.py",
        "test_the_largest_ratio_is_found_though_every_float_is_off",
    ),
    Mutant(
        "verify/directions.py",
        "elif d <= known.about * (1 + MARGIN):",
        "elif d < known.about:",
        "tests/verify/test_verify_margin.py",
        "test_the_largest_ratio_is_found_though_every_float_is_off",
    ),
    # people with several rows
    Mutant(
        "verify/people.py",
        "return 2 if parted <= set(own) else 2 * universe.rows_each",
        "return 2",
        "tests/people/test_count_people.py",
        "test_files_and_ledger_are_verified_and_forged_ones_are_not",
    ),
    # conditions that count what they say, in words and in SQL
    Mutant(
        "verify/grouping.py",
        "if None in sides:",
        "if False:",
        "tests/unit/queries/test_conditions.py",
        "test_what_would_count_something_else_is_refused",
    ),
    Mutant(
        "verify/logic.py",
        "return set(range(size)) - fulfilled(wanted.inner, plain, size)",
        "return set(range(size - 1)) - fulfilled(wanted.inner, plain, size)",
        "tests/unit/queries/test_conditions_by_chance.py",
        "test_words_files_and_verifier_agree_about_any_conditions",
    ),
    # maps
    Mutant(
        "verify/certificate.py",
        "ends = found.low + low + least, found.high + high + most",
        "ends = found.low + low, found.high + high",
        "tests/maps/test_map_queries.py",
        "test_the_verifier_charges_maps_as_the_planner_does",
    ),
    Mutant(
        "verify/certificate.py",
        "return [(_sum(total.values()), metric)]",
        "return [(_most(total.values()), metric)]",
        "tests/maps/test_map_costs.py",
        "test_two_maps_take_twice_as_much_where_the_larger_distance_counts",
    ),
    Mutant(
        "verify/blurred.py",
        "return placed == list(block.plane.rows)",
        "return True",
        "tests/maps/test_map_queries.py",
        "test_forged_maps_are_refused",
    ),
)
