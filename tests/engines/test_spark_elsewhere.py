"""Spark in processes of its own: a Connect server, a cluster that loses an executor, a job that is interrupted.

Each needs a virtual machine of its own, and half a minute: `make test-cluster`, which .ci/run calls.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster]
AROUND = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="module", autouse=True)
def java():
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java, which Spark needs")


def run(program, *arguments, seconds=150, **more):
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=os.environ | AROUND | more,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def connect(tmp_path_factory):
    """A real server of Spark Connect, and its process."""
    import pyspark

    home, port, folder = Path(pyspark.__file__).parent, free_port(), tmp_path_factory.mktemp("connect")
    command = [
        home / "bin" / "spark-submit", "--master", "local[2]",
        "--conf", f"spark.connect.grpc.binding.port={port}",
        "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
        "--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1",
        "--conf", "spark.ui.enabled=false",
        "--conf", "spark.sql.shuffle.partitions=2",
        "--conf", "spark.sql.session.timeZone=Asia/Kolkata",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        around = os.environ | {"SPARK_HOME": str(home)}
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=around, start_new_session=True)
    end = time.monotonic() + 90
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert server.poll() is None, (folder / "log").read_text()[-2000:]
            time.sleep(0.3)
    yield f"sc://127.0.0.1:{port}", server
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait(timeout=20)


OVER_CONNECT = """
import sys, os, signal, time
import pyarrow as pa
from pyspark.sql import SparkSession
import dxprivacy as dx
from dxprivacy.engines import open_source
from dxprivacy.errors import DataError
from dirty_entries import require_agreement
import test_spark_entries as entries
from engines.servers import spark_type
from people import test_kept_rows as kept_rows

session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
for kind, (declared, given, fit) in entries.COLUMNS.items():
    given = [*given, None]
    column = pa.array(given, declared)
    table, kind = pa.table({"x": column, "x2": column}), spark_type(declared)
    frame = session.createDataFrame(table, f"x {kind}, x2 {kind}")
    require_agreement(open_source(frame), given, fit)
rows, policy = kept_rows.invented(1), kept_rows.policy_of()
session.createDataFrame(rows, "who string, a string, b int").write.mode("overwrite").saveAsTable("people")
source = open_source(sys.argv[1] + "::people")
assert kept_rows.found(source, policy) == kept_rows.by_hand(rows, 3)[1]
try:
    open_source(sys.argv[1] + "::nobody")
except DataError as error:
    assert "no such table" in error.what
frame, key = session.range(1), "spark.sql.parquet.datetimeRebaseModeInRead"
session.conf.set(key, "EXCEPTION")
for given in (frame, sys.argv[1] + "::people"):
    try:
        open_source(given)
        raise AssertionError("a setting by which a row decides")
    except DataError as error:
        assert f"setting {key} is EXCEPTION" in error.what, error
session.conf.unset(key)
os.killpg(int(sys.argv[2]), signal.SIGKILL)
begun = time.monotonic()
try:
    source.count(policy.universe)
except DataError as error:
    assert "connection to Spark failed" in error.what, error
    assert error.__cause__ is None and error.__context__ is None
assert time.monotonic() - begun < 60
try:
    open_source(sys.argv[1] + "::people")
except DataError as error:
    assert "no server at this address" in error.what, error
print("all agree")
"""


def test_a_connect_server_counts_alike_and_is_missed_when_it_goes(connect):
    address, server = connect
    assert "all agree" in run(OVER_CONNECT, address, str(server.pid)).stdout


LOSES = """
import os, signal, subprocess, sys, threading, time
from pyspark.sql import SparkSession
import dxprivacy as dx
from dxprivacy.engines import open_source
session = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "4").getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
rows = session.range(0, 4_000_000, 1, 16)
frame = rows.selectExpr("CASE WHEN crc32(sha2(CAST(id AS STRING), 256)) % 2 = 0 THEN 'M' ELSE 'F' END AS sex")
source, universe = open_source(frame), dx.Universe([dx.Values(name="sex", values=("M", "F"))])
before = source.count(universe).counts.tolist()
begun = time.monotonic()
source.count(universe)
takes = time.monotonic() - begun

def lose():
    time.sleep(takes / 3)
    told = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True)
    found = told.stdout.split()
    mine = [int(p) for p in found if open(f"/proc/{p}/comm").read().strip() == "java"]
    os.kill(mine[0], signal.SIGKILL)
    print("lost one of", len(mine), flush=True)

thread = threading.Thread(target=lose)
thread.start()
after = source.count(universe).counts.tolist()
thread.join()
assert before == after, "differ"
assert sum(after) == 4_000_000
print("the same")
"""


def test_an_executor_that_is_lost_changes_nothing():
    done = run(LOSES)
    assert "lost one of" in done.stdout
    assert "the same" in done.stdout


INTERRUPTED = """
import signal, sys, threading, time
from pyspark.sql import SparkSession
import dxprivacy as dx
from dxprivacy.engines import open_source
session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
slow = session.range(0, 10**10, 1, 4).selectExpr("sha2(CAST(id AS STRING), 512) AS sex")
source, universe = open_source(slow), dx.Universe([dx.Values(name="sex", values=("M", "F"))])
tracker = session.sparkContext.statusTracker()

def press():
    while not tracker.getActiveStageIds():
        time.sleep(0.1)
    time.sleep(1)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    source.count(universe)
except KeyboardInterrupt:
    print("interrupted", flush=True)
end = time.monotonic() + 20
while tracker.getActiveStageIds() and time.monotonic() < end:
    time.sleep(0.1)
print("still running:", len(tracker.getActiveStageIds()))
"""


def test_ctrl_c_cancels_the_job_on_the_cluster_too():
    done = run(INTERRUPTED)
    assert "interrupted" in done.stdout
    assert "still running: 0" in done.stdout


OF_HIVE = """
import sys
from pyspark.sql import SparkSession
import dxprivacy as dx
from dxprivacy.engines import open_source
from dxprivacy.errors import DataError
from dxprivacy.universe.file_format import FileFormat
session = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.warehouse.dir", sys.argv[1])
    .config("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:derby:memory:metastore;create=true")
    .enableHiveSupport().getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
universe = dx.Universe([dx.Values(name="v", values=("a", "b"))])
for kind in ("parquet", "orc", "textfile", "sequencefile", "rcfile", "avro"):
    session.sql(f"CREATE TABLE of_{kind} (v STRING, w STRING) STORED AS {kind}")
    session.createDataFrame([("a", "x\\nb\\nb"), ("b", "y")], "v string, w string").write.insertInto(f"of_{kind}")
    try:
        found = open_source(f"spark:of_{kind}").count(universe).counts.tolist()
        assert found == [1, 1, 0], (kind, found)
        print("read", kind)
    except DataError as error:
        assert "neither as Parquet nor as ORC" in error.what, error
        open_source(f"spark:of_{kind}", file=FileFormat(rows_are_records=True))
        print("refused", kind)
"""


def test_tables_of_hive_are_read_where_every_row_is_stored_by_itself(tmp_path):
    told = run(OF_HIVE, str(tmp_path / "warehouse")).stdout.splitlines()
    assert told == [
        "read parquet",
        "read orc",
        *(f"refused {k}" for k in ("textfile", "sequencefile", "rcfile", "avro")),
    ]
