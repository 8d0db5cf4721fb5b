"""What Spark is asked: tables of its catalog, files, frames; which of them have one row for each record."""

import contextlib
import datetime
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dxprivacy as dx
from dxprivacy.engines import open_source
from dxprivacy.engines.sql.spark import spark_session
from dxprivacy.engines.sql.spark.spark_session import SparkAddress, address, require_settings
from dxprivacy.errors import DataError
from dxprivacy.universe.file_format import FileFormat
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
def test_a_table_of_the_catalog_is_counted(session):
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


HIVE = "org.apache.hadoop.hive.ql.io."
PARQUET = {
    "Serde Library": f"{HIVE}parquet.serde.ParquetHiveSerDe",
    "InputFormat": f"{HIVE}parquet.MapredParquetInputFormat",
}
ORC = {"Serde Library": f"{HIVE}orc.OrcSerde", "InputFormat": f"{HIVE}orc.OrcInputFormat"}
LINES = {
    "Serde Library": "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    "InputFormat": "org.apache.hadoop.mapred.TextInputFormat",
}


def hive_table(told, **settings):
    """What is opened of a catalog that says this of a table; test_spark_elsewhere asks a real one."""
    rows = [("v", "string"), (spark_session._DETAILS, ""), ("Provider", "hive"), *told.items()]
    catalog = SimpleNamespace(getTable=lambda _: SimpleNamespace(isTemporary=False, tableType="MANAGED"))
    fake = SimpleNamespace(
        catalog=catalog,
        sql=lambda _: SimpleNamespace(collect=lambda: rows),
        conf=SimpleNamespace(get=lambda key: settings.get(key.rpartition(".")[2], "true")),
        table=lambda name: name,
    )
    return lambda declared: spark_session._table(fake, SparkAddress("", "t"), rows_are_records=declared)


@pytest.mark.parametrize("told", [PARQUET, ORC])
def test_tables_of_hive_in_parquet_and_orc_are_read(told):
    assert hive_table(told)(False) == "t"
    with pytest.raises(DataError, match="convertMetastoreOrc is false"):  # Hive would read partitions of lines as such
        hive_table(told, convertMetastoreOrc="false")(False)


@pytest.mark.parametrize(
    "told",
    [
        LINES,
        {},
        PARQUET | {"InputFormat": LINES["InputFormat"]},
        LINES | {"InputFormat": ORC["InputFormat"]},
        {"Serde Library": PARQUET["Serde Library"]},
        PARQUET | {"Serde Library": f"x.{PARQUET['Serde Library']}"},
    ],
)
def test_other_tables_of_hive_are_refused_unless_declared(told):
    """A line break inside an entry makes several rows of one record."""
    opened = hive_table(told)
    with pytest.raises(DataError, match="neither as Parquet nor as ORC") as caught:
        opened(False)
    assert "rows_are_records = true" in str(caught.value)
    assert opened(True) == "t"


@pytest.fixture
def setting(session):
    """Sets settings of the session until the end of a test."""
    with contextlib.ExitStack() as stack:

        def put(key, value):
            stack.callback(session.conf.unset, key)
            session.conf.set(key, value)

        yield put


OLD = dx.Universe(
    [
        dx.Values(name="sex", values=("M", "F")),
        dx.Dates(name="day", first=datetime.date(999, 12, 1), last=datetime.date(1000, 1, 31)),
    ]
)
SETTINGS = [
    ("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION"),
    ("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY"),
    ("spark.sql.parquet.int96RebaseModeInRead", "EXCEPTION"),
    ("spark.sql.parquet.int96RebaseModeInRead", "LEGACY"),
    ("spark.sql.avro.datetimeRebaseModeInRead", "EXCEPTION"),
    ("spark.sql.files.ignoreCorruptFiles", "true"),
    ("spark.sql.files.ignoreMissingFiles", "true"),
    ("spark.sql.parquet.int96TimestampConversion", "true"),
]


@pytest.mark.spark
@pytest.mark.parametrize(("key", "value"), SETTINGS)
def test_settings_by_which_a_row_decides_are_refused_of_tables_and_frames(session, setting, key, value):
    frame = session.createDataFrame(ROWS, "id int, sex string")
    before = open_source(frame)
    setting(key, value)
    for refused in (lambda: open_source("spark:survey.people"), lambda: open_source(frame), lambda: before.check(SEX)):
        with pytest.raises(DataError, match=f"setting {key} is {value}") as caught:
            refused()
        assert caught.value.hints[0][0].startswith(f"{key} = ")


