"""Bugs of `engines`."""

from mutants.planting import Mutant

ENGINES = (
    # what is checked, read and rounded
    Mutant(
        "engines/duck/dialect.py",
        "return f\"TRY_CAST({self.inner(inner, name)} AS {'HUGEINT' if wide else 'BIGINT'})\"",
        "return f\"CAST({self.inner(inner, name)} AS {'HUGEINT' if wide else 'BIGINT'})\"",
        "tests/engines/test_expressions.py",
        "test_the_sql_of_duckdb_places_entries_where_the_expressions_do",
    ),
    # what a policy declares about files and spellings
    Mutant(
        "engines/csv_quoted.py",
        "if '\"' in record and not sound.fullmatch(record):",
        "if False:",
        "tests/engines/test_quoted_line_breaks.py",
        "test_any_other_file_is_refused_as_a_whole_without_a_word_of_it",
    ),
    Mutant(
        "engines/alike.py",
        "return Values(values=texts, spelling=spelling, **same)",
        "return Values(values=texts, **same)",
        "tests/engines/test_spelling.py",
        "test_a_kind_from_elsewhere_is_read_with_its_spelling_in_the_process_apart",
    ),
    Mutant(
        "engines/recoded.py",
        'self._decoder = codecs.getincrementaldecoder(codec)(errors="replace")',
        'self._decoder = codecs.getincrementaldecoder(codec)(errors="ignore")',
        "tests/engines/test_file_format.py",
        "test_a_byte_that_an_encoding_does_not_know_is_no_other_text",
    ),
    # people with several rows
    Mutant(
        "engines/keeping.py",
        "for time in range(1, int(self.counts[row]) + 1):",
        "for time in range(1, min(int(self.counts[row]), 3) + 1):",
        "tests/people/test_kept_rows.py",
        "test_rare_values_are_not_favoured_on_any_source",
    ),
    Mutant(
        "engines/keeping.py",
        "return named + 1  # counted even if there is none",
        "return named + int(NO_KEY in self.digests)",
        "tests/people/test_kept_rows.py",
        "test_the_person_without_a_key_is_counted_even_if_there_is_none",
    ),
    Mutant(
        "engines/duck/dialect.py",
        "arg_min({cell}, {self.md5(told)}, {at_most})",
        "arg_min({cell}, {cell}, {at_most})",
        "tests/people/test_kept_rows.py",
        "test_every_source_keeps_the_same_rows",
    ),
    Mutant(
        "engines/beside_people.py",
        "if entries[p] == 1}",
        "if entries[p] >= 1}",
        "tests/people/test_table_of_people.py",
        "test_each_row_gets_what_is_known_of_its_person",
    ),
    Mutant(
        "engines/beside_people.py",
        "once.pop(NO_KEY, None)",
        "pass",
        "tests/people/test_table_of_people.py",
        "test_each_row_gets_what_is_known_of_its_person",
    ),
    # values in an order, and rows that find their place by coordinates
    Mutant(
        "engines/nearest.py",
        "room = near[:, 0] + _CHORD if self.earth",
        "room = near[:, 0] - _CHORD if self.earth",
        "tests/engines/test_coordinates.py",
        "test_the_nearest_place_is_that_of_exact_distances_and_of_equal_ones_the_first",
    ),
    Mutant(
        "engines/nearest.py",
        "self._first[spot]))",
        "-self._first[spot]))",
        "tests/engines/test_coordinates.py",
        "test_one_place_alone_and_a_lattice_of_ties",
    ),
    Mutant(
        "engines/sql/query.py",
        " AND {d}.second = {_name('x', b)}",
        " AND {d}.second IS NOT NULL AND {_name('x', b)} IS NOT NULL",
        "tests/engines/test_coordinates.py",
        "test_every_source_finds_the_same_places",
    ),
    Mutant(
        "engines/sql/query.py",
        "* {read.codec.listed} +",
        "* {reads[0].codec.listed} +",
        "tests/engines/test_coordinates.py",
        "test_every_source_finds_the_same_places",
    ),
    # servers: what is asked of them, and what their answers mean
    Mutant(
        "engines/sql/query.py",
        'f"coalesce(CAST({self._index(mine)} AS BIGINT), {attribute.listed})"',
        'f"coalesce({self._index(mine)}, {attribute.listed})"',
        "tests/engines/test_postgres_entries.py",
        "test_every_entry_counts_where_the_reader_of_python_puts_it",
    ),
    Mutant(
        "engines/postgres/dialect.py",
        "WHEN {text} IS NOT NULL AND {place} <= 0 THEN 0 END",
        "WHEN {place} <= 0 THEN 0 END",
        "tests/engines/test_postgres_entries.py",
        "test_every_entry_counts_where_the_reader_of_python_puts_it",
    ),
    Mutant(
        "engines/postgres/dialect.py",
        "(CASE WHEN abs{left} < 1e-290 THEN sign{left} * 1e-290 ELSE {left} END)",
        "{left}",
        "tests/engines/test_postgres_entries.py",
        "test_every_entry_counts_where_the_reader_of_python_puts_it",
    ),
    Mutant(
        "engines/postgres/connection.py",
        '"search_path": "pg_catalog",',
        "",
        "tests/engines/test_postgres_entries.py",
        "test_settings_of_a_user_change_nothing",
    ),
    Mutant(
        "engines/postgres/connection.py",
        "REPEATABLE READ, READ ONLY",
        "REPEATABLE READ",
        "tests/engines/test_postgres_faults.py",
        "test_nothing_can_be_written_through_a_source",
    ),
    Mutant(
        "engines/postgres/tables.py",
        "    if filtered:\n",
        "    if False:\n",
        "tests/engines/test_postgres_tables.py",
        "test_row_level_security_never_hides_rows_silently",
    ),
    Mutant(
        "engines/postgres/tables.py",
        '    "v": "a view",\n',
        "",
        "tests/engines/test_postgres_tables.py",
        "test_views_are_refused_unless_their_rows_are_declared_records",
    ),
    Mutant(
        "engines/duck/query.py",
        "is_small = not by and packing",
        "is_small = packing",
        "tests/people/test_kept_rows.py",
        "test_every_source_keeps_the_same_rows",
    ),
    Mutant(
        "engines/spark/dialect.py",
        r'self.quoted(rf"\A(?:{pattern})\z")',
        r'self.quoted(rf"^(?:{pattern})$")',
        "tests/engines/test_spark_entries.py",
        "test_every_entry_counts_where_the_reader_of_python_puts_it",
    ),
    Mutant(
        "engines/spark/dialect.py",
        'f"CAST(minute({name}) AS BIGINT) * 60000000"',
        'f"minute({name}) * 60000000"',
        "tests/engines/test_spark_entries.py",
        "test_every_entry_counts_where_the_reader_of_python_puts_it",
    ),
    # changes that no test can notice, and why
    Mutant(
        "engines/placement.py",
        "return When(Both(IsFinite(value), Between(value, *bounds)), value)",
        "return When(Between(value, *bounds), value)",
        harmless="the engine of today orders NaN above all numbers, so that it is outside either way; kept for one that drops comparisons by statistics which leave NaN out",
    ),
)
