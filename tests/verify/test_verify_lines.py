"""The verifier leaves out values that lie between others, or that others stand for: against all pairs, in fractions."""

import random
from fractions import Fraction

import pytest

from contracts.by_all_pairs import check, read
from contracts.line_models import asked, one_distance_each, towns, universe
from dxprivacy.metrics import Constant
from dxprivacy.verify import directions


def scales_of(rng, rows):
    alike = [rng.choice([1.0, 3.5, 40.0])] * rows
    return alike if rng.random() < 0.5 else [s * rng.choice([1.0, 0.25, 7.0]) for s in alike]


@pytest.mark.parametrize("many", [1_500, 0])
@pytest.mark.parametrize("seed", range(60))
def test_along_attributes_of_one_distance(monkeypatch, seed, many):
    monkeypatch.setattr(directions, "_MANY_VALUES", many)
    rng = random.Random(f"along {seed}")
    metric = one_distance_each(rng)
    questions = asked(rng)
    scales = scales_of(rng, questions.on(metric.universe).rows)
    check(*read(questions, metric, scales, choose=rng.random() < 0.2))


@pytest.mark.parametrize("seed", range(60))
def test_values_for_which_others_stand(monkeypatch, seed):
    monkeypatch.setattr(directions, "_MANY_VALUES", 0)
    rng = random.Random(f"towns {seed}")
    metric, questions = towns(rng)
    workload = questions.on(metric.universe)
    scales = [rng.choice([0.3, 1.0, 20.0]) for _ in workload.blocks]
    check(*read(questions, metric, [scales[b] for b in workload.block_of.tolist()]))


@pytest.mark.parametrize("seed", range(60))
def test_under_one_distance_for_all_records(seed):
    rng = random.Random(f"everywhere {seed}")
    metric = Constant(universe(rng), Fraction(rng.randint(1, 5), 3))
    questions = asked(rng)
    scales = scales_of(rng, questions.on(metric.universe).rows)
    check(*read(questions, metric, scales))