@pytest.mark.parametrize(
    ("key", "found"),
    [("spark.files.ignoreCorruptFiles", "true"), ("spark.files.ignoreMissingFiles", "true"), (SETTINGS[0][0], None)],
)
def test_settings_of_the_whole_application_are_looked_at_and_unknown_ones_refused(key, found):
    """They cannot be set in a session that runs; and a server may keep its settings to itself."""
    known = {k: "CORRECTED" if "Rebase" in k else "false" for k, _ in SETTINGS} | {key: found}

    def get(asked, *default):
        if known.get(asked) is None and not default:
            raise KeyError(asked)
        return known.get(asked, *default)

    session = SimpleNamespace(conf=SimpleNamespace(get=get))
    with pytest.raises(DataError, match=f"setting {key} is {found or 'not known'}"):
        require_settings(session, "people")
    known[key] = "CORRECTED" if found is None else "false"
    require_settings(session, "people")


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["EXCEPTION", "LEGACY"])
def test_no_setting_decides_how_files_are_read(session, setting, tmp_path, mode):
    """An old day stopped the count, was moved by days, or took all rows of its file out of it."""
    days = [datetime.date(1000, 1, 1), datetime.date(2000, 1, 1)]
    moment = pa.array([datetime.datetime(1000, 1, 1)] * 2, pa.timestamp("us"))
    pq.write_table(pa.table({"sex": ["M", "F"], "day": days, "at": moment}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"day": moment}), tmp_path / "b.parquet", use_deprecated_int96_timestamps=True)
    for kind in ("datetime", "int96"):
        setting(f"spark.sql.parquet.{kind}RebaseModeInRead", mode)
    if mode == "EXCEPTION":
        setting("spark.sql.files.ignoreCorruptFiles", "true")
    found, here = (open_source(f"{of}{tmp_path}/a.parquet").count(OLD) for of in ("spark:", ""))
    assert found.counts.sum() == 2
    assert (found.counts == here.counts).all()
    day = datetime.date(1000, 1, 1)
    first = dx.Universe([dx.Dates(name="day", first=day, last=datetime.date(1000, 1, 2), timezone="UTC")])
    assert counts(f"spark:{tmp_path}/b.parquet", first)[0] == 2


@pytest.mark.spark
def test_files_that_cannot_be_read_are_never_left_out(session, setting, tmp_path):
    for name in ("a", "b"):
        pq.write_table(pa.table({"sex": ["M"]}), tmp_path / f"{name}.parquet")
    setting("spark.sql.files.ignoreCorruptFiles", "true")
    setting("spark.sql.files.ignoreMissingFiles", "true")
    source = open_source(f"spark:{tmp_path}")
    good = (tmp_path / "b.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(b"\0" * len(good))
    with pytest.raises(DataError, match="Spark could not answer"):
        source.count(SEX)
    (tmp_path / "b.parquet").unlink()
    with pytest.raises(DataError, match="Spark could not answer"):
        source.count(SEX)


@pytest.mark.spark
def test_clocks_are_not_taken_for_instants_by_a_setting(session, setting, tmp_path):
    pq.write_table(pa.table({"sex": ["M"], "at": pa.array([0], pa.timestamp("us"))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"sex": ["M"]}), tmp_path / "b.parquet")
    setting("spark.sql.parquet.inferTimestampNTZ.enabled", "false")
    with pytest.raises(DataError, match=r"inferTimestampNTZ\.enabled is false"):
        open_source(f"spark:{tmp_path}/a.parquet")
    assert counts(f"spark:{tmp_path}/b.parquet") == [1, 0, 0]


@pytest.mark.spark
@pytest.mark.parametrize("option", ["datetimeRebaseMode 'EXCEPTION'", "IGNORECORRUPTFILES 'true'"])
@pytest.mark.parametrize("how", [{}, {"file": DECLARED}])
def test_options_of_a_table_that_weigh_more_than_settings_are_refused(session, option, how):
    session.sql("DROP TABLE IF EXISTS survey.optional")
    session.sql(f"CREATE TABLE survey.optional (sex STRING) USING parquet OPTIONS ({option})")
    with pytest.raises(DataError, match=r"the table has an option (datetimeRebaseMode|ignoreCorruptFiles)"):
        open_source("spark:survey.optional", **how)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["p[1]", "a*b", "q?", "a{x,y}", "q\\z", "a b%20", "[", "^x"])
