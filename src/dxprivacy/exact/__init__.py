"""Exact numbers, arrays and the grid on which answers are whole: what every other room reckons with."""
