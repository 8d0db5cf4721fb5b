"""Bugs of `histogram`."""

from mutants.planting import Mutant

HISTOGRAM = (
    Mutant(
        "histogram.py",
        '{self.universe.size:,} cells, counts hidden)"',
        '{self.universe.size:,} cells, {self.counts})"',
        "tests/engines/test_engine_histogram.py",
        "test_its_text_hides_the_counts",
    ),
)
