"""Exact numbers, arrays, and the grid on which answers are integers.

In reading order: `arrays`, `rounding`, `answer_grid`, `normal`.
"""
