"""Ledgers that follow several versions of a policy: what can be compared is checked, the rest is left undecided."""

import json
import shutil
import sqlite3
from fractions import Fraction

import pytest

import dxprivacy as dx
from contracts.unused_ledger import unused_ledger
from dxprivacy.errors import NotVerified, Undecided
from dxprivacy.ledger import Ledger
from dxprivacy.verify import verify
from verify.test_verify_ledger import rechain, tamper

PEOPLE = "sex,age\n" + "".join(f"{'MF'[k % 2]},{k % 5}\n" for k in range(60))


def policy(epsilon="1.0", high=4, more=""):
    return dx.Policy.parse(
        f'title = "People"\ndataset = "verify-3"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = {epsilon}\n'
        f"[attributes.age]\nintegers = [0, {high}]\nepsilon = 0.5\nper = 1\n{more}"
    )


def release(folder, version, *queries, budget, name):
    with dx.Session(version, folder / "people.csv", ledger=folder / "ledger.db", new_ledger=True) as session:
        session.release(session.plan(*queries, budget=budget)).save(folder / name)


def adopt(folder, version):
    assert Ledger.adopting(folder / "ledger.db", version, looser=True).changed


def start(folder):
    (folder / "people.csv").write_text(PEOPLE)
    release(folder, policy(), "count by sex", budget="40%", name="first.json")
    return folder


@pytest.fixture(scope="module")
def same_records(tmp_path_factory):
    """Two versions over the same possible records, with releases under both."""
    folder = start(tmp_path_factory.mktemp("same"))
    adopt(folder, policy("2.0"))
    release(folder, policy("2.0"), "count by sex", "mean age", budget="70%", name="second.json")
    return folder


@pytest.fixture(scope="module")
def other_records(tmp_path_factory):
    """Two versions, the second with more possible records, with releases under both."""
    folder = start(tmp_path_factory.mktemp("other"))
    adopt(folder, policy(high=6))
    release(folder, policy(high=6), "count by sex", budget="30%", name="second.json")
    return folder


@pytest.mark.parametrize("name", ["first.json", "second.json"])
def test_costs_are_compared_over_versions_with_the_same_records(same_records, name):
    checks = {c.name: c.found for c in verify(same_records / name, same_records / "ledger.db")}
    number = 1 if name == "first.json" else 2
    assert checks["policy"].startswith(f"version {number} of 2")
    assert checks["budget"].startswith(f"at most {40 if number == 1 else 90} % of the policy, all {number} entries")
    assert "every one of the 2 versions" in checks["budget"]


@pytest.mark.parametrize("name", ["first.json", "second.json"])
def test_the_sum_over_versions_with_other_records_is_undecided_and_the_rest_holds(other_records, name):
    checks = verify(other_records / name, other_records / "ledger.db")
    assert "entry" in (check.name for check in checks)
    with pytest.raises(Undecided) as caught:
        list(checks)
    assert caught.value.where == "ledger budget"
    assert caught.value.exit_code == 9
    assert "1 of 2 costs" in caught.value.what


def test_nothing_has_to_be_carried_to_a_version_before_which_nothing_was_spent(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    unused_ledger(tmp_path / "ledger.db", policy()).close()
    adopt(tmp_path, policy(high=6))
    release(tmp_path, policy(high=6), "count by sex", budget="40%", name="r.json")
    assert [c.name for c in verify(tmp_path / "r.json", tmp_path / "ledger.db")][-1] == "budget"


def copied(folder, target):
    for file in folder.iterdir():
        shutil.copy(file, target / file.name)
    return target / "ledger.db"


def edit_content(ledger, seq, change):
    with sqlite3.connect(ledger) as database:
        (text,) = database.execute("SELECT content FROM journal WHERE seq = ?", (seq,)).fetchone()
        data = json.loads(text)
        change(data)
        database.execute("UPDATE journal SET content = ? WHERE seq = ?", (json.dumps(data, ensure_ascii=False), seq))
    database.close()
    rechain(ledger)


def smaller_share(data):
    ((row, budget),) = data["budgets"].items()
    data["budgets"] = {row: str(Fraction(budget) / 2)}


def larger_share(data):
    ((row, budget),) = data["budgets"].items()
    data["budgets"] = {row: str(Fraction(budget) * 2)}


def share_of_another_row(data):
    data["budgets"] = {"2": next(iter(data["budgets"].values()))}


def no_shares(data):
    data["budgets"] = {}


def another_unit(data):
    data["unit"] = "add-remove"


def another_metric(data):
    data["metric_spec"]["axes"][0]["epsilon"] = "3"


def another_universe(data):
    data["universe_spec"][0]["values"] = ["F", "M"]


def broken_recoding(data):
    data["recoded"] = {"sex": {"texts": {"M": "m"}, "column": ""}}


def more_members(data):
    data["note"] = "x"


@pytest.mark.parametrize(
    "change",
    [smaller_share, larger_share, share_of_another_row, no_shares, another_unit, another_metric, another_universe,
     broken_recoding, more_members],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("name", ["first.json", "second.json"])
def test_an_edited_version_with_a_new_chain_is_noticed(same_records, tmp_path, change, name):
    ledger = copied(same_records, tmp_path)
    tamper(ledger)
    edit_content(ledger, 5, change)
    with pytest.raises(NotVerified) as caught:
        list(verify(tmp_path / name, ledger))
    assert "row 5" in str(caught.value)


def test_a_recoding_that_was_never_declared_makes_the_sum_undecided(same_records, tmp_path):
    ledger = copied(same_records, tmp_path)
    tamper(ledger)
    edit_content(ledger, 5, lambda data: data.update(recoded={"sex": {"texts": {"M": ["m"]}, "column": ""}}))
    with pytest.raises(Undecided):
        list(verify(tmp_path / "second.json", ledger))


def test_a_release_belongs_to_the_version_that_it_names(same_records, tmp_path):
    """Its entry moved in front of the version under which it was planned, with a new chain."""
    ledger = copied(same_records, tmp_path)
    tamper(
        ledger,
        "UPDATE journal SET seq = 100 WHERE seq = 5",
        "UPDATE journal SET seq = seq - 1 WHERE seq IN (6, 7)",
        "UPDATE journal SET seq = 7 WHERE seq = 100",
    )
    edit_content(ledger, 7, lambda data: data["budgets"].update({"5": "1/2"}))
    with pytest.raises(NotVerified, match="another version of it"):
        list(verify(tmp_path / "second.json", ledger))


def test_more_spent_than_the_new_version_allows_is_noticed(same_records, tmp_path):
    """The entry of the first version twice more, each with right digests, body and fractions of either version."""
    ledger = copied(same_records, tmp_path)
    tamper(ledger)
    with sqlite3.connect(ledger) as database:
        row = database.execute("SELECT body, content, at FROM journal WHERE seq = 3").fetchone()
        database.execute("UPDATE journal SET seq = seq + 100 WHERE seq >= 5")
        for k in (5, 6):
            database.execute("INSERT INTO journal VALUES (?, 'reserve', ?, ?, ?, ?, '', '')", (k, f"again {k}", *row))
        for k in (5, 6, 7):
            database.execute("UPDATE journal SET seq = ? WHERE seq = ?", (k + 2, k + 100))
    database.close()

    def budgets(data):
        (budget,) = data["budgets"].values()
        data["budgets"] = dict.fromkeys(("3", "5", "6"), budget)

    edit_content(ledger, 7, budgets)
    with pytest.raises(NotVerified, match="more was spent"):
        list(verify(tmp_path / "first.json", ledger))
