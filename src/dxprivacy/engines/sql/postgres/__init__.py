"""PostgreSQL, which counts where the data lives.

In reading order: `postgres_failures`, `postgres_connection`, `postgres_dialect`, `postgres_tables`,
`postgres_source`.
"""
