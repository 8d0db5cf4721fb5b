"""The table of people on a server or a cluster, beside rows that lie there or elsewhere: joined by the same keys."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from people_cases import NoNoise
from test_table_of_people import PATIENTS, POLICY, VISITS, expected
from test_table_of_people import test_each_row_gets_what_is_known_of_its_person as require_each_row_gets_its_own

import dxprivacy as dx
from dxprivacy.cli.given_files import command_line
from dxprivacy.errors import DataError
from engines.servers import postgres, spark

ROWS = {"patient": [who for who, _ in VISITS], "ward": [ward for _, ward in VISITS]}
LINES = [line.split(",") for line in PATIENTS.splitlines()[1:]]
PEOPLE = {"id": [x[0] for x in LINES], "sex": [x[1] for x in LINES], "year": [int(x[2]) for x in LINES]}


def placed(kind, columns, tmp_path):
    """A table somewhere; its address."""
    if kind == "postgres":
        declared = {name: "int" if name == "year" else "text" for name in columns}
        return postgres().table({name: (declared[name], column) for name, column in columns.items()})
    path = tmp_path / f"{next(iter(columns))}.parquet"
    pq.write_table(pa.table(columns), path)
    if kind == "parquet":
        return str(path)
    if kind == "spark files":
        return f"spark:{path}"
    session = spark()
    session.sql("CREATE DATABASE IF NOT EXISTS survey")
    name = f"survey.of_{next(iter(columns))}"
    session.read.parquet(str(path)).write.mode("overwrite").format("parquet").saveAsTable(name)
    return f"spark:{name}"


def policy_of(people, tmp_path, more=""):
    text = POLICY.replace('data = "patients.csv"', f"data = {json.dumps(people)}")
    assert people in text
    (tmp_path / "policy.toml").write_text(more + text)
    return dx.Policy.load(tmp_path / "policy.toml")


@pytest.mark.parametrize(
    ("rows", "people"),
    [
        ("postgres", "postgres"),
        ("parquet", "postgres"),
        ("postgres", "parquet"),
        *(
            pytest.param(rows, people, marks=pytest.mark.spark)
            for rows, people in (
                ("spark table", "spark table"),
                ("postgres", "spark files"),
                ("spark files", "postgres"),
            )
        ),
    ],
)
def test_each_row_gets_what_is_known_of_its_person_wherever_both_lie(rows, people, tmp_path):
    if "spark" in rows + people:
        spark()
    policy = policy_of(placed(people, PEOPLE, tmp_path), tmp_path)
    require_each_row_gets_its_own(policy, placed(rows, ROWS, tmp_path), tmp_path)


def test_what_is_dropped_before_a_release_costs_nothing(tmp_path):
    at = placed("postgres", PEOPLE, tmp_path)
    with dx.Session(
        policy_of(at, tmp_path), placed("postgres", ROWS, tmp_path), ledger=tmp_path / "l.db", new_ledger=True
    ) as session:
        plan = session.plan("table ward by sex", budget="50%")
        postgres().execute(f'ALTER TABLE "{at.rpartition("::")[2]}" DROP COLUMN sex')
        with pytest.raises(DataError, match="no column “sex”"):
            session.release(plan, anyway=True)
        assert not list(session.ledger.entries())


def test_a_view_of_people_needs_the_policys_word(tmp_path):
    server, rows = postgres(), placed("postgres", ROWS, tmp_path)
    at = placed("postgres", PEOPLE, tmp_path)
    table = at.rpartition("::")[2]
    server.execute(f'CREATE VIEW "seen_{table}" AS SELECT * FROM "{table}"')
    seen = at.replace(f"::{table}", f"::seen_{table}")
    with pytest.raises(DataError, match="is a view, not a table"):
        dx.Session(policy_of(seen, tmp_path), rows, ledger=tmp_path / "l.db", new_ledger=True)
    policy = policy_of(seen, tmp_path, "rows_are_records = true\n")
    with dx.Session(policy, rows, ledger=tmp_path / "l.db", noise=NoNoise(), new_ledger=True) as session:
        release = session.release(session.plan("count people by sex", budget="50%"), anyway=True)
    sexes = [{s for _, s, _ in cells} for cells in expected().values()]
    assert [answer.value for answer in release.answers] == [sum(k in found for found in sexes) for k in range(2)]


def test_a_password_in_the_policy_is_refused_and_not_shown(tmp_path):
    policy = policy_of("postgresql://anna:secret@host/db::patients", tmp_path)
    with pytest.raises(DataError, match="password") as caught:
        dx.Session(policy, placed("parquet", ROWS, tmp_path), ledger=tmp_path / "l.db", new_ledger=True)
    assert "secret" not in str(caught.value) + command_line()
