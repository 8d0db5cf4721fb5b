"""SmallDB: a small database selected by the exponential mechanism.

In reading order: `routes`, `database_samplers`, `smalldb_facts`, `run`, `as_histogram`, `plan`, `smalldb_by_hand`.
"""
