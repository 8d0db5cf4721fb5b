"""Spark: a DataFrame, a table of the catalogue or files, counted by the cluster that holds them."""
