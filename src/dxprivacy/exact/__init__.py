"""Exact numbers, arrays, and the grid on which answers are integers.

In reading order: `rounding`, `arrays`, `answer_grid`, `normal`.
"""
