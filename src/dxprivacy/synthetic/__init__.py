"""Round a histogram to synthetic records, write their files, and report on them.

In reading order: `controlled_rounding`, `synthetic_records`, `synthesis_report`.
"""
