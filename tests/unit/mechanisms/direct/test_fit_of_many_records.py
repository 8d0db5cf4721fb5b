"""A direct fit over many records converges or says that it did not; attributes not asked about do not count."""

import json

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import TooLarge
from dxprivacy.mechanisms.direct import run as direct_module
from dxprivacy.mechanisms.direct import weighted_fit
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.queries.asking import gather

SIZES = (6, 5, 4, 7, 3, 4, 5)


def policy_of(sizes=SIZES):
    parts = [f"[attributes.a{k}]\nintegers = [0, {n - 1}]\nepsilon = 1\nper = {n}\n" for k, n in enumerate(sizes)]
    return dx.Policy.parse('title = "T"\ndataset = "t"\n' + "".join(parts))


def correlated(universe, records, seed=0):
    """A table in which every attribute follows the first one."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, universe.shape[0], records)
    cell = np.zeros(records, dtype=np.int64)
    for size, stride in zip(universe.shape, universe.strides, strict=True):
        value = (first * size // universe.shape[0] + (rng.random(records) < 0.2)) % size
        cell += value * stride
    return np.bincount(cell, minlength=universe.cells).astype(np.float64)


@pytest.mark.parametrize("scales", [(5.0, 5.0), (2.0, 60.0)], ids=["alike", "unequal"])
def test_a_fit_over_many_records_explains_its_noisy_counts(scales):
    universe = policy_of().universe
    workload = gather("marginals 2").on(universe)
    rows, truth = Projection(workload), correlated(universe, 20_000)
    assert rows.cells * workload.rows > weighted_fit.SMALL
    rng = np.random.default_rng(1)
    scale = np.where(np.arange(workload.rows) % 2, *scales)
    noisy = np.rint(rows.answers(truth) + rng.laplace(0, scale))
    found = weighted_fit.fit(rows, noisy, 2 * scale**2, 20_000.0)
    assert found.converged
    assert found.y.sum() == pytest.approx(20_000)
    assert found.y.min() >= 0
    off = np.abs(rows.answers(found.y) - rows.answers(truth)) / scale
    assert off.mean() < 2
    assert (off <= 10).mean() > 0.99


def test_a_fit_that_does_not_converge_says_so(monkeypatch):
    policy = policy_of((6, 5, 4, 7, 3))
    truth = correlated(policy.universe, 20_000).astype(np.int64)
    plan = dx.plan("marginals 2", policy.metric, n_records=20_000, budget="100%")
    noisy = plan.counted.answer(truth)
    good = dx.fit_histogram(plan, noisy)
    assert good.fit["converged"]
    assert "misfit" in str(good)
    monkeypatch.setattr(weighted_fit, "MOST_STEPS", 3)
    monkeypatch.setattr(weighted_fit, "LEAST_STEPS", 3)
    monkeypatch.setattr(weighted_fit, "SMALL", 0)
    bad = dx.fit_histogram(plan, noisy)
    assert not bad.fit["converged"]
    assert "did not converge" in str(bad)


@pytest.fixture
def wide(tmp_path):
    """Fourteen attributes, of which two are asked about."""
    sizes = (5, 4) + (6,) * 12
    parts = [f"[attributes.a{k}]\nintegers = [0, {n - 1}]\nepsilon = 1\nper = {n}\n" for k, n in enumerate(sizes)]
    (tmp_path / "policy.toml").write_text('title = "T"\ndataset = "t"\n' + "".join(parts))
    rng = np.random.default_rng(0)
    rows = [",".join(str(rng.integers(0, n)) for n in sizes) for _ in range(500)]
    (tmp_path / "data.csv").write_text(",".join(f"a{k}" for k in range(14)) + "\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_attributes_that_are_not_asked_about_do_not_count(wide):
    session = dx.Session(wide / "policy.toml", wide / "data.csv", ledger=wide / "l.db", new_ledger=True)
    made = session.synthesize(session.plan_synthesis("count by a0, a1", budget="100%"))
    assert made.synthetic.universe.names == ("a0", "a1")
    assert made.records.number == 500
    path = made.records.save(wide / "s.csv")
    table = np.genfromtxt(path, delimiter=",", names=True)
    assert table.dtype.names == tuple(f"a{k}" for k in range(14))
    for k in range(2, 14):  # spread evenly
        assert np.bincount(table[f"a{k}"].astype(int), minlength=6).min() > 60
    report = json.loads(json.dumps(made.report.to_dict()))
    assert report["fit"]["converged"] is True
    assert report["inside"] >= 18


def test_what_is_too_large_names_the_number_the_limit_and_what_was_not_asked(wide, monkeypatch):
    monkeypatch.setattr(direct_module, "MOST_CELLS", 20)
    policy = dx.Policy.load(wide / "policy.toml")
    with pytest.raises(TooLarge) as refused:
        dx.plan_synthesis("count by a0, a1", policy.metric, n_records=500, method="direct")
    told = str(refused.value)
    assert "each of 30 possible records; at most 20 fit into memory" in told
    assert "No query asks about a2, a3" in told
