"""Bugs of `ledger`."""

from mutants.planting import Mutant

LEDGER = (
    # what is remembered
    Mutant(
        "ledger/budget.py",
        "    if bound.upper <= 1:\n        return\n    before",
        "    if bound.lower <= 1:\n        return\n    before",
        "tests/oracle/test_loose_bounds.py",
        "test_a_ledger_refuses_what_only_its_lower_bound_would_allow",
    ),
    Mutant(
        "ledger/budget.py",
        "return round_share(Fraction(bound.upper))",
        "return round_share(Fraction(bound.lower))",
        "tests/oracle/test_loose_bounds.py",
        "test_a_share_in_a_ledger_is_the_upper_bound",
    ),
    Mutant(
        "ledger/budget.py",
        "math.ceil(share * SHARE_GRID)",
        "math.floor(share * SHARE_GRID)",
        "tests/unit/exact/test_rounding_directions.py",
        "test_shares_round_up_to_their_grid",
    ),
    Mutant(
        "ledger/budget.py",
        "total = SumCost(metric.universe, [*spent, new])",
        "total = SumCost(metric.universe, [*spent[1:], new])",
        "tests/ledger/test_ledger_budget.py",
        "test_a_question_about_one_attribute_leaves_the_other_untouched",
    ),
    Mutant(
        "ledger/budget.py",
        "if entry.share >= share * (1 - _SHARE_ROOM):",
        "if True:",
        "tests/ledger/test_forged_ledger.py",
        "test_a_stored_share_that_does_not_follow_from_its_entry_is_refused",
    ),
    Mutant(
        "ledger/adoption.py",
        "    if bound.upper <= 1:",
        "    if bound.lower <= 1:",
        "tests/oracle/test_loose_bounds.py",
        "test_a_new_version_is_refused_where_only_the_lower_bound_fits",
    ),
    Mutant(
        "ledger/adoption.py",
        "max_ratio(cost, metric).upper))",
        "max_ratio(cost, metric).lower))",
        "tests/oracle/test_loose_bounds.py",
        "test_a_share_under_a_new_version_is_the_upper_bound",
    ),
    Mutant(
        "ledger/adoption.py",
        "if made[0].looser and not looser:",
        "if False:",
        "tests/trust/test_who_decides.py",
        "test_a_version_that_lets_anybody_be_told_apart_more_easily_needs_a_word",
    ),
    Mutant(
        "ledger/witness.py",
        '                raise OSError(errno.ENOSPC, "short write")  # the next writer finds a torn line and mends it\n            _flush(file)',
        '                raise OSError(errno.ENOSPC, "short write")',
        "tests/ledger/test_forged_ledger.py",
        "test_every_line_of_the_witness_is_on_the_disk_before_anything_else_happens",
    ),
    Mutant(
        "ledger/ledger.py",
        "max_ratio(self.spent, self.metric).upper > 1:",
        "max_ratio(self.spent, self.metric).upper > 2:",
        "tests/ledger/test_forged_ledger.py",
        "test_a_ledger_in_which_more_was_reserved_than_the_policy_allows_is_not_verified",
    ),
    Mutant(
        "ledger/ledger.py",
        ".digest != cost.workload.digest:",
        ".rows != cost.workload.rows:",
        "tests/privacy/test_past_bugs.py",
        "test_a_cost_that_its_questions_do_not_describe_is_never_reserved",
    ),
    Mutant(
        "ledger/ledger.py",
        "            self._require_current()\n            before",
        "            before",
        "tests/ledger/test_policy_history.py",
        "test_a_ledger_opened_before_an_upgrade_spends_nothing_after_it",
    ),
    Mutant(
        "ledger/journal.py",
        "if not row.digest() == row.hash == known:",
        "if False:",
        "tests/ledger/test_forged_ledger.py",
        "test_an_answer_that_was_edited_under_an_open_journal_is_not_replayed",
    ),
    Mutant(
        "ledger/journal.py",
        "if row.digest() != row.hash:",
        "if False:",
        "tests/ledger/test_journal_tamper.py",
        "test_an_edited_column_is_refused_and_its_row_is_named",
    ),
    Mutant(
        "ledger/journal.py",
        "if row.previous != tip.hash:",
        "if False:",
        "tests/ledger/test_journal_tamper.py",
        "test_a_row_taken_out_with_the_rest_renumbered_is_noticed",
    ),
    Mutant(
        "ledger/journal.py",
        "if self._deciding == seen:",
        "if True:",
        "tests/ledger/test_journal_record.py",
        "test_a_decision_is_made_again_if_someone_else_reserved_in_the_meantime",
    ),
    Mutant(
        "ledger/journal.py",
        'self._sql("PRAGMA synchronous=FULL")',
        'self._sql("PRAGMA synchronous=OFF")',
        "tests/ledger/test_journal_record.py",
        "test_every_commit_waits_for_the_disk",
    ),
    Mutant(
        "ledger/history.py",
        "if body_of(cost, data) != row.body:",
        "if False:",
        "tests/ledger/test_forged_ledger.py",
        "test_a_row_whose_content_is_not_what_was_reserved_is_never_skipped",
    ),
    # what a policy declares about files and spellings
    Mutant(
        "ledger/upgrade.py",
        "if before.read_alike(after) and not moved:",
        "if before.read_alike(after):",
        "tests/unit/policy/test_file_table.py",
        "test_another_reading_is_adopted_only_where_nothing_was_spent",
    ),
    # people with several rows
    Mutant(
        "ledger/upgrade.py",
        '    if old != new:\n        raise PolicyError("attributes cannot change under [people]',
        '    if False:\n        raise PolicyError("attributes cannot change under [people]',
        "tests/people/test_people_releases.py",
        "test_whose_rows_they_are_is_fixed_for_a_ledgers_life",
    ),
    # changes that no test can notice, and why
    Mutant(
        "ledger/history.py",
        "if step.apart(entry.number, entry.cost):",
        "if False:",
        harmless="adoption refuses such a version, and the chain shows a row that was changed since; kept as a second look",
    ),
    # maps
    Mutant(
        "ledger/history.py",
        'return "map" if MAPS in cost.wholes else "people"',
        'return "people"',
        "tests/maps/test_map_questions.py",
        "test_a_ledger_with_a_map_is_verified",
    ),
)
