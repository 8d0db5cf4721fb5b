"""File formats: their versions, canonical JSON, safe reading and writing.

In reading order: `canonical`, `file_access`.
"""
