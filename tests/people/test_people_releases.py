"""Plans, releases, ledgers and files of people with several rows."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from people_cases import AGE, NoNoise, kept_by_hand, visits

import dxprivacy as dx
from contracts.unused_ledger import unused_ledger
from dxprivacy.errors import LedgerError, NotVerified, PolicyError, UsageError
from dxprivacy.formats.canonical import sealed
from dxprivacy.ledger import Ledger
from dxprivacy.verify import verify

POLICY = visits(AGE, max_rows=3)
ADD_REMOVE = 'neighbors = "add-remove"\nepsilon_presence = 1\n'
PEOPLE = 250


def rows():
    rng = np.random.default_rng(4)
    return [
        (f"p{k}", rng.choice(["A", "B", "?"]), int(rng.integers(0, 11))) for k in range(PEOPLE) for _ in range(k % 7)
    ]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("patient,ward,age\n" + "".join(f"{p},{w},{a}\n" for p, w, a in rows()))
    return path


@pytest.fixture
def policy():
    return dx.Policy.parse(POLICY)


def cells(policy):
    return policy.universe.index([{"ward": w, "age": a} for _, w, a in rows()]).tolist()


def test_a_release_answers_about_kept_rows(policy, data, tmp_path):
    with dx.Session(policy, data, ledger=tmp_path / "l.db", noise=NoNoise(), new_ledger=True) as session:
        plan = session.plan("count", "count by ward", "sum age", budget="50%")
        release = session.release(plan)
    mine = {}
    for (who, *_), cell in zip(rows(), cells(policy), strict=True):
        mine.setdefault(who, []).append(cell)
    kept = [cell for who, own in mine.items() for cell in kept_by_hand(who, own, 3).elements()]
    values = {row.label: row.value for row in release.answers}
    assert values["count"] == len(kept)
    assert values["A"] == sum(cell // 11 == 0 for cell in kept)
    assert values["sum age"] == sum(cell % 11 for cell in kept if cell % 11 < 10)
    assert release.records is None
    assert release.facts["people"] == len(mine) + 1  # and the one without a key
    assert f"({len(mine) + 1}) is treated as public" in release.guarantee[0]
    text = release.to_json() + release.to_csv() + str(release)
    assert "p249" not in text
    assert not re.search(rf"\b{len(rows())}\b", text)  # how many rows there are


def test_the_guarantee_is_about_whole_people(policy, data, tmp_path):
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan("count by ward", budget="100%")
        release = session.release(plan)
        told = session.ledger.between({"ward": "A"}, {"ward": "B"})
        assert session.ledger.worst_case() == pytest.approx(plan.worst_epsilon)
    assert told.allowed == 1.0
    assert told.spent == pytest.approx(1.0)
    assert told.left == pytest.approx(0.0, abs=1e-9)
    assert "for a whole person" in release.guarantee[2]
    assert "at most 3 rows of each person are kept" in release.guarantee[0]
    assert plan.scales == pytest.approx((6.0, 6.0))


@pytest.mark.parametrize("unit", ["replace", "add-remove"])
def test_files_are_verified_and_forged_ones_are_not(unit, data, tmp_path):
    more = 'neighbors = "add-remove"\nepsilon_presence = 2\nmax_people = 1000\n' if unit == "add-remove" else ""
    policy = dx.Policy.parse(POLICY.replace("[people]", f"{more}[people]", 1))
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan("count", "mean age by ward", budget="50%", n_records=400)
        release = session.release(plan)
        selection = session.select(session.plan_selection("most common ward"))
    plan.save(tmp_path / "plan.json"), release.save(tmp_path / "r.json"), selection.save(tmp_path / "c.json")
    assert list(verify(tmp_path / "plan.json"))
    assert list(verify(tmp_path / "r.json", ledger=tmp_path / "l.db"))
    assert list(verify(tmp_path / "c.json", ledger=tmp_path / "l.db"))
    given = json.loads((tmp_path / "r.json").read_text())
    assert ("people" in given) == (unit == "replace")
    forged = []
    if unit == "replace":
        forged.append({**given, "people": given["people"] + 1})
        forged.append({key: value for key, value in given.items() if key != "people"})
    else:
        forged.append({**given, "people": 250})
    forged.append({**given, "worst_case_epsilon": given["worst_case_epsilon"] / 3})
    forged.append({**given, "scales": [float.hex(float.fromhex(s) / 2) for s in given["scales"]]})
    one_row = json.loads(json.dumps(given))
    one_row["universe"]["attributes"][-1]["max_rows"] = 1
    forged.append(one_row)
    for k, data_ in enumerate(forged):
        path = tmp_path / f"forged-{k}.json"
        path.write_text(json.dumps(sealed({key: value for key, value in data_.items() if key != "seal"})))
        with pytest.raises(NotVerified):
            assert list(verify(path))


def test_whose_rows_they_are_is_fixed_for_a_ledgers_life(policy, tmp_path):
    unused_ledger(tmp_path / "l.db", policy).close()

    def adopt(text):
        with Ledger.open(tmp_path / "l.db", policy) as ledger:
            return ledger.adopt(dx.Policy.parse(text), looser=True, dry_run=True)

    assert adopt(POLICY.replace("epsilon = 0.5", "epsilon = 0.4")).changed
    for other in (
        POLICY.replace("max_rows = 3", "max_rows = 4"),
        POLICY.replace('key = "patient"', 'key = "person"'),
        POLICY.replace("max_rows = 3", 'max_rows = 3\nno_key = "own"'),
        POLICY.replace('[people]\nkey = "patient"\nmax_rows = 3\n', ""),
    ):
        with pytest.raises(PolicyError, match="people cannot change"):
            adopt(other)
    for other in (POLICY.replace("[0, 9]", "[0, 10]"), POLICY.replace('["A", "B"]', '["B", "A"]')):
        with pytest.raises(PolicyError, match="decide which rows are kept"):
            adopt(other)
    plain = dx.Policy.parse(POLICY.replace('[people]\nkey = "patient"\nmax_rows = 3\n', "").replace("visits", "other"))
    unused_ledger(tmp_path / "o.db", plain).close()
    with Ledger.open(tmp_path / "o.db", plain) as ledger, pytest.raises((PolicyError, LedgerError)):
        ledger.adopt(dx.Policy.parse(POLICY.replace('"visits"', '"other"')), looser=True)


def test_a_ledger_alone_knows_its_people(policy, data, tmp_path):
    from dxprivacy.ledger.adoption import stored_policy

    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        session.plan("count by ward").save(tmp_path / "plan.json")
        session.release(session.plan("count by ward", budget="20%"))
    stored = stored_policy(tmp_path / "l.db")
    assert stored.universe.people == policy.universe.people
    assert stored.of_people.exact(0, 12) == policy.of_people.exact(0, 12)
    with dx.Session(stored, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        assert session.release(session.load_plan(tmp_path / "plan.json")).facts["people"] > 200


def test_a_ledger_refuses_what_one_row_too_many_would_tell(policy, data, tmp_path):
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        session.release(session.plan("count by ward", budget="60%"))
        with pytest.raises(dx.errors.BudgetExceeded, match=r"A – B has 0.4 left of 1; this plan needs 0.6"):
            session.release(session.plan("count by ward", budget="60%"), request="again")


def test_plans_without_data_are_for_so_many_people(policy):
    from dxprivacy.cli.options import assumed_records

    assert assumed_records(policy.universe, None, 100) == 300
    assert assumed_records(policy.universe, 120, 100) == 120
    plain = dx.Policy.parse(POLICY.replace('[people]\nkey = "patient"\nmax_rows = 3\n', ""))
    with pytest.raises(UsageError, match="--people is for policies of people"):
        assumed_records(plain.universe, None, 100)


def test_means_say_what_they_are_for(policy, data, tmp_path):
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        most, guess = session.plan("mean age", budget="100%"), session.plan("mean age", budget="100%", n_records=300)
    assert most.errors[0].half_width < guess.errors[0].half_width
    assert "errors are for 300 records" in str(guess)


def test_a_policy_with_nothing_finite_has_nowhere_to_put_a_missing_row():
    text = POLICY.replace("epsilon = 1.0", "epsilon = inf").replace("epsilon = 0.5\nper = 1", "epsilon = inf\nper = 1")
    with pytest.raises(PolicyError, match="no two rows are at a finite distance"):
        dx.Policy.parse(text)
    given = dx.Policy.parse(text.replace("[people]", "epsilon_presence = 0.5\n[people]", 1))
    assert given.of_people.exact(0, 12) == 1


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ("[people]\nmax_rows = 3\n", "people needs a key"),
        ('[people]\nkey = ""\nmax_rows = 3\n', "name of a column"),
        ('[people]\nkey = 7\nmax_rows = 3\n', "name of a column"),
        ("[people]\nkey = []\nmax_rows = 3\n", "people needs a key"),
        ('[people]\nkey = ["a", "a"]\nmax_rows = 3\n', "twice"),
        ('[people]\nkey = "a"\n', "people needs max_rows"),
        *(
            (f'[people]\nkey = "a"\nmax_rows = {m}\n', "max_rows is")
            for m in ("0", "-1", "1.5", "true", "100001", '"3"')
        ),
        ('[people]\nkey = "a"\nmax_rows = "…"\n', "not filled in"),
        ('[people]\nkey = "a"\nmax_rows = 3\nno_key = "none"\n', "no_key is"),
        ('[people]\nkey = "a"\nmax_rows = 3\nkeys = "b"\n', "keys"),
        ('max_people = 5\n[people]\nkey = "a"\nmax_rows = 3\n', "max_people means nothing"),
        ('max_records = 5\n[people]\nkey = "a"\nmax_rows = 3\n', "max_records means nothing"),
        (f'{ADD_REMOVE}max_records = 9\n[people]\nkey = "a"\nmax_rows = 3\n', "max_p"),
        ('neighbors = "add-remove"\nepsilon_presence = 1\n[people]\nkey = "a"\nmax_rows = 3\n', "needs max_people"),
        ('epsilon_presence = 0\n[people]\nkey = "a"\nmax_rows = 3\n', "positive and finite"),
        ('[people]\nkey = "a"\nmax_rows = 100000\n[attributes.x]\nvalues = ["q"]\nepsilon = 0.00001\n', "it must be"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_its_line(people, words):
    with pytest.raises(PolicyError, match=words):
        dx.Policy.parse(POLICY.replace('[people]\nkey = "patient"\nmax_rows = 3\n', people, 1))


def test_a_share_of_what_a_row_has_is_that_of_a_person(policy):
    plan = dx.plan(["count by ward"], policy.metric, budget="25%", n_records=10)
    assert plan.certificate.ratio == Fraction(1, 4)
    assert plan.worst_epsilon == pytest.approx(0.25)


def test_synthetic_rows_are_made_beside_people(policy, data, tmp_path):
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        made = session.synthesize(session.plan_synthesis("count by ward", "count by age", budget="100%"))
        assert made.synthetic.records is None
        assert 0 < made.records.number <= session.n_records
        assert "for a whole person" in made.guarantee[2]
