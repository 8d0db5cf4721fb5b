"""What can fail from public numbers fails before anything is spent: the text is made once, from invented counts."""

from dataclasses import replace

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import LedgerError
from dxprivacy.privacy.certificate import Certificate

POLICY = """
title = "Rehearsed"
dataset = "tried in a dry run"
[attributes.town]
values = [{towns}]
epsilon = {{ {epsilons} }}
"""
TOWNS = [f"t{k}" for k in range(40)]


@pytest.fixture
def session(tmp_path):
    towns = ", ".join(f'"{t}"' for t in TOWNS)
    epsilons = ", ".join(f"{t} = {0.1 + 0.01 * k:.2f}" for k, t in enumerate(TOWNS))
    (tmp_path / "people.csv").write_text("town\n" + "".join(f"{t}\n" for t in TOWNS * 5))
    policy = dx.Policy.parse(POLICY.format(towns=towns, epsilons=epsilons))
    with dx.Session(policy, tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True) as opened:
        yield opened


def many_rows(session, rows=350):
    """A plan whose scales have nothing in common, so that the sum of their inverses has all their digits."""
    rng = np.random.default_rng(1)
    plan = session.plan(dx.matrix(rng.integers(0, 2, (rows, session.policy.universe.cells))), method="same-scale")
    return replace(plan, scales=tuple((np.array(plan.scales) * rng.uniform(1.6, 2, rows)).tolist()))


def test_a_ratio_of_thousands_of_digits_is_released(session):
    plan = many_rows(session)
    assert plan.certificate.ratio.denominator.bit_length() > 4300 * np.log2(10) / 3
    assert len(session.release(plan, anyway=True).rows()) == 350


BROKEN = {
    "notes": "dxprivacy.mechanisms.linear.release_answers.notes",
    "guarantee": "dxprivacy.mechanisms.linear.release_answers.guarantee",
    "certificate": "dxprivacy.privacy.certificate.Certificate.to_dict",
    "text": "dxprivacy.releases.release.Release.to_json",
    "table": "dxprivacy.releases.release.Release.to_csv",
    "intervals": "dxprivacy.mechanisms.linear.plan.Plan.interval",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_whatever_breaks_the_text_breaks_it_before_anything_is_spent(session, broken, monkeypatch):
    plan = session.plan("count by town", budget="10%", method="same-scale")

    def fail(*_, **__):
        raise ValueError("Exceeds the limit (4300 digits) for integer string conversion")

    with monkeypatch.context() as patched:
        patched.setattr(broken, fail)
        with pytest.raises(ValueError, match="4300"):
            session.release(plan, anyway=True)
    assert session.ledger.entries() == []
    assert session.release(plan, anyway=True).rows()


@pytest.mark.parametrize("broken", ["guarantee_of", "SelectionRelease.to_json"])
def test_a_choice_that_cannot_be_told_is_not_made(session, broken, monkeypatch):
    selection = session.plan_selection("most common town", budget="10%")

    def fail(*_, **__):
        raise ValueError("no text")

    with monkeypatch.context() as patched:
        patched.setattr(f"dxprivacy.mechanisms.selection.selection_release.{broken}", fail)
        with pytest.raises(ValueError, match="no text"):
            session.select(selection, anyway=True)
    assert session.ledger.entries() == []
    assert session.select(selection, anyway=True).chosen in (*TOWNS, "other")


def test_the_invented_counts_are_not_those_of_the_data(session, monkeypatch):
    monkeypatch.setattr(session.source, "count", lambda universe: pytest.fail("the data was counted"))
    monkeypatch.setattr(session.ledger, "reserve", lambda *_, **__: (_ for _ in ()).throw(LedgerError("stop")))
    with pytest.raises(LedgerError, match="stop"):
        session.release(session.plan("count by town", budget="10%", method="same-scale"), anyway=True)


def test_a_ledger_damaged_meanwhile_is_noticed_before_the_next_release(session):
    session.release(session.plan("count by town", budget="10%", method="same-scale"), anyway=True)
    path = session.ledger.path
    for file in (path, path.with_name(path.name + "-wal")):
        content = bytearray(file.read_bytes())
        at = content.find(b'"noisy": [')
        while at >= 0:
            content[at + 10 : at + 14] = b" 99,"
            at = content.find(b'"noisy": [', at + 1)
        file.write_bytes(bytes(content))
    with pytest.raises(LedgerError):
        session.release(session.plan("count", budget="10%"))


def test_certificates_are_shortened_upwards():
    from fractions import Fraction

    ratio = Fraction(3**3000 - 1, 3**3000)
    stated = Certificate(ratio, (0, 1), "line", "x").to_dict()["ratio"]
    assert Fraction(stated) >= ratio
    assert len(stated) < 400
