"""A second table, with an entry for each person: joined by key, `other` where there is not exactly one."""

import itertools
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from people_cases import SEX, NoNoise, apart, kept_by_hand, visits

import dxprivacy as dx
from contracts.unused_ledger import unused_ledger
from dxprivacy.errors import DataError, PolicyError
from dxprivacy.privacy.people_costs import most_groups
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.verify import verify

BORN = '[attributes.born]\nfrom = "person"\ncolumn = "year"\nintegers = [1950, 1953]\nepsilon = 0.3\nper = 1\n'
POLICY = visits(SEX, BORN, max_rows=2, table=True)
PATIENTS = "id,sex,year\np1,F,1950\np2,M,1953\np3,F,1951\np3,F,1951\np4,?,1952\n,M,1950\n"
VISITS = [
    ("p1", "A"),
    ("p1", "A"),
    ("p1", "B"),
    ("p2", "B"),
    ("p3", "A"),
    ("p4", "A"),
    ("p5", "B"),
    ("", "A"),
    ("", "B"),
]


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "policy.toml").write_text(POLICY)
    return dx.Policy.load(tmp_path / "policy.toml")


@pytest.fixture(params=["csv", "parquet", "frame"])
def data(request, tmp_path):
    frame = pl.DataFrame(VISITS, schema=["patient", "ward"], orient="row")
    if request.param == "frame":
        return frame
    path = tmp_path / f"visits.{request.param}"
    frame.write_csv(path) if request.param == "csv" else frame.write_parquet(path)
    return path


def expected():
    """Kept rows as (ward, sex, born), person by person; a person without exactly one entry is `other` there."""
    known = {"p1": (0, 0), "p2": (1, 3), "p4": (2, 2)}  # p3 stands there twice, p5 not at all; nobody has no key
    people = {}
    for who, ward in VISITS:
        people.setdefault(who, []).append("AB".find(ward))
    return {
        who: Counter({(w, *known.get(who, (2, 4))): n for w, n in kept_by_hand(who, wards, 2).items()})
        for who, wards in people.items()
    }


def test_each_row_gets_what_is_known_of_its_person(policy, data, tmp_path):
    people = expected()
    with dx.Session(policy, data, ledger=tmp_path / "l.db", noise=NoNoise(), new_ledger=True) as session:
        plan = session.plan(
            "table ward by sex",
            "count where sex=other",
            "count people by sex",
            "count people where born=1950",
            budget="50%",
        )
        release = session.release(plan, anyway=True)
        assert release.facts["people"] == len(people)  # one of them without a key
    rows = Counter()
    for cells in people.values():
        rows.update(cells)
    values = [answer.value for answer in release.answers]
    table = [sum(n for (w, s, _), n in rows.items() if (w, s) == (ward, sex)) for ward in range(2) for sex in range(2)]
    other = sum(n for (_, s, _), n in rows.items() if s == 2)
    by_sex = [sum(any(s == sex for _, s, _ in cells) for cells in people.values()) for sex in range(2)]
    oldest = sum(any(b == 0 for *_, b in cells) for cells in people.values())
    assert values == [*table, other, *by_sex, oldest]


def test_which_rows_are_kept_does_not_depend_on_the_table_of_people(policy, data, tmp_path):
    def wards(text):
        (tmp_path / "patients.csv").write_text(text)
        with dx.Session(policy, data, ledger=tmp_path / f"{len(text)}.db", noise=NoNoise(), new_ledger=True) as session:
            return [a.value for a in session.release(session.plan("count by ward", budget="50%"), anyway=True).answers]

    assert wards(PATIENTS) == wards("id,sex,year\np1,M,1953\n")


def test_people_are_in_one_group_of_their_own_attributes(policy):
    own = parse("count people by sex, born").on(policy.universe).proportional[0][0]
    mixed = parse("count people by sex, ward").on(policy.universe).proportional[0][0]
    where = parse("count people by sex where ward=A").on(policy.universe).proportional[0][0]
    assert (most_groups(own), most_groups(mixed), most_groups(where)) == (2, 4, 2)
    plan = dx.plan(["count people by born"], policy.metric, budget="100%", n_records=100)
    assert max(plan.scales) == pytest.approx(2 / 0.3)


