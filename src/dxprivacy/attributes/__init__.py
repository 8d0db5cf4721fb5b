"""Attributes: the columns of the possible records, a file for each kind."""
