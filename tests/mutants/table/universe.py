"""Bugs of `universe`."""

from mutants.planting import Mutant

UNIVERSE = (
    # which pairs are looked at, and what they come to
    Mutant(
        "universe/blocks/one_hot.py",
        "return factor.groups, None if factor.weighs_alike else factor.values",
        "return factor.groups, None",
        "tests/oracle/test_lines.py",
        "test_under_one_distance_for_all_records",
    ),
    Mutant(
        "universe/blocks/one_hot.py",
        "return np.where(row == np.arange(self.rows), value, 0)",
        "return value",
        "tests/oracle/test_max_ratio.py",
        "test_of_one_table_under_standard_dp_the_two_heaviest_rows_are_found",
    ),
    Mutant(
        "universe/loss_terms.py",
        "out = np.maximum(out, part.pairwise(i, j))",
        "out = part.pairwise(i, j)",
        "tests/oracle/test_selection_costs.py",
        "test_the_largest_loss_of_a_choice_equals_all_pairs_in_fractions",
    ),
    # what a policy declares about files and spellings
    Mutant(
        "universe/universe.py",
        "[a.spec() for a in self.attributes] + self.file.spec() + self._absence()",
        "[a.spec() for a in self.attributes] + self._absence()",
        "tests/unit/policy/test_file_table.py",
        "test_a_plan_for_one_reading_is_not_released_under_another",
    ),
    # people with several rows
    Mutant(
        "universe/blocks/people_counts.py",
        "pairs = np.unique(np.stack([row[~own], person[~own]], axis=1), axis=0)",
        "pairs = np.stack([row[~own], person[~own]], axis=1)",
        "tests/people/test_count_people.py",
        "test_a_release_counts_people_with_at_least_one_kept_row",
    ),
    # soft tables, and what is worked out of several rows
    Mutant(
        "universe/blocks/soft_tables.py",
        "out[apart] = np.maximum(first, second) if largest else first + second",
        "out[apart] = np.maximum(first, second)",
        "tests/oracle/test_soft_tables.py",
        "test_loose_rules_and_largest_losses_are_not_below_the_truth",
    ),
    Mutant(
        "universe/blocks/soft_tables.py",
        "return self._classes if axis == self.axis else self.beside.moving(axis)",
        "return self._classes // 2 if axis == self.axis else self.beside.moving(axis)",
        "tests/oracle/test_soft_tables.py",
        "test_soft_tables_are_their_matrices",
    ),
    Mutant(
        "universe/blocks/soft_tables.py",
        "if (np.diff(size[:, order], axis=1) >= 0).all():",
        "if True:",
        "tests/oracle/test_soft_tables.py",
        "test_stronger_values_of_one_kind_show_more_in_every_row",
    ),
    Mutant(
        "universe/answers/quantile_answers.py",
        "ends = inner.least(low - 1, wanted[0])",
        "ends = inner.least(low, wanted[0])",
        "tests/oracle/test_simulated_intervals.py",
        "test_intervals_hold",
    ),
    Mutant(
        "universe/answers/quantile_answers.py",
        "if row - wide < wanted[1]:",
        "if row + wide < wanted[1]:",
        "tests/oracle/test_worked_out_intervals.py",
        "test_intervals_of_quantiles_hold_where_noise_is_as_large_as_what_lies_between_rows",
    ),
    Mutant(
        "universe/answers/spread_answers.py",
        "max(total[0] ** 2, total[1] ** 2)], sizes)",
        "least], sizes)",
        "tests/oracle/test_worked_out_intervals.py",
        "test_a_spread_lies_between_its_ends_whatever_the_sums_are",
    ),
    Mutant(
        "universe/answers/spread_answers.py",
        "return 1 - (1 - COVERAGE) / max(noisy, 1)",
        "return COVERAGE",
        "tests/oracle/test_worked_out_intervals.py",
        "test_a_spread_lies_between_its_ends_whatever_the_sums_are",
    ),
    # maps
    Mutant(
        "universe/plane.py",
        "return max(self.lengths[1] / KM_PER_DEGREE / narrowest, Fraction(1))",
        "return Fraction(1)",
        "tests/maps/test_bells_and_planes.py",
        "test_lengths_on_the_map_are_stretched_by_no_more_than_certified",
    ),
    Mutant(
        "universe/plane.py",
        "if (360 - (east - west)) * KM_PER_DEGREE * narrowest <= reach:",
        "if False:",
        "tests/maps/test_bells_and_planes.py",
        "test_there_is_no_map_of_poles_and_all_around_the_earth",
    ),
    Mutant(
        "universe/plane.py",
        "turned = [360 if side == 1 and x < self._first else 0 for x in numbers.tolist()]",
        "turned = [0 for x in numbers.tolist()]",
        "tests/maps/test_bells_and_planes.py",
        "test_a_map_is_the_shortest_stretch_that_holds_all_longitudes",
    ),
    Mutant(
        "universe/plane.py",
        "if _apart(x[widest], x[widest + 1]) > 360 - _apart(x[0], x[-1]) else x[0]",
        "if _apart(x[widest], x[widest + 1]) >= 360 - _apart(x[0], x[-1]) else x[0]",
        "tests/maps/test_bells_and_planes.py",
        "test_a_map_is_the_shortest_stretch_that_holds_all_longitudes",
    ),
    Mutant(
        "universe/blocks/bell.py",
        "counted: Ints = np.full(values, -1, dtype=np.int64)",
        "counted: Ints = np.full(values, 0, dtype=np.int64)",
        "tests/maps/test_map_costs.py",
        "test_one_spot_in_the_map_and_out_of_it_is_refused",
    ),
    # what is checked, read and rounded
    Mutant(
        "universe/attributes/attribute_kinds.py",
        "return KINDS.get(attribute.kind) is type(attribute)",
        "return True",
        "tests/contracts/test_new_attribute_kind.py",
        "test_a_kind_that_nobody_registered_is_refused",
    ),
    Mutant(
        "universe/attributes/attribute.py",
        "if math.prod(entry.codec.listed for entry in self.entries_read) != self.listed:",
        "if False:",
        "tests/contracts/test_new_attribute_kind.py",
        "test_places_that_are_not_the_values_are_refused",
    ),
    # what a policy declares about files and spellings
    Mutant(
        "universe/attributes/listed_values.py",
        " | facts | self.spelling.spec()",
        " | facts",
        "tests/engines/test_spelling.py",
        "test_a_spelling_is_part_of_the_digest_and_comes_back",
    ),
    Mutant(
        "universe/attribute_matching.py",
        "pairs |= {(before.listed, k) for text, k in after.places.items() if more[1].varies(text)}",
        "pass",
        "tests/engines/test_spelling.py",
        "test_two_versions_have_every_pair_that_some_entry_is_read_as",
    ),
    # conditions that count what they say, in words and in SQL
    Mutant(
        "universe/ordering/order.py",
        'splits = self.cuts(at) or (sign == "<" and at == high and self.closed)',
        "splits = self.cuts(at)",
        "tests/unit/queries/test_conditions.py",
        "test_what_would_count_something_else_is_refused",
    ),
    Mutant(
        "universe/ordering/order.py",
        'if sign in (">", "<=") and before < len(self.starts)',
        'if sign in (">=", "<=") and before < len(self.starts)',
        "tests/unit/queries/test_conditions.py",
        "test_a_condition_keeps_what_it_says",
    ),
    # values in an order, and rows that find their place by coordinates
    Mutant(
        "universe/ordering/order_of_names.py",
        "return range(int(first), int(last) + 1)",
        "return range(int(first), int(last))",
        "tests/unit/policy/test_order.py",
        "test_a_range_is_its_two_ends_and_all_between_them",
    ),
    Mutant(
        "universe/attribute_matching.py",
        "if old.located != new.located:",
        "if False:",
        "tests/unit/policy/test_by_coordinates.py",
        "test_past_costs_follow_the_same_places_only",
    ),
)
