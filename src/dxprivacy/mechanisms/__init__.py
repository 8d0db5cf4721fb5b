"""Mechanisms: everything that spends.  Each is a folder: how it is planned, what it costs, how it is carried out."""
