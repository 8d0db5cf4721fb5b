"""Bugs of `paper`."""

from mutants.planting import Mutant

PAPER = (
    Mutant(
        "paper/baselines/sampled.py",
        "ends = ((a, a - b), (b - a_other, -a_other))",
        "ends = ((a, a - b), (a, a - b))",
        "tests/privacy/test_baselines_distribution.py",
        "test_no_outcome_of_sampling_tells_more_than_its_cost_and_no_cost_more_than_the_metric",
    ),
    Mutant(
        "paper/baselines/sampled.py",
        "math.floor(part * (1 << BITS))",
        "math.ceil(part * (1 << BITS))",
        "tests/privacy/test_baselines_distribution.py",
        "test_rounded_probabilities_are_never_above_the_formula_and_close_to_it",
    ),
    Mutant(
        "paper/baselines/sampled.py",
        "self.given.workload.answer(sample)",
        "self.given.workload.answer(histogram)",
        "tests/paper/baselines/test_stretching_and_sampling.py",
        "test_errors_are_those_of_many_releases",
    ),
    Mutant(
        "paper/baselines/stretched.py",
        "self.certificate.require(at_most=self.budget)",
        "self.certificate.require(at_most=2 * self.budget)",
        "tests/paper/baselines/test_stretching_and_sampling.py",
        "test_scales_that_were_changed_afterwards_release_nothing",
    ),
)
