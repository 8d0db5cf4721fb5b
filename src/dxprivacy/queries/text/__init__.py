"""Queries in words: the grammar, and how queries are written as words.

In reading order: `condition_grammar`, `written_names`, `query_grammar`, `selection_grammar`.
"""
