"""PostgreSQL: one table of a server, counted where it is."""
