"""Bugs of `exact`."""

from mutants.planting import Mutant

EXACT = (
    # distances, and the rounding of numbers
    Mutant(
        "exact/rounding.py",
        "    return math.nextafter(nearest, -math.inf)",
        "    return nearest",
        "tests/unit/exact/test_rounding_directions.py",
        "test_numbers_round_to_the_side_that_their_function_names",
    ),
    Mutant(
        "exact/rounding.py",
        "    return math.nextafter(nearest, math.inf)",
        "    return nearest",
        "tests/unit/exact/test_rounding_directions.py",
        "test_numbers_round_to_the_side_that_their_function_names",
    ),
    Mutant(
        "exact/rounding.py",
        "Fraction(-((-value.numerator << _PRINTED_BITS) // value.denominator), 1 << _PRINTED_BITS)",
        "Fraction((value.numerator << _PRINTED_BITS) // value.denominator, 1 << _PRINTED_BITS)",
        "tests/unit/exact/test_rounding_directions.py",
        "test_long_fractions_are_shortened_upwards",
    ),
    # what is checked, read and rounded
    Mutant(
        "exact/answer_grid.py",
        "if largest * max(records, 1) >= 1 << 61:",
        "if largest * max(records, 1) >= 1 << 65:",
        "tests/unit/queries/test_universe_and_queries.py",
        "test_overflow_is_refused_from_public_numbers",
    ),
    # bells in whole steps
    Mutant(
        "exact/normal.py",
        "SLOPE = Fraction(797884560802865356, 10**18)",
        "SLOPE = Fraction(797884560802865355, 10**18) * Fraction(999, 1000)",
        "tests/maps/test_bells_and_planes.py",
        "test_two_bells_differ_by_no_more_than_stated",
    ),
    Mutant(
        "exact/normal.py",
        "half_up = (part >> _WORKING - BITS - 1) + 1  # in half steps",
        "half_up = part >> _WORKING - BITS - 1  # in half steps",
        "tests/maps/test_bells_and_planes.py",
        "test_steps_are_the_nearest_whole_numbers",
    ),
)
