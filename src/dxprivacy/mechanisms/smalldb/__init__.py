"""SmallDB: a small database selected by the exponential mechanism.

In reading order: `drawn_database`, `routes`, `smalldb_bounds`, `compared_queries`, `smalldb_facts`, `answer_table`,
`enumeration`, `rejection`, `run`, `as_histogram`, `plan`, `smalldb_by_hand`.
"""
