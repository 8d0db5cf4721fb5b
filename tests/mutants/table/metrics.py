"""Bugs of `metrics`."""

from mutants.planting import Mutant

METRICS = (
    # distances, and the rounding of numbers
    Mutant(
        "metrics/closed_forms.py",
        "for a in range(0, last, block):",
        "for a in range(0, last, block + 1):",
        "tests/unit/metrics/test_metric_blocks.py",
        "test_a_threshold_at_the_end_of_a_block_of_a_line_needs_as_much_noise_as_any_other",
    ),
    Mutant(
        "metrics/closed_forms.py",
        "first = np.arange(a, min(a + block, last), dtype=np.int64)",
        "first = np.arange(a, min(a + block - 1, last), dtype=np.int64)",
        "tests/unit/metrics/test_metric_blocks.py",
        "test_a_threshold_at_the_end_of_a_block_of_a_line_needs_as_much_noise_as_any_other",
    ),
    Mutant(
        "metrics/closed_forms.py",
        "for a in range(0, len(self._order) - 1, block):",
        "for a in range(0, len(self._order) - 1, block + 1):",
        "tests/unit/metrics/test_metric_blocks.py",
        "test_a_threshold_at_the_end_of_a_block_of_looked_up_neighbors_too",
    ),
    Mutant(
        "metrics/closed_forms.py",
        "range(0, len(first), block)",
        "range(0, len(first), block + 1)",
        "tests/unit/metrics/test_metric_blocks.py",
        "test_no_pair_of_any_metric_is_lost_between_two_blocks",
    ),
    Mutant(
        "metrics/with_other.py",
        "for a in range(0, self.last, block):",
        "for a in range(0, self.last, block + 1):",
        "tests/unit/metrics/test_metric_blocks.py",
        "test_no_pair_of_any_metric_is_lost_between_two_blocks",
    ),
    Mutant(
        "metrics/derived_metrics.py",
        "for a in range(0, len(i), block):",
        "for a in range(0, len(i), block + 1):",
        "tests/unit/metrics/test_metric_blocks.py",
        "test_no_pair_of_any_metric_is_lost_between_two_blocks",
    ),
    Mutant(
        "metrics/metric.py",
        "for a in range(0, len(i), 4 * block):",
        "for a in range(0, len(i), 5 * block):",
        "tests/unit/metrics/test_metric_blocks.py",
        "test_all_pairs_in_short_blocks_are_all_pairs",
    ),
    Mutant(
        "metrics/with_other.py",
        "return min(self.base.exact(i, j), self._twice)",
        "return self.base.exact(i, j)",
        "tests/unit/metrics/test_derived_metrics.py",
        "test_three_hundred_random_metrics_are_metrics_and_max_ratio_by_rule_equals_all_pairs_in_fractions",
    ),
    Mutant(
        "metrics/derived_metrics.py",
        "return min(self.base.exact(i, j), self.cap)",
        "return self.base.exact(i, j)",
        "tests/unit/metrics/test_derived_metrics.py",
        "test_three_hundred_random_metrics_are_metrics_and_max_ratio_by_rule_equals_all_pairs_in_fractions",
    ),
    Mutant(
        "metrics/attribute_sum.py",
        "total = total + step if total else step",
        "total = max(total, step)",
        "tests/unit/metrics/test_derived_metrics.py",
        "test_three_hundred_random_metrics_are_metrics_and_max_ratio_by_rule_equals_all_pairs_in_fractions",
    ),
    Mutant(
        "metrics/closed_forms.py",
        "whole = {v: math.floor(f / tick)",
        "whole = {v: round(f / tick)",
        "tests/unit/exact/test_rounding_directions.py",
        "test_explicit_fractions_beyond_a_common_grid_are_rounded_down",
    ),
    Mutant(
        "metrics/closed_forms.py",
        "whole = {v: math.floor(f / tick)",
        "whole = {v: math.ceil(f / tick)",
        "tests/unit/exact/test_rounding_directions.py",
        "test_explicit_fractions_beyond_a_common_grid_are_rounded_down",
    ),
    Mutant(
        "metrics/closed_forms.py",
        "scaled = np.floor(np.ldexp(",
        "scaled = np.rint(np.ldexp(",
        "tests/unit/exact/test_rounding_directions.py",
        "test_explicit_floats_beyond_a_common_grid_are_rounded_down",
    ),
    Mutant(
        "metrics/closed_forms.py",
        "scaled = np.floor(np.ldexp(",
        "scaled = np.ceil(np.ldexp(",
        "tests/unit/exact/test_rounding_directions.py",
        "test_explicit_floats_beyond_a_common_grid_are_rounded_down",
    ),
    Mutant(
        "metrics/closed_forms.py",
        "detour = d[:, k, None] + d[None, k, :]",
        "detour = d[:, k, None] + d[None, k, :] + 1",
        "tests/unit/metrics/test_derived_metrics.py",
        "test_three_hundred_random_metrics_are_metrics_and_max_ratio_by_rule_equals_all_pairs_in_fractions",
    ),
    # values in an order, and rows that find their place by coordinates
    Mutant(
        "metrics/attribute_metrics.py",
        "base = LineMetric(without_other(attribute.listed), attribute.positions, per_step)",
        "base = LineMetric(without_other(attribute.listed), range(attribute.listed), per_step)",
        "tests/unit/policy/test_order.py",
        "test_distances_are_differences_of_places_in_exact_fractions",
    ),
)