@pytest.mark.parametrize("seed", range(40))
def test_no_two_people_are_told_apart_by_more_than_was_guaranteed(policy, seed):
    rng = random.Random(seed)
    texts = ["count people by sex", "count people by ward", "count people by sex, ward", "count by ward", "count",
             "count people by born where ward=A", "sum born where ward=B", "count by sex, born"]  # fmt: skip
    plan = dx.plan(rng.sample(texts, rng.choice([1, 2, 3])), policy.metric, budget="100%", n_records=10)
    columns = np.vstack([b.columns(np.arange(policy.universe.cells)) for b in plan.workload.blocks])
    told, scales = plan.workload.in_proportional, [Fraction(s) for s in plan.scales]
    cells = {(w, s, b): (w * 3 + s) * 5 + b for w in range(3) for s in range(3) for b in range(5)}

    def person():
        own = rng.randrange(3), rng.randrange(5)
        return Counter(cells[(rng.randrange(3), *own)] for _ in range(rng.randrange(3)))

    for _ in range(60):
        x, y = person(), person()
        totals = [columns[:, sorted(z.elements())].sum(axis=1) for z in (x, y)]
        ax, ay = (np.where(told, np.minimum(total, 1), total) for total in totals)
        loss = sum((Fraction(abs(int(d))) / s for d, s in zip(ax - ay, scales, strict=True) if d), Fraction(0))
        assert loss <= apart(policy.of_people, x, y, 2)[1]


def test_files_are_verified(policy, data, tmp_path):
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(session.plan("count people by born", "mean born", budget="50%"), anyway=True)
        release.save(tmp_path / "r.json")
    assert list(verify(tmp_path / "r.json", ledger=tmp_path / "l.db"))


def test_a_ledger_alone_does_not_know_where_the_table_lies(policy, data, tmp_path):
    from dxprivacy.ledger.adoption import stored_policy

    unused_ledger(tmp_path / "l.db", policy).close()
    with pytest.raises(DataError, match="the table of people is not given"):
        dx.Session(stored_policy(tmp_path / "l.db"), data, ledger=tmp_path / "l.db", new_ledger=True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('data = "patients.csv"\n', "", "people.table needs data"),
        ('data = "patients.csv"', "data = 3", "people.table needs data"),
        ('key = "id"', 'key = ["id", "site"]', "the key has 1 columns, and 2"),
        ('key = "id"', 'keys = "id"', "keys"),
        ('[people.table]\ndata = "patients.csv"\nkey = "id"\n', "", "the policy has no table of people"),
        ('from = "person"', 'from = "somebody"', "from is “person” or “row”"),
        ('column = "year"', 'column = "id"', "reads id, which is the key of people"),
        ('[attributes.ward]\nvalues = ["A", "B"]\nepsilon = 1.0\n', "", "and the rows the others"),
    ],
)
def test_what_makes_no_sense_is_refused(old, new, words):
    with pytest.raises(PolicyError, match=words):
        dx.Policy.parse(POLICY.replace(old, new))


def test_a_table_that_does_not_fit_is_refused_before_anything_is_read(policy, data, tmp_path):
    for text, words in (("id,sex\np1,F\n", "no column “year”"), ("who,sex,year\np1,F,1950\n", "no column “id”")):
        (tmp_path / "patients.csv").write_text(text)
        with pytest.raises(DataError, match=words):
            dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True)
    (tmp_path / "patients.csv").unlink()
    with pytest.raises(DataError, match="no such file"):
        dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True)
    assert not (tmp_path / "l.db").exists()


def test_matching_is_of_keys_exactly(policy, tmp_path):
    (tmp_path / "patients.csv").write_text("id,sex,year\nP1,F,1950\np1 ,F,1950\n")
    frame = pl.DataFrame([("p1", "A")], schema=["patient", "ward"], orient="row")
    with dx.Session(policy, frame, ledger=tmp_path / "l.db", noise=NoNoise(), new_ledger=True) as session:
        plan = session.plan("count where sex=other", "count where sex=F", budget="50%")
        assert [a.value for a in session.release(plan, anyway=True).answers] == [1, 0]
    assert list(itertools.islice(policy.universe.people.table.attributes, 2)) == ["sex", "born"]
