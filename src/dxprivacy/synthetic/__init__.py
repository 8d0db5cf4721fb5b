"""Synthetic records: from a histogram to whole records, their files, and how well they tell what was released."""
