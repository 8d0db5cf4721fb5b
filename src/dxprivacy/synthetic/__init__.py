"""From a histogram to synthetic records, their files and their report.

In reading order: `controlled_rounding`, `synthetic_records`, `synthesis_report`.
"""
