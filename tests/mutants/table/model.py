"""Bugs of `model`."""

from mutants.planting import Mutant

MODEL = (
    # which pairs are looked at, and what they come to
    Mutant(
        "model/blocks/one_hot.py",
        "return factor.groups, None if factor.weighs_alike else factor.values",
        "return factor.groups, None",
        "tests/oracle/test_lines.py",
        "test_under_one_distance_for_all_records",
    ),
    Mutant(
        "model/blocks/one_hot.py",
        "return np.where(row == np.arange(self.rows), value, 0)",
        "return value",
        "tests/oracle/test_max_ratio.py",
        "test_of_one_table_under_plain_dp_the_two_heaviest_rows_are_found",
    ),
    Mutant(
        "model/terms.py",
        "out = np.maximum(out, part.pairwise(i, j))",
        "out = part.pairwise(i, j)",
        "tests/oracle/test_choice_costs.py",
        "test_the_largest_loss_of_a_choice_equals_all_pairs_in_fractions",
    ),
    # what a policy declares about files and spellings
    Mutant(
        "model/universe.py",
        "[a.spec() for a in self.attributes] + self.file.spec() + self._absence()",
        "[a.spec() for a in self.attributes] + self._absence()",
        "tests/unit/policy/test_file_table.py",
        "test_a_plan_for_one_reading_is_not_released_under_another",
    ),
    # people with several rows
    Mutant(
        "model/blocks/people.py",
        "pairs = np.unique(np.stack([row[~own], person[~own]], axis=1), axis=0)",
        "pairs = np.stack([row[~own], person[~own]], axis=1)",
        "tests/people/test_count_people.py",
        "test_a_release_counts_people_with_at_least_one_kept_row",
    ),
    # soft tables, and what is worked out of several rows
    Mutant(
        "model/blocks/soft.py",
        "out[apart] = np.maximum(first, second) if largest else first + second",
        "out[apart] = np.maximum(first, second)",
        "tests/oracle/test_soft_tables.py",
        "test_soft_tables_are_their_matrices",
    ),
    Mutant(
        "model/blocks/soft.py",
        "return self._classes if axis == self.axis else self.beside.moving(axis)",
        "return self._classes // 2 if axis == self.axis else self.beside.moving(axis)",
        "tests/oracle/test_soft_tables.py",
        "test_soft_tables_are_their_matrices",
    ),
    Mutant(
        "model/blocks/soft.py",
        "if (np.diff(size[:, order], axis=1) >= 0).all():",
        "if True:",
        "tests/oracle/test_soft_tables.py",
        "test_stronger_values_of_one_kind_show_more_in_every_row",
    ),
    Mutant(
        "model/recipes/inverse.py",
        "ends = inner.least(low - 1, wanted[0])",
        "ends = inner.least(low, wanted[0])",
        "tests/oracle/test_simulated_intervals.py",
        "test_intervals_hold",
    ),
    Mutant(
        "model/recipes/inverse.py",
        "if row - wide < wanted[1]:",
        "if row + wide < wanted[1]:",
        "tests/oracle/test_worked_out_intervals.py",
        "test_intervals_of_quantiles_hold_where_noise_is_as_large_as_what_lies_between_rows",
    ),
    Mutant(
        "model/recipes/spread.py",
        "max(total[0] ** 2, total[1] ** 2)], sizes)",
        "least], sizes)",
        "tests/oracle/test_worked_out_intervals.py",
        "test_a_spread_lies_between_its_ends_whatever_the_sums_are",
    ),
    Mutant(
        "model/recipes/spread.py",
        "return 1 - (1 - COVERAGE) / max(noisy, 1)",
        "return COVERAGE",
        "tests/oracle/test_worked_out_intervals.py",
        "test_a_spread_lies_between_its_ends_whatever_the_sums_are",
    ),
    # maps
    Mutant(
        "model/plane.py",
        "return max(self.lengths[1] / KM_PER_DEGREE / narrowest, Fraction(1))",
        "return Fraction(1)",
        "tests/maps/test_bells_and_planes.py",
        "test_lengths_on_the_map_are_stretched_by_no_more_than_certified",
    ),
    Mutant(
        "model/plane.py",
        "if (360 - (east - west)) * KM_PER_DEGREE * narrowest <= reach:",
        "if False:",
        "tests/maps/test_bells_and_planes.py",
        "test_there_is_no_map_of_poles_and_all_around_the_earth",
    ),
    Mutant(
        "model/plane.py",
        "turned = [360 if side == 1 and x < self._first else 0 for x in numbers.tolist()]",
        "turned = [0 for x in numbers.tolist()]",
        "tests/maps/test_bells_and_planes.py",
        "test_a_map_is_the_shortest_stretch_that_holds_all_longitudes",
    ),
    Mutant(
        "model/plane.py",
        "if _apart(x[widest], x[widest + 1]) > 360 - _apart(x[0], x[-1]) else x[0]",
        "if _apart(x[widest], x[widest + 1]) >= 360 - _apart(x[0], x[-1]) else x[0]",
        "tests/maps/test_bells_and_planes.py",
        "test_a_map_is_the_shortest_stretch_that_holds_all_longitudes",
    ),
    Mutant(
        "model/blocks/blurred.py",
        "counted: Ints = np.full(values, -1, dtype=np.int64)",
        "counted: Ints = np.full(values, 0, dtype=np.int64)",
        "tests/maps/test_map_costs.py",
        "test_no_pair_loses_more_than_a_map_is_charged_for_and_it_is_verified",
    ),
)
