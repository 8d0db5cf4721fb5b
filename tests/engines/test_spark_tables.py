"""What Spark is asked: tables of its catalogue, files, frames; which of them have one row for each record."""

import logging
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dxprivacy as dx
from dxprivacy.engines import open_source
from dxprivacy.engines.spark.address import address
from dxprivacy.errors import DataError
from dxprivacy.model.file_format import FileFormat
from engines.servers import spark

SEX = dx.Universe([dx.Values(name="sex", values=("M", "F"))])
DECLARED = FileFormat(rows_are_records=True)
ROWS = [(1, "M"), (2, "F"), (3, "F"), (4, "secret-name")]


@pytest.fixture(scope="module")
def session():
    found = spark()
    found.sql("CREATE DATABASE IF NOT EXISTS survey")
    frame = found.createDataFrame(ROWS, "id int, sex string")
    frame.write.mode("overwrite").format("parquet").saveAsTable("survey.people")
    frame.write.mode("overwrite").format("csv").saveAsTable("survey.lines")
    frame.write.mode("overwrite").format("parquet").partitionBy("sex").saveAsTable("survey.parts")
    found.sql("CREATE OR REPLACE VIEW survey.seen AS SELECT * FROM survey.people")
    frame.createOrReplaceTempView("passing")
    found.sql("DROP TABLE IF EXISTS survey.padded")
    found.sql("CREATE TABLE survey.padded (sex CHAR(5), id INT) USING parquet")
    found.sql("INSERT INTO survey.padded VALUES ('M', 1), ('F', 2), (' M', 3)")
    return found


def counts(data, universe=SEX, **how):
    return open_source(data, **how).count(universe).counts.tolist()


@pytest.mark.spark
def test_a_table_of_the_catalogue_is_counted(session):
    assert counts("spark:survey.people") == [1, 2, 1]
    assert counts("spark:spark_catalog.survey.people") == [1, 2, 1]
    assert open_source("spark:survey.people").rows() == 4
    assert counts("spark:survey.parts") == [1, 2, 1]  # whose types are declared


@pytest.mark.spark
@pytest.mark.parametrize("table", ["survey.seen", "passing"])
def test_views_are_refused_unless_their_rows_are_declared_records(session, table):
    with pytest.raises(DataError, match="is a view, not a table"):
        open_source(f"spark:{table}")
    assert counts(f"spark:{table}", file=DECLARED) == [1, 2, 1]


@pytest.mark.spark
def test_tables_of_lines_are_refused_unless_declared(session):
    with pytest.raises(DataError, match="is a table of csv"):
        open_source("spark:survey.lines")
    assert counts("spark:survey.lines", file=DECLARED) == [1, 2, 1]


@pytest.mark.spark
def test_columns_may_be_called_as_the_catalogue_calls_its_own(session):
    session.sql("DROP TABLE IF EXISTS survey.named")
    session.sql("CREATE TABLE survey.named (sex STRING, Provider STRING, Type STRING) USING parquet")
    assert counts("spark:survey.named") == [0, 0, 0]


@pytest.mark.spark
def test_blanks_that_fill_up_a_char_are_no_part_of_its_entry(session):
    padded = dx.Universe([dx.Values(name="sex", values=("M", "F", " M"))])
    assert counts("spark:survey.padded", padded) == [1, 1, 1, 0]


@pytest.mark.spark
def test_files_below_a_path_are_counted_without_columns_from_their_directories(session, tmp_path):
    for part in ("sex=M", "sex=F"):
        (tmp_path / "people.parquet" / part).mkdir(parents=True)
        pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "people.parquet" / part / "a.parquet")
    source = open_source(f"spark:{tmp_path}/people.parquet/")
    assert [column.name for column in source.columns()] == ["id"]
    assert source.rows() == 4
    with pytest.raises(DataError, match="no column “sex”"):
        source.check(SEX)
    for ending in ("csv", "json", "csv.gz"):
        with pytest.raises(DataError, match="Parquet and ORC only"):
            open_source(f"spark:{tmp_path}/people.{ending}")


@pytest.mark.spark
def test_a_frame_is_counted_whatever_its_columns_are_called(session):
    frame = session.createDataFrame([("M", "F", 1)], "`SEX` string, `a.b ``c` string, `sex ` int")
    source = open_source(frame)
    assert [column.name for column in source.columns()] == ["SEX", "a.b `c", "sex "]
    assert counts(frame, dx.Universe([dx.Values(name="x", column="a.b `c", values=("M", "F"))])) == [0, 1, 0]
    twice = session.sql("SELECT 'M' AS sex, 'F' AS sex")
    with pytest.raises(DataError, match="2 columns are named"):
        open_source(twice).check(SEX)


