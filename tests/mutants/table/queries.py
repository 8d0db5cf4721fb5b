"""Bugs of `queries`."""

from mutants.planting import Mutant

QUERIES = (
    # conditions that count what they say, in words and in SQL
    Mutant(
        "queries/grouping.py",
        "if len(hit) and ref.entry is not None and ref.entry.clamps:",
        "if False:",
        "tests/unit/queries/test_conditions.py",
        "test_what_would_count_something_else_is_refused",
    ),
    Mutant(
        "queries/grouping.py",
        "with_other = ref.attribute.has_other and bool(fulfilling(ref, name, wanted)[-1])",
        "with_other = False",
        "tests/unit/queries/test_conditions.py",
        "test_labels_say_what_is_counted",
    ),
    Mutant(
        "queries/sql/where.py",
        "negated(wanted if names_it else either([wanted, (OTHER,)]))",
        "negated(wanted)",
        "tests/unit/queries/test_sql_rows.py",
        "test_conditions_that_are_taken_keep_the_rows_that_duckdb_keeps",
    ),
    Mutant(
        "queries/sql/where.py",
        "left, right, sign = right, left, _MIRRORED[sign]",
        "left, right, sign = right, left, sign",
        "tests/unit/queries/test_sql_rows.py",
        "test_conditions_that_are_taken_keep_the_rows_that_duckdb_keeps",
    ),
    Mutant(
        "queries/sql/where.py",
        "if ref.counts_more:",
        "if False:",
        "tests/unit/queries/test_sql_refused.py",
        "test_what_is_not_understood_is_refused_with_a_word_or_a_remedy",
    ),
    Mutant(
        "queries/sql/sql_text.py",
        "if extra:\n            words",
        "if False:\n            words",
        "tests/unit/queries/test_sql_refused.py",
        "test_what_is_not_understood_is_refused_with_a_word_or_a_remedy",
    ),
    Mutant(
        "queries/sql/sql_text.py",
        "if between.strip():",
        "if False:",
        "tests/unit/queries/test_sql_refused.py",
        "test_what_is_not_understood_is_refused_with_a_word_or_a_remedy",
    ),
    Mutant(
        "queries/sql/aggregates.py",
        "where=(*self.where, *Where(self.columns).conditions(kept.this))",
        "where=self.where",
        "tests/unit/queries/test_sql_rows.py",
        "test_filter_keeps_the_rows_that_it_keeps_in_duckdb",
    ),
    # soft tables, and what is worked out of several rows
    Mutant(
        "queries/kinds/quantiles.py",
        "heights: Ints = np.clip(ends - self.places(size, tick), 0, whole)",
        "heights: Ints = np.clip(ends - self.places(size, tick), 0, 2 * whole)",
        "tests/unit/queries/test_derived_queries.py",
        "test_soft_borders_add_up_and_are_what_they_say",
    ),
    # maps
    Mutant(
        "queries/kinds/maps.py",
        "amount[here] = (np.multiply.outer(mine, theirs).ravel() + (STEPS >> 1)) >> BITS",
        "amount[here] = (np.multiply.outer(mine, theirs).ravel()) >> BITS",
        "tests/maps/test_map_costs.py",
        "test_no_pair_loses_more_than_a_map_is_charged_for_and_it_is_verified",
    ),
    Mutant(
        "queries/kinds/soft_regions.py",
        "chosen = np.where(squares == least[:, None], near, len(spots)).min(axis=1)",
        "chosen = near[:, 0]",
        "tests/maps/test_map_queries.py",
        "test_ties_go_to_the_place_that_is_listed_first",
    ),
)
