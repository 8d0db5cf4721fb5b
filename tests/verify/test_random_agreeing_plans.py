"""Random plans with noise that is drawn together: certificates and errors are recomputed from the file alone."""

import itertools
import json

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.verify import verify_data


def random_plan(seed):
    """Two to four attributes of two to five values, under a sum, a largest, or one distance; tables and matrices."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, int(rng.integers(2, 5))).tolist()
    values = [tuple(f"v{k}" for k in range(n)) for n in sizes]
    whole = dx.Universe([dx.Values(name=f"a{a}", values=v, has_other=False) for a, v in enumerate(values)])
    epsilons = rng.choice([0.05, 0.2, 0.5, 1, 2, 5], len(sizes)).tolist()
    kind = ("sum", "sum", "one", "max")[seed % 4]
    if kind == "sum":
        metric = dx.metrics.attributes(whole, {f"a{a}": e for a, e in enumerate(epsilons)})
    elif kind == "one":
        metric = dx.metrics.constant(whole, epsilons[0])
    else:
        axes = [dx.metrics.constant(dx.Universe([a]), e) for a, e in zip(whole.attributes, epsilons, strict=True)]
        metric = AttributeMax(whole, axes)
    subsets = [s for r in (1, 2, 3) for s in itertools.combinations(range(len(sizes)), r)]
    some = [subsets[k] for k in rng.permutation(len(subsets))[: int(rng.integers(1, 5))]]
    if kind == "max":
        some = [(a,) for a in range(len(sizes))]
    asked = [f"count by {', '.join(f'a{a}' for a in s)}" for s in some]
    if seed % 5 == 4 and kind != "max":
        return dx.plan(dx.plan(asked, metric, method="optimal").workload.columns(np.arange(whole.cells)), metric)
    method = "k-norm" if seed % 3 else "auto"
    try:
        return dx.plan(asked, metric, method=method, budget="50%" if seed % 7 == 3 else "100%")
    except dx.errors.NotCertified:
        return dx.plan(asked, metric)


def checked(seed):
    plan = random_plan(seed)
    assert plan.certificate.ratio <= plan.budget
    assert list(verify_data(json.loads(json.dumps(plan.to_dict()))))
    return plan.measured.how


@pytest.mark.parametrize("seeds", mostly_slow([range(k, k + 8) for k in range(0, 32, 8)], slice(1, 3)))
def test_plans_are_verified(seeds):
    assert any(checked(seed) in ("k-norm", "block-max") for seed in seeds)


@pytest.mark.soak
@pytest.mark.parametrize("seeds", [range(k, k + 20) for k in range(32, 1032, 20)])
def test_a_thousand_plans_are_verified(seeds):
    assert any(checked(seed) in ("k-norm", "block-max") for seed in seeds)