@pytest.mark.spark
@pytest.mark.parametrize(
    "made",
    ["array(1)", "map('a', 1)", "named_struct('a', 1)", "X'01'", "parse_json('1')", "INTERVAL '1' DAY"],
)
def test_types_that_we_do_not_read_are_refused_by_the_schema(session, made):
    source = open_source(session.sql(f"SELECT {made} AS sex"))
    with pytest.raises(DataError, match="column sex is"):
        source.check(SEX)


@pytest.mark.spark
def test_a_session_releases_from_a_frame(session, tmp_path):
    policy = dx.Policy.parse('title = "T"\ndataset = "t"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n')
    frame = session.createDataFrame(ROWS, "id int, sex string")
    with dx.Session(policy, frame, ledger=tmp_path / "ledger.db") as mine:
        assert mine.rows == 4
        release = mine.release(mine.plan("count by sex", share=1))
    assert len(release.rows()) == 2
    assert "secret-name" not in (tmp_path / "ledger.db").read_bytes().decode("latin-1")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("spark:survey.nobody", "there is no such table"),
        ("spark:nowhere.people", "there is no such table"),
        ("spark:/nowhere/people.parquet", "there is no such file"),
        ("spark:a b; DROP TABLE survey.people", "Spark could not answer|not understood|no such table"),
        ("spark:", "which table"),
    ],
)
def test_what_is_not_there_is_refused(session, given, what):
    with pytest.raises(DataError, match=what) as caught:
        open_source(given)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert counts("spark:survey.people") == [1, 2, 1]


@pytest.mark.spark
def test_what_spark_says_of_a_row_is_never_shown(session, capfd, caplog):
    """Its own log aside, which is the session's: pyspark's loggers say nothing of it, and nor do we."""
    frame = session.sql("SELECT raise_error(concat('the entry is ', sex)) AS sex FROM survey.people")
    with caplog.at_level(logging.DEBUG), pytest.raises(DataError, match="Spark could not answer") as caught:
        open_source(frame).count(dx.Universe([dx.Values(name="sex", values=("M",))]))
    said = capfd.readouterr()
    for text in (str(caught.value), said.out, said.err, caplog.text):
        assert "secret-name" not in text
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.spark
def test_a_job_that_is_cancelled_on_the_cluster(session):
    rows = session.range(0, 10**9, 1, 4)  # minutes
    slow = rows.selectExpr("CASE WHEN id % 2 = 0 THEN 'M' ELSE sha2(CAST(id AS STRING), 512) END AS sex")
    source, caught = open_source(slow), []

    def count():
        try:
            source.count(SEX)
        except DataError as error:
            caught.append(error)

    thread = threading.Thread(target=count)
    thread.start()
    tracker = session.sparkContext.statusTracker()
    end = time.monotonic() + 30
    while not tracker.getActiveStageIds() and time.monotonic() < end:
        time.sleep(0.1)
    session.sparkContext.cancelAllJobs()
    thread.join(timeout=60)
    (error,) = caught
    assert "cancelled on the cluster" in error.what


@pytest.mark.parametrize(
    ("given", "remote", "table"),
    [
        ("spark:a.b.c", "", "a.b.c"),
        ("spark:/data/x.parquet", "", "/data/x.parquet"),
        ("sc://host:15002/::a.b", "sc://host:15002/", "a.b"),
        ("sc://[::1]:15002/;use_ssl=true::t", "sc://[::1]:15002/;use_ssl=true", "t"),
    ],
)
def test_addresses_are_taken_apart(given, remote, table):
    found = address(given)
    assert (found.remote, found.table) == (remote, table)
    assert not remote or remote not in found.name


@pytest.mark.parametrize(
    "given",
    [
        "sc://host/;token=secret::t",
        "sc://host/;user_id=a;token=secret::t",
        "sc://host/;x-api-token=secret::t",
        "sc://host/;authorization=Bearer secret::t",
        "sc://host/; token=secret::t",
        "sc://host/;odd=secret::t",
        "sc://anna:secret@host/::t",
        "spark:sc://host/;token=secret::t",
    ],
)
def test_an_address_with_a_token_is_refused_and_not_shown(given):
    with pytest.raises(DataError, match="token") as caught:
        open_source(given)
    assert "secret" not in str(caught.value)


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(DataError, match=r"pip install \"dxprivacy\[spark\]\""):
        open_source("spark:survey.people")


def test_without_java_there_is_one_clear_error(monkeypatch):
    """In a process of its own, where no session runs."""
    import os
    import subprocess

    pytest.importorskip("pyspark")
    with tempfile.TemporaryDirectory() as empty:
        for tool in ("bash", "dirname", "cat", "ps", "env"):
            found = shutil.which(tool)
            if found:
                (Path(empty) / tool).symlink_to(found)
        program = "import sys\nfrom dxprivacy.engines import open_source\nopen_source('spark:survey.people')"
        clean = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME", "SPARK_REMOTE")}
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env=clean | {"PATH": empty, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert "Spark needs Java, which is not found here" in done.stderr
