"""Exact numbers, arrays, and the grid on which answers are integers.

In reading order: `arrays`, `rounding`, `evenly`, `answer_grid`, `checked`, `frozen_values`, `lengths`, `normal`.
"""
