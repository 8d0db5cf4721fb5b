"""A server that fails: one clear error of ours each, none of the server's own words, nothing spent without a record."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import psycopg
import pytest

import dxprivacy as dx
from dxprivacy.engines import open_source
from dxprivacy.engines.sql.postgres.postgres_failures import address, refusal
from dxprivacy.errors import DataError
from engines.servers import Postgres, postgres

POLICY = 'title = "T"\ndataset = "t"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
UNIVERSE = dx.Universe([dx.Values(name="sex", values=("M", "F"))])


@pytest.fixture
def data():
    """A table that nothing but the test knows; somebody's name in it must never be seen."""
    return postgres().table({"sex": ("text", ["M", "F", "secret-name"])})


def waiting(server, seconds=20.0):
    """The process on the server that counts and waits, once it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = server.execute("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        if found:
            return found[0][0]
        time.sleep(0.05)
    raise AssertionError("nobody waits")


def failing(action, meanwhile):
    """What an action in another thread raises, while something happens to the server."""
    caught = []

    def run():
        try:
            action()
        except DataError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    meanwhile()
    thread.join(timeout=60)
    (error,) = caught
    assert "secret-name" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    return error


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("pg_terminate_backend", "the server shut down, or ended the connection|connection to the server was lost"),
        ("pg_cancel_backend", "canceled on the server"),
    ],
)
def test_a_count_that_is_ended_on_the_server(call, what, data):
    source, server = open_source(data), postgres()
    table = data.rpartition("::")[2]
    with server.connect() as con:
        con.autocommit = False
        con.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE')
        end = f"SELECT {call}({{}})"
        error = failing(lambda: source.count(UNIVERSE), lambda: server.execute(end.format(waiting(server))))
        con.rollback()
    assert re.search(what, error.what)


def test_a_count_that_takes_too_long(data):
    table = data.rpartition("::")[2]
    source = open_source(data.replace("?host=", "?options=-cstatement_timeout%3D300ms&host="))
    with postgres().connect() as con:
        con.autocommit = False
        con.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE')
        with pytest.raises(DataError, match="statement_timeout"):
            source.count(UNIVERSE)
        con.rollback()


@pytest.mark.slow  # starts a server twice
def test_the_server_goes_away_between_reserving_and_counting(tmp_path):
    server = Postgres()
    data = server.table({"sex": ("text", ["M", "F", "secret-name"])})
    session = dx.Session(dx.Policy.parse(POLICY), data, ledger=tmp_path / "ledger.db", new_ledger=True)
    plan = session.plan("count by sex", budget="50%")
    count = session.source.count

    def gone(universe):
        server.stop()
        return count(universe)

    session.source.count = gone
    try:
        with pytest.raises(DataError, match=r"no server at this address|connection") as caught:
            session.release(plan, anyway=True)
    finally:
        session.source.count = count
    assert "entry 1 in ledger.db" in str(caught.value)
    assert "stays spent" in str(caught.value)
    assert [entry.number for entry in session.ledger.entries()] == [1]
    server.start()  # restarted: the next one counts, and pays for itself
    try:
        release = session.release(plan, request="again", anyway=True)
        assert len(release.rows()) == 2
        assert [entry.number for entry in session.ledger.entries()] == [1, 2]
    finally:
        session.close()
        server.stop()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ('DROP TABLE "{}"', "no table"),
        ('ALTER TABLE "{}" DROP COLUMN sex', "no column “sex”|has no columns"),
        ('ALTER TABLE "{}" ALTER COLUMN sex TYPE int USING 1', "column sex is whole numbers"),
        ('ALTER TABLE "{}" RENAME COLUMN sex TO gender', "no column “sex”"),
    ],
)
def test_a_table_that_changes_between_plan_and_release_costs_nothing(change, what, data, tmp_path):
    with dx.Session(dx.Policy.parse(POLICY), data, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        plan = session.plan("count by sex", budget="50%")
        postgres().execute(change.format(data.rpartition("::")[2]))
        with pytest.raises(DataError, match=what):
            session.release(plan, anyway=True)
        assert list(session.ledger.entries()) == []


def test_a_wrong_password_and_none(monkeypatch, tmp_path):
    server = postgres()
    if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = 'anna'"):
        server.execute("CREATE ROLE anna LOGIN PASSWORD 'right-secret'")
        rules = server.folder / "pg_hba.conf"
        rules.write_text("local all anna scram-sha-256\n" + rules.read_text())
        server.execute("SELECT pg_reload_conf()")
        time.sleep(0.5)
    data = server.table({"sex": ("text", ["M"])})
    server.execute(f'GRANT SELECT ON "{data.rpartition("::")[2]}" TO anna')
    mine = data.replace("postgres@", "anna@")
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    for password in ("", "wrong-secret"):
        monkeypatch.setenv("PGPASSWORD", password)
        with pytest.raises(DataError, match="wrong or missing password") as caught:
            open_source(mine)
        assert "secret" not in str(caught.value).replace("password", "")
    monkeypatch.delenv("PGPASSWORD")
    passfile = tmp_path / "pass"
    passfile.write_text("*:*:*:anna:right-secret\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    assert open_source(mine).count(UNIVERSE).counts.tolist() == [1, 0, 0]


def test_a_service_names_the_server(monkeypatch, tmp_path, data):
    file = tmp_path / "services"
    file.write_text(f"[survey]\nhost={postgres().folder}\ndbname=postgres\nuser=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    source = open_source(f"service=survey::{data.rpartition('::')[2]}")
    assert source.count(UNIVERSE).counts.tolist() == [1, 1, 1]
    assert source.name.startswith("survey::")
    with pytest.raises(DataError, match="no such service"):
        open_source("service=surwey::people")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("postgresql://127.0.0.1:1/db::t", "there is no server at this address"),
        ("postgresql:///db?host=/nowhere::t", "there is no server at this address"),
        ("postgresql://no-such-host.invalid/db::t", "no server at this address|does not answer"),
        ("postgresql://127.0.0.1:notaport/db::t", "the address is not written as PostgreSQL wants it"),
        ("postgresql://h/db?nonsense=1::t", "the address is not written as PostgreSQL wants it"),
        ("service=x broken::t", "the address is not written|no such service"),
    ],
)
def test_addresses_that_lead_nowhere(given, what):
    with pytest.raises(DataError, match=what):
        open_source(given)


def test_a_database_that_is_not_there_or_is_no_unicode():
    server = postgres()
    with pytest.raises(DataError, match="no such database"):
        open_source(server.uri.replace("/postgres?", "/nowhere?") + "::t")
    if not server.execute("SELECT 1 FROM pg_database WHERE datname = 'bytes'"):
        server.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with pytest.raises(DataError, match="stores text as SQL_ASCII"):
        open_source(server.uri.replace("/postgres?", "/bytes?") + "::t")


INTERRUPTED = """
import sys
from dxprivacy.engines import open_source
import dxprivacy as dx
source = open_source(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
source.count(dx.Universe([dx.Values(name="sex", values=("M", "F"))]))
"""


def test_ctrl_c_cancels_the_query_on_the_server_too(data):
    server, table = postgres(), data.rpartition("::")[2]
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, data],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert program.stdout.readline().strip() == "ready"
    with server.connect() as con:
        con.autocommit = False
        con.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE')
        program.stdin.write("\n")
        program.stdin.flush()
        pid = waiting(server)
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=30)
        assert "KeyboardInterrupt" in said
        assert "secret-name" not in said
        assert not server.execute(f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND state = 'active'")
        con.rollback()


def test_what_a_function_in_a_view_says_is_never_shown():
    server = postgres()
    server.execute(
        "DROP TABLE IF EXISTS loud CASCADE",
        "CREATE TABLE loud (name text)",
        "INSERT INTO loud VALUES ('secret-name')",
        """CREATE OR REPLACE FUNCTION shout(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
           $$ BEGIN RAISE WARNING 'warned of %', t; RAISE EXCEPTION 'the entry is %', t; END $$""",
        "CREATE VIEW shouting AS SELECT shout(name) AS sex FROM loud",
    )
    from dxprivacy.universe.file_format import FileFormat

    source = open_source(f"{server.uri}::shouting", file=FileFormat(rows_are_records=True))
    with pytest.raises(DataError, match="the server could not answer") as caught:
        source.count(UNIVERSE)
    assert "secret-name" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_nothing_can_be_written_through_a_source():
    """Not even by a function that a view calls."""
    server = postgres()
    server.execute(
        "DROP TABLE IF EXISTS kept CASCADE",
        "CREATE TABLE kept (sex text)",
        "INSERT INTO kept VALUES ('M')",
        """CREATE OR REPLACE FUNCTION erase(t text) RETURNS text LANGUAGE plpgsql AS
           $$ BEGIN DELETE FROM public.kept; RETURN t; END $$""",
        "CREATE VIEW erasing AS SELECT erase(sex) AS sex FROM kept",
    )
    from dxprivacy.universe.file_format import FileFormat

    ((role,),) = server.execute("SELECT current_user")
    declared = FileFormat(
        rows_are_records=True, row_security_role=role
    )  # or the view would be refused for its function
    with pytest.raises(DataError):
        open_source(f"{server.uri}::erasing", file=declared).count(UNIVERSE)
    assert server.execute("SELECT count(*) FROM kept") == [(1,)]


# Not made small: a notice comes after a while.
def test_who_waits_for_a_lock_is_told_so_once(data, caplog):
    source, table = open_source(data), data.rpartition("::")[2]
    with postgres().connect() as con:
        con.autocommit = False
        con.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE')
        threading.Timer(3, con.rollback).start()
        assert source.count(UNIVERSE).counts.tolist() == [1, 1, 1]
    (told,) = [record.getMessage() for record in caplog.records if record.name == "dxprivacy.notices"]
    assert told == f"waiting for postgres::{table}: another session is changing the table, and holds a lock on it"
    caplog.clear()
    assert source.count(UNIVERSE).counts.tolist() == [1, 1, 1]
    assert not caplog.records


def test_a_patience_of_the_users_own_is_kept(data):
    source = open_source(data.replace("?host=", "?options=-clock_timeout%3D200ms&host="))
    with postgres().connect() as con:
        con.autocommit = False
        con.execute(f'LOCK TABLE "{data.rpartition("::")[2]}" IN ACCESS EXCLUSIVE MODE')
        with pytest.raises(DataError, match="another session has locked the table"):
            source.count(UNIVERSE)
        con.rollback()


def test_no_setting_of_ours_outlives_its_transaction(data, monkeypatch):
    """Behind a pooler the connection is somebody else's next; and nothing on it is prepared by name."""
    seen = []
    real = psycopg.connect

    class Kept:
        def __init__(self, con):
            self._con = con

        def __enter__(self):
            return self._con

        def __exit__(self, *_):
            self._con.execute("ROLLBACK")
            path = self._con.execute("SELECT current_setting('search_path'), current_setting('TimeZone')").fetchone()
            prepared = self._con.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
            seen.append((*path, *prepared))
            self._con.close()

    monkeypatch.setattr(psycopg, "connect", lambda *given, **how: Kept(real(*given, **how)))
    before = postgres().execute("SELECT current_setting('search_path'), current_setting('TimeZone')")
    assert open_source(data).count(UNIVERSE).counts.tolist() == [1, 1, 1]
    assert set(seen) == {(*before[0], 0)}


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (
            psycopg.errors.ProtocolViolation("not allowed: secret-name"),
            "does not allow transactions",
        ),
        (psycopg.OperationalError("FATAL:  unsupported startup parameter: options"), "does not take options"),
    ],
)
def test_a_pooler_that_is_set_otherwise_is_named(error, what):
    told = refusal(error, address("service=survey::people"))
    assert what in told.what
    assert "secret-name" not in str(told)


def test_types_of_temporary_tables_do_not_come_before_the_servers_own():
    from dxprivacy.engines.sql.postgres.postgres_connection import UsersOwn, begin

    with postgres().connect() as con:  # as a pooler hands it over, with what another client left behind
        con.autocommit = True
        con.execute("CREATE TEMP TABLE text (x int)")
        con.execute("CREATE TEMP TABLE pg_class (x int)")
        begin(con, UsersOwn("postgres", [], False, False), all_rows=True)
        assert con.execute("SELECT 'a'::text, (SELECT count(*) > 0 FROM pg_class)").fetchone() == ("a", True)
        assert con.execute("SHOW search_path").fetchone() == ("pg_catalog, pg_temp",)
        assert con.execute("SHOW row_security").fetchone() == ("off",)
        assert con.execute("SHOW statement_timeout").fetchone() == ("1h",)
        con.execute("ROLLBACK")
