"""SmallDB: a small database selected by the exponential mechanism.

In reading order: `database_samplers`, `routes`, `smalldb_facts`, `run`, `as_histogram`, `plan`, `smalldb_by_hand`.
"""