def test_a_path_is_a_path_and_no_pattern(session, tmp_path, name):
    for other in ("p1", "a-b", "q1", "ax", "qz"):
        pq.write_table(pa.table({"sex": ["F", "F"]}), tmp_path / f"{other}.parquet")
    if name in ("p[1]", "a*b", "a{x,y}"):
        with pytest.raises(DataError, match="there is no such file") as caught:
            open_source(f"spark:{tmp_path}/{name}.parquet")
        assert "not a pattern" in str(caught.value)
    pq.write_table(pa.table({"sex": ["M"]}), tmp_path / f"{name}.parquet")
    assert counts(f"spark:{tmp_path}/{name}.parquet") == [1, 0, 0]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["_h", ".h"])
def test_a_file_that_spark_leaves_out_is_refused_by_its_name(session, tmp_path, name):
    pq.write_table(pa.table({"sex": ["M"]}), tmp_path / f"{name}.parquet")
    for given in (tmp_path / f"{name}.parquet", tmp_path):
        with pytest.raises(DataError, match="Spark sees no file there") as caught:
            open_source(f"spark:{given}")
        assert "begin with “_” or “.”" in str(caught.value)


@pytest.mark.spark
def test_columns_may_be_called_as_the_catalog_calls_its_own(session):
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
        with pytest.raises(DataError, match="only for files in Parquet and ORC"):
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
    with dx.Session(policy, frame, ledger=tmp_path / "ledger.db", new_ledger=True) as mine:
        assert mine.n_records == 4
        release = mine.release(mine.plan("count by sex", budget="100%"), anyway=True)
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
def test_a_job_that_is_canceled_on_the_cluster(session):
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
    end = time.monotonic() + 240
    while thread.is_alive() and time.monotonic() < end:
        if tracker.getActiveStageIds():  # again: on a busy machine one word may come between two of its stages
            session.sparkContext.cancelAllJobs()
        thread.join(timeout=0.2)
    (error,) = caught
    assert "canceled on the cluster" in error.what


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


@pytest.mark.spark
def test_a_command_shows_nothing_but_its_own_words(tmp_path):
    """Neither what Java says of itself, nor bars of progress, nor what pandas is too new for."""
    pq.write_table(pa.table({"sex": ["M", "F", "secret-name"]}), tmp_path / "people.parquet")
    (tmp_path / "policy.toml").write_text(
        'title = "T"\ndataset = "t"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
    )
    spark()  # skips where there is none
    run = [
        sys.executable,
        "-c",
        "from dxprivacy.start import main; main()",
        "inspect",
        "policy.toml",
        "--data",
        f"spark:{tmp_path}/people.parquet",
        "--json",
    ]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) in ((0, ""), (0, "Spark is starting …\n"))
    assert json.loads(done.stdout)["rows"] == 3


@pytest.mark.spark
def test_java_that_does_not_start_is_one_clear_error(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho secret-path >&2\nexit 1\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    run = [sys.executable, "-c", "from dxprivacy.start import main; main()", "init", "spark:/nowhere.parquet", "--json"]
    more = os.environ | {"JAVA_HOME": str(tmp_path), "SPARK_REMOTE": ""}
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False, env=more)
    assert "Java could not be started" in done.stdout
    assert "secret-path" not in done.stdout + done.stderr


def test_a_start_that_takes_long_is_told_once(monkeypatch, caplog):
    pytest.importorskip("pyspark")
    monkeypatch.setattr(spark_session, "_SILENT", 0.05)
    monkeypatch.setattr(spark_session, "_session", lambda _: time.sleep(0.5))
    monkeypatch.setattr(spark_session, "_table", lambda *_: "the frame")
    spark_session.opened(SparkAddress("", "t"), rows_are_records=False)
    told = [record.getMessage() for record in caplog.records if record.name == "dxprivacy.notices"]
    assert told == ["Spark is starting …"]
    monkeypatch.setattr(spark_session, "_SILENT", 60)
    caplog.clear()
    spark_session.opened(SparkAddress("", "t"), rows_are_records=False)
    assert not caplog.records


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
