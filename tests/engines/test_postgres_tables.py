"""What a PostgreSQL server is asked: which table, who may read it, which rows come from one record."""

import subprocess
import sys

import psycopg
import pytest

import dxprivacy as dx
from dxprivacy.cli.given_files import command_line
from dxprivacy.engines import open_source
from dxprivacy.engines.sql.counting_sql import Counting
from dxprivacy.engines.sql.postgres import postgres_tables
from dxprivacy.engines.sql.postgres.postgres_failures import address
from dxprivacy.errors import DataError
from dxprivacy.universe.file_format import FileFormat
from engines.servers import Postgres, postgres

SEX = dx.Universe([dx.Values(name="sex", values=("M", "F"))])
ROWS = "INSERT INTO people VALUES (1, 'M'), (2, 'F'), (3, 'F'), (4, '?')"
DECLARED = FileFormat(rows_are_records=True)


@pytest.fixture(scope="module")
def server():
    found = postgres()
    found.execute(
        "DROP SCHEMA IF EXISTS survey CASCADE",
        "CREATE SCHEMA survey",
        "SET search_path = survey",
        "CREATE TABLE people (id int, sex text)",
        ROWS,
        "CREATE VIEW seen AS SELECT * FROM people",
        "CREATE MATERIALIZED VIEW stored AS SELECT * FROM people",
        "CREATE TABLE parts (id int, sex text) PARTITION BY RANGE (id)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (3)",
        "CREATE TABLE parts_2 PARTITION OF parts DEFAULT",
        "INSERT INTO parts SELECT * FROM people",
        "CREATE TABLE older (age int) INHERITS (people)",
        "CREATE TABLE made (id int, plain text, sex text GENERATED ALWAYS AS (upper(plain)) STORED)",
        "INSERT INTO made (id, plain) VALUES (1, 'm'), (2, 'f')",
        'CREATE TABLE "odd ""name"".with dots" ("SEX" text, "sex" text, "a.b" int)',
        """INSERT INTO "odd ""name"".with dots" VALUES ('M', 'F', 1)""",
        "CREATE TABLE nothing ()",
    )
    return found


def counts(text, universe=SEX, file=None):
    source = open_source(text, file=file) if file else open_source(text)
    return source.count(universe).counts.tolist()


def test_a_table_is_found_by_its_schema_and_name(server):
    assert counts(f"{server.uri}::survey.people") == [1, 2, 1]
    assert open_source(f"{server.uri}::survey.people").rows() == 4
    path = f"{server.uri}&options=-csearch_path%3Dsurvey"
    assert counts(f"{path}::people") == [1, 2, 1]


def test_partitions_and_children_belong_to_their_table(server):
    assert counts(f"{server.uri}::survey.parts") == [1, 2, 1]
    server.execute("DELETE FROM survey.older", "INSERT INTO survey.older VALUES (9, 'M', 80)")
    try:
        assert counts(f"{server.uri}::survey.people") == [2, 2, 1]
    finally:
        server.execute("DELETE FROM survey.older")


def test_names_may_be_anything(server):
    source = open_source(f'{server.uri}::survey.odd "name".with dots')
    assert [column.name for column in source.columns()] == ["SEX", "sex", "a.b"]
    both = dx.Universe([dx.Values(name="sex", values=("M", "F")), dx.Values(name="x", column="SEX", values=("M", "F"))])
    assert source.count(both).over((0, 1)).counts.tolist() == [1]


@pytest.mark.parametrize(
    ("table", "what"),
    [("survey.seen", "a view"), ("survey.stored", "a materialized view")],
)
def test_views_are_refused_unless_their_rows_are_declared_records(server, table, what):
    with pytest.raises(DataError, match=f"is {what}, not a table"):
        open_source(f"{server.uri}::{table}")
    assert counts(f"{server.uri}::{table}", file=DECLARED) == [1, 2, 1]


def test_a_policy_declares_it_and_check_shows_it(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'title = "T"\ndataset = "t"\n{}[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
    data = f"{server.uri}::survey.seen"
    with pytest.raises(DataError, match="rows_are_records"):
        dx.Session(dx.Policy.parse(text.format("")), data, ledger="a.db", new_ledger=True)
    policy = dx.Policy.parse(text.format("rows_are_records = true\n"))
    with dx.Session(policy, data, ledger="b.db", new_ledger=True) as session:
        release = session.release(session.plan("count by sex", budget="100%"), anyway=True)
    assert len(release.rows()) == 2
    assert "each of them comes from one record" in str(policy.check())
    assert policy.digest != dx.Policy.parse(text.format("")).digest


def test_a_foreign_table_and_a_partition_that_is_one_are_refused(server):
    try:
        server.execute(
            "CREATE EXTENSION IF NOT EXISTS file_fdw",
            "DROP SERVER IF EXISTS files CASCADE",
            "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
            "CREATE FOREIGN TABLE survey.far (id int, sex text) SERVER files OPTIONS (filename '/dev/null')",
            "DROP TABLE IF EXISTS survey.partly",
            "CREATE TABLE survey.partly (id int, sex text) PARTITION BY RANGE (id)",
            "CREATE FOREIGN TABLE survey.partly_1 PARTITION OF survey.partly FOR VALUES FROM (0) TO (9) SERVER files "
            "OPTIONS (filename '/dev/null')",
        )
    except Exception as error:
        pytest.skip(f"this server has no foreign tables: {type(error).__name__}")
    with pytest.raises(DataError, match="is a foreign table"):
        open_source(f"{server.uri}::survey.far")
    with pytest.raises(DataError, match=r"a part of “survey\.partly” is a foreign or a temporary table"):
        open_source(f"{server.uri}::survey.partly")
    assert counts(f"{server.uri}::survey.far", file=DECLARED) == [0, 0, 0]


def test_generated_columns_that_are_stored_are_data_and_others_are_not(server):
    assert counts(f"{server.uri}::survey.made") == [1, 1, 0]
    try:
        server.execute(
            "DROP TABLE IF EXISTS survey.computed",
            "CREATE TABLE survey.computed (plain text, sex text GENERATED ALWAYS AS (upper(plain)) VIRTUAL)",
            "INSERT INTO survey.computed (plain) VALUES ('m')",
        )
    except Exception as error:
        pytest.skip(f"this server has no virtual columns: {type(error).__name__}")
    with pytest.raises(DataError, match="column sex is generated: computed when it is read"):
        open_source(f"{server.uri}::survey.computed").check(SEX)
    assert counts(f"{server.uri}::survey.computed", file=DECLARED) == [1, 0, 0]


@pytest.fixture(scope="module")
def guarded(server):
    """1,000 rows, of which one role sees 300; views over them, and over the table of an owner who sees 300."""
    readers = {name: role(server, name) for name in ("few_reader", "all_reader", "few_owner")}
    server.execute(
        "DROP TABLE IF EXISTS survey.guarded CASCADE",
        "CREATE TABLE survey.guarded (id int, sex text)",
        "INSERT INTO survey.guarded SELECT n, CASE WHEN n <= 100 THEN 'M' ELSE 'F' END FROM generate_series(1, 1000) n",
        "ALTER TABLE survey.guarded ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY few ON survey.guarded TO few_reader, few_owner USING (id <= 300)",
        "CREATE POLICY all_of_them ON survey.guarded TO all_reader USING (true)",
        "CREATE VIEW survey.invoked WITH (security_invoker = on) AS SELECT * FROM survey.guarded",
        "CREATE VIEW survey.defined AS SELECT * FROM survey.guarded",  # of the superuser, who sees all
        "CREATE VIEW survey.over_invoked AS SELECT * FROM survey.invoked",
        "CREATE VIEW survey.owned AS SELECT * FROM survey.guarded",
        "GRANT CREATE ON SCHEMA survey TO few_owner",
        "ALTER VIEW survey.owned OWNER TO few_owner",
        "CREATE VIEW survey.unguarded WITH (security_invoker = true) AS SELECT * FROM survey.people",
        *(f"GRANT USAGE ON SCHEMA survey TO {name}" for name in readers),
        *(f"GRANT SELECT ON ALL TABLES IN SCHEMA survey TO {name}" for name in readers),
    )
    return readers


def seen_by(name):
    return FileFormat(rows_are_records=True, row_security_role=name)


@pytest.mark.parametrize("file", [None, DECLARED], ids=["plain", "declared"])
def test_row_level_security_is_refused_without_a_word_of_its_own(server, guarded, file):
    for name in ("few_reader", "all_reader"):
        with pytest.raises(DataError, match="row-level security hides rows") as caught:
            counts(f"{guarded[name]}::survey.guarded", file=file)
        assert f'row_security_role = "{name}"' in str(caught.value)
        assert "rows_are_records" not in str(caught.value)
    assert counts(f"{server.uri}::survey.guarded", file=file) == [100, 900, 0]  # a superuser sees them all


def test_the_policy_names_the_role_whose_rows_are_counted(server, guarded):
    seen = FileFormat(row_security_role="few_reader")
    assert counts(f"{guarded['few_reader']}::survey.guarded", file=seen) == [100, 200, 0]
    for other in (guarded["all_reader"], server.uri):
        with pytest.raises(DataError, match="the policy counts the rows that role “few_reader” sees"):
            counts(f"{other}::survey.guarded", file=seen)
    with pytest.raises(DataError, match="is a view, not a table"):
        counts(f"{guarded['few_reader']}::survey.invoked", file=seen)


@pytest.mark.parametrize("view", ["invoked", "owned", "over_invoked", "unguarded"])
def test_views_whose_rows_depend_on_roles_need_both_words(guarded, view):
    given = f"{guarded['few_reader']}::survey.{view}"
    invoker = view in ("invoked", "unguarded")  # the catalog says it of the view itself
    words = "with the rights of the role that reads it" if invoker else "row-level security hides rows"
    with pytest.raises(DataError, match=words):
        counts(given, file=DECLARED)
    assert counts(given, file=seen_by("few_reader")) == ([1, 2, 1] if view == "unguarded" else [100, 200, 0])


def test_a_view_with_the_rights_of_an_owner_who_sees_all_rows_needs_no_role(guarded):
    for name in ("few_reader", "all_reader"):
        assert counts(f"{guarded[name]}::survey.defined", file=DECLARED) == [100, 900, 0]


@pytest.mark.parametrize("asks", ["current_user = 'few_reader'", "pg_has_role(current_user, 'all_reader', 'member')"])
def test_a_view_that_asks_who_reads_it_needs_the_role(server, guarded, asks):
    server.execute(
        "DROP VIEW IF EXISTS survey.over_asked, survey.asked",
        f"CREATE VIEW survey.asked AS SELECT * FROM survey.people WHERE {asks}",
        "CREATE VIEW survey.over_asked AS SELECT * FROM survey.asked",
        *(f"GRANT SELECT ON survey.{view} TO few_reader" for view in ("asked", "over_asked")),
    )
    for view in ("asked", "over_asked"):
        given = f"{guarded['few_reader']}::survey.{view}"
        with pytest.raises(DataError, match="is a view that asks for the role that reads it"):
            counts(given, file=DECLARED)
        expected = [1, 2, 1] if "few_reader" in asks else [0, 0, 0]
        assert counts(given, file=seen_by("few_reader")) == expected


@pytest.mark.parametrize("language", ["sql", "plpgsql"])
def test_a_view_that_calls_a_function_that_may_ask_who_reads_it_needs_the_role(server, guarded, language):
    """The definition of the view names the function alone: its body, which asks for the role, is not part of it."""
    asked = (
        "SELECT current_user = 'few_reader'" if language == "sql" else "BEGIN RETURN current_user = 'few_reader'; END"
    )
    server.execute(
        "DROP VIEW IF EXISTS survey.calls, survey.calls_safely",
        f"CREATE OR REPLACE FUNCTION survey.may_see() RETURNS bool STABLE LANGUAGE {language} AS $$ {asked} $$",
        "CREATE OR REPLACE FUNCTION survey.same(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1'",
        "CREATE VIEW survey.calls AS SELECT * FROM survey.people WHERE survey.may_see()",
        "CREATE VIEW survey.calls_safely AS SELECT survey.same(sex) AS sex FROM survey.people",
        *(f"GRANT SELECT ON survey.{view} TO few_reader, all_reader" for view in ("calls", "calls_safely")),
    )
    with pytest.raises(DataError, match="is a view that asks for the role that reads it"):
        counts(f"{guarded['few_reader']}::survey.calls", file=DECLARED)
    assert counts(f"{guarded['few_reader']}::survey.calls", file=seen_by("few_reader")) == [1, 2, 1]
    assert counts(f"{guarded['all_reader']}::survey.calls_safely", file=DECLARED) == [1, 2, 1]


def test_rows_that_a_role_may_not_read_are_refused_before_anything_is_reserved(server, guarded):
    stranger = role(server, "no_reader", "survey.invoked")  # but not the table below it
    with pytest.raises(DataError, match="permission denied"):
        open_source(f"{stranger}::survey.invoked", file=seen_by("no_reader"))


@pytest.mark.parametrize("setting", ["off", "on"])
def test_settings_of_the_role_do_not_change_which_rows_are_seen(server, guarded, setting):
    server.execute(f"ALTER ROLE few_reader SET row_security = {setting}")
    try:
        given = f"{guarded['few_reader']}::survey.guarded"
        assert counts(given, file=seen_by("few_reader")) == [100, 200, 0]
        with pytest.raises(DataError, match="row-level security hides rows"):
            counts(given, file=DECLARED)
    finally:
        server.execute("ALTER ROLE few_reader RESET row_security")


@pytest.mark.slow  # the other tests of this file are the short forms
def test_check_and_release_name_row_level_security_where_it_is_active(server, guarded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'title = "T"\ndataset = "t"\n{}[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
    (tmp_path / "policy.toml").write_text(text.format('row_security_role = "few_reader"\n'))
    policy = dx.Policy.load("policy.toml")
    assert "only rows that role few_reader sees are counted" in str(policy.check())
    assert policy.digest != dx.Policy.parse(text.format("")).digest
    program = [sys.executable, "-m", "dxprivacy"]

    def dxp(*words):
        return subprocess.run([*program, *words], capture_output=True, text=True, timeout=60, check=False)

    given = f"{guarded['few_reader']}::survey.guarded"
    checked = dxp("check", "policy.toml", "--data", given)
    planned = dxp("plan", "policy.toml", "count by sex", "--n-records", "300", "--out", "plan.json")
    released = dxp("release", "plan.json", "--data", given, "--policy", "policy.toml", "--new-ledger")
    assert (checked.returncode, planned.returncode, released.returncode) == (0, 0, 0)
    for done in (checked, released):
        assert "row-level security is active: the records are the rows that role “few_reader” sees" in done.stderr
    assert "n = 300 (public)" in released.stdout
    other = dxp("release", "plan.json", "--data", f"{server.uri}::survey.guarded", "--policy", "policy.toml")
    assert other.returncode == 6
    assert "the policy counts the rows that role “few_reader” sees" in other.stderr
    verified = dxp("verify", *map(str, tmp_path.glob("release-*.json")), "--ledger", "ledger.db")
    assert verified.returncode == 0


def test_a_name_without_a_schema_never_means_a_temporary_table(server):
    """Behind a pooler, another client's temporary table may be left in the session."""
    server.execute("DROP TABLE IF EXISTS public.left_over", "CREATE TABLE public.left_over (sex text)")
    at = address(f"{server.uri}::left_over")
    with psycopg.connect(server.uri, autocommit=True, cursor_factory=psycopg.RawCursor) as con:
        con.execute("CREATE TEMPORARY TABLE left_over (sex text)")
        con.execute("CREATE TEMPORARY TABLE only_here (sex text)")
        con.execute("SET search_path = pg_temp, public")
        found = postgres_tables.look(con, at, FileFormat())
        assert found.rows == '"public"."left_over"'
        con.execute("ROLLBACK")
        for name in ("only_here", "pg_temp.only_here"):
            with pytest.raises(DataError, match="no table"):
                postgres_tables.look(con, address(f"{server.uri}::{name}"), FileFormat())
            con.execute("ROLLBACK")


def growing(monkeypatch, server, statement, *methods):
    """Let another client change the table before each of these methods of a source."""
    from dxprivacy.engines.sql.postgres.postgres_source import PostgresSource

    for method in methods:
        own = getattr(PostgresSource, method)

        def changed(source, *given, own=own, **how):
            server.execute(statement)
            return own(source, *given, **how)

        monkeypatch.setattr(PostgresSource, method, changed)


def test_all_tables_of_a_release_are_counted_in_one_snapshot(server, monkeypatch, tmp_path):
    from dxprivacy.session import count_records

    server.execute("DROP TABLE IF EXISTS survey.growing", "CREATE TABLE survey.growing AS SELECT * FROM survey.people")
    source = open_source(f"{server.uri}::survey.growing")
    universe = dx.Universe([*SEX.attributes, dx.Integers(name="id", low=1, high=9)])
    monkeypatch.setattr(count_records, "MOST_HELD", 1)
    monkeypatch.setattr(count_records, "_MOST_CELLS", 1)
    growing(monkeypatch, server, "INSERT INTO survey.growing VALUES (5, 'M')", "count")
    made = count_records.count(source, universe, [(0,), (1,)], source.rows())
    assert len(made.tables) == 2
    assert [int(table.counts.sum()) for table in made.tables] == [4, 4]
    assert source.rows() == 6  # others could write all the time


def test_the_number_of_people_and_their_rows_come_from_one_snapshot(server, monkeypatch, tmp_path):
    server.execute(
        "DROP TABLE IF EXISTS survey.visits",
        "CREATE TABLE survey.visits AS SELECT n AS id, 'M' AS sex FROM generate_series(1, 100) n",
        "CREATE SEQUENCE IF NOT EXISTS survey.later START 1000",
    )
    text = 'title = "T"\ndataset = "t"\n[people]\nkey = "id"\nmax_rows = 1\n[attributes.sex]\nvalues = ["M", "F"]\n'
    policy = dx.Policy.parse(text + "epsilon = 1\n")
    universe = policy.universe
    source = open_source(f"{server.uri}::survey.visits")
    records = source.people(universe) * universe.people.max_rows
    growing(monkeypatch, server, "INSERT INTO survey.visits VALUES (nextval('survey.later'), 'F')", "kept")
    from dxprivacy.session.count_records import count

    server.execute("INSERT INTO survey.visits VALUES (500, 'M')")  # after the number of people was read
    made = count(source, universe, [(0,)], records)
    assert made.public_records == records + 1
    assert int(made.tables[0].counts.sum()) == 101


def test_a_session_shows_the_number_of_records_that_was_counted(server, tmp_path):
    server.execute("DROP TABLE IF EXISTS survey.grown", "CREATE TABLE survey.grown AS SELECT * FROM survey.people")
    policy = dx.Policy.parse('title = "T"\ndataset = "t"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n')
    data = f"{server.uri}::survey.grown"
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan("count by sex", budget="50%")
        server.execute("INSERT INTO survey.grown VALUES (5, 'M')")
        release = session.release(plan, anyway=True)
        assert release.records == session.n_records == 5


def role(server, name, table=""):
    """A user who may read one table, or none; an address."""
    exists = server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'")
    server.execute(*([f"DROP OWNED BY {name}", f"DROP ROLE {name}"] if exists else []), f"CREATE ROLE {name} LOGIN")
    if table:
        server.execute(f"GRANT USAGE ON SCHEMA survey TO {name}", f"GRANT SELECT ON {table} TO {name}")
    return server.uri.replace("postgres@", f"{name}@")


def test_the_privileges_that_the_docs_name_are_enough_and_less_are_not(server):
    reader = role(server, "reader", "survey.people")
    assert counts(f"{reader}::survey.people") == [1, 2, 1]
    stranger = role(server, "stranger")
    with pytest.raises(DataError, match="permission denied") as caught:
        open_source(f"{stranger}::survey.people").check(SEX)
    assert "GRANT" in str(caught.value)
    server.execute("GRANT USAGE ON SCHEMA survey TO stranger", "GRANT SELECT (sex) ON survey.people TO stranger")
    assert counts(f"{stranger}::survey.people") == [1, 2, 1]  # the columns of the policy are enough
    with pytest.raises(DataError, match="column id may not be read"):
        open_source(f"{stranger}::survey.people").check(dx.Universe([dx.Integers(name="id", low=0, high=9)]))


def test_a_table_that_is_not_there_is_refused_with_those_that_are(server):
    with pytest.raises(DataError, match=r"no table “survey\.peple”") as caught:
        open_source(f"{server.uri}::survey.peple")
    assert "survey.people" in str(caught.value)
    with pytest.raises(DataError, match="which table"):
        open_source(server.uri)
    with pytest.raises(DataError, match="has no columns"):
        open_source(f"{server.uri}::survey.nothing")


def test_a_name_that_means_two_tables_is_refused(server):
    server.execute('DROP SCHEMA IF EXISTS "a.b" CASCADE', 'CREATE SCHEMA "a.b"', 'CREATE TABLE "a.b".c (sex text)')
    server.execute("DROP SCHEMA IF EXISTS a CASCADE", "CREATE SCHEMA a", 'CREATE TABLE a."b.c" (sex text)')
    server.execute("""INSERT INTO "a.b".c VALUES ('M')""", """INSERT INTO a."b.c" VALUES ('F')""")
    with pytest.raises(DataError, match="2 tables have this name") as caught:
        open_source(f"{server.uri}::a.b.c")
    assert '"a.b"."c"' in str(caught.value)
    server.execute("DROP TABLE IF EXISTS public.c", "CREATE TABLE public.c (sex text)")  # which a bare name means
    for quoted in ('"a.b".c', '"a.b"."c"'):
        assert counts(f"{server.uri}::{quoted}") == [1, 0, 0]
    for quoted in ('a."b.c"', '"a"."b.c"'):
        assert counts(f"{server.uri}::{quoted}") == [0, 1, 0]
    for quoted in ('"a.b.c"', '"A".b.c', '"b.c"'):
        with pytest.raises(DataError, match="no table"):
            open_source(f"{server.uri}::{quoted}")


def test_names_in_quotes_may_hold_what_an_address_is_made_of(server):
    server.execute(
        'DROP SCHEMA IF EXISTS "x::y" CASCADE', 'CREATE SCHEMA "x::y"', 'CREATE TABLE "x::y"."p/q""r]" (sex text)'
    )
    path = f"{server.uri}&options=-csearch_path%3D%22x%3A%3Ay%22"
    assert counts(f'{server.uri}::"x::y"."p/q""r]"') == counts(f'{path}::"p/q""r]"') == [0, 0, 0]
    assert counts(f'{path.replace("x%3A%3Ay", "survey")}::"people"') == [1, 2, 1]


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://anna:secret@host/db::people",
        "postgres://anna:secret@host/db::people",
        "POSTGRESQL://anna:secret@host/db::people",
        "postgresql://host/db?user=anna&password=secret::people",
        "postgresql://host/db?user=anna&PassWord=secret::people",
        "postgresql://host/db?sslpassword=secret::people",
        "service=survey password=secret::people",
        "service=survey Password = 'secret'::people",
        "host=h user=anna password=secret dbname=x::people",
        "postgresql://anna:secret@[::1/db::people",
        "postgresql://anna:sec?secret@host/db::people",
        "postgresql://anna:sec#secret@host/db::people",
        "postgresql://anna:sec/secret@host/db::people",
        "postgresql://anna:se::secret@host/db",
        "postgresql://host/db#?password=secret::people",
        "postgresql://host/db?a=b;password=secret::people",
        " postgresql://anna:secret@host/db::people",
        "postgresql:/anna:secret@host/db::people",
    ],
)
def test_an_address_with_a_password_is_refused_and_not_shown(given, monkeypatch):
    with pytest.raises(DataError, match="password") as caught:
        open_source(given)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value.to_dict())
    monkeypatch.setattr(sys, "argv", ["dxp", "release", "plan.json", "--data", given])
    assert "secret" not in command_line()


@pytest.mark.parametrize(
    ("given", "server", "table"),
    [
        ("postgresql://h/db::t", "postgresql://h/db", "t"),
        ("postgresql://u@h:5433,h2/db?sslmode=require&application_name=x::s.t", None, "s.t"),
        ("postgresql://[::1]/db", "postgresql://[::1]/db", ""),
        ("postgresql://[::1]:5432/db::t", "postgresql://[::1]:5432/db", "t"),
        ("service=survey::t", "service=survey", "t"),
        ("postgres:///db?host=/var/run::a::b", "postgres:///db?host=/var/run::a", "b"),
    ],
)
def test_an_address_is_split_at_its_last_double_colon(given, server, table):
    found = address(given)
    assert found.table == table
    assert server is None or found.server == server
    assert found.server not in repr(found)


def test_a_cast_that_somebody_made_for_an_enum_is_not_asked(server):
    """It could look at other rows, or stop at one."""
    server.execute(
        "DROP TYPE IF EXISTS public.mood CASCADE",
        "CREATE TYPE public.mood AS ENUM ('M', 'F')",
        "DROP TABLE IF EXISTS public.moods",
        "CREATE TABLE public.moods (sex public.mood)",
        "INSERT INTO public.moods VALUES ('M'), ('F'), ('F')",
        "CREATE FUNCTION public.said(public.mood) RETURNS text LANGUAGE sql STABLE AS "
        "$$ SELECT max(sex::text) FROM public.moods $$",
        "CREATE CAST (public.mood AS text) WITH FUNCTION public.said(public.mood)",
    )
    assert counts(f"{server.uri}::moods") == [1, 2, 0]


def test_operators_of_somebody_elses_schema_are_not_asked(server):
    stranger = role(server, "tricked", "survey.people")
    server.execute(
        "DROP SCHEMA IF EXISTS evil CASCADE",
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.yes(text, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.yes)",
        "CREATE FUNCTION evil.yes(name, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = text, FUNCTION = evil.yes)",
        "GRANT USAGE ON SCHEMA evil TO tricked",
        "ALTER ROLE tricked SET search_path = evil, pg_catalog, survey",
    )
    assert counts(f"{stranger}::survey.people") == [1, 2, 1]
    assert counts(f"{stranger}::people") == [1, 2, 1]


def test_a_table_cannot_be_replaced_between_its_schema_and_its_rows(server, monkeypatch):
    """It is locked before anything is looked at: whoever alters it waits until it was counted."""
    server.execute("DROP TABLE IF EXISTS survey.held", "CREATE TABLE survey.held AS SELECT * FROM survey.people")
    begin, tried = postgres_tables.begin_locked, []

    def altered(con, own, rows, name, **how):
        begin(con, own, rows, name, **how)
        with server.connect() as other:
            other.execute("SET lock_timeout = '200ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute("ALTER TABLE survey.held ALTER COLUMN sex TYPE varchar(9)")
        tried.append(rows)

    source = open_source(f"{server.uri}::survey.held")
    monkeypatch.setattr(postgres_tables, "begin_locked", altered)
    assert source.count(SEX).counts.tolist() == [1, 2, 1]
    assert tried

    def replaced(con, own, rows, name, **how):
        server.execute("DROP TABLE survey.held", "CREATE TABLE survey.held AS SELECT * FROM survey.people LIMIT 1")
        begin(con, own, rows, name, **how)

    monkeypatch.setattr(postgres_tables, "begin_locked", replaced)
    with pytest.raises(DataError, match="the table was replaced just now"):
        source.count(SEX)


def test_nothing_is_loaded_before_it_is_asked_for():
    program = (
        "import sys, dxprivacy.engines.open_source; print([m for m in ('psycopg', 'pyspark') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DataError, match=r"pip install \"dxprivacy\[postgres\]\""):
        open_source("postgresql://h/db::t")


@pytest.mark.slow  # the other tests of this file are the short forms
def test_the_oldest_version_that_we_guarantee_counts_alike():
    """PostgreSQL 16, beside the newest."""
    old = Postgres(version=16)
    try:
        assert "PostgreSQL 16" in old.execute("SELECT version()")[0][0]
        import test_postgres_entries as entries

        for kind in ("text", "numeric", "float8", "timestamptz", "date"):
            given = [*entries.COLUMNS[kind][0], None]
            sent = old.table({"x": (kind, list(given)), "x2": (kind, list(given))})
            entries.require_agreement(open_source(sent), given, entries.COLUMNS[kind][1])
    finally:
        old.stop()


def test_hundreds_of_listed_attributes_are_counted_without_a_join_each(server, monkeypatch):
    """The server plans joins for seconds, then minutes, and five hundred of them took all its memory."""
    asked, cells = [], Counting.cells
    monkeypatch.setattr(Counting, "cells", lambda *given: asked.append(cells(*given)) or asked[-1])
    entries = [["M", "F", "x"][k % 3] for k in range(300)]
    given = server.table({f"c{k}": ("text", [entry, "M"]) for k, entry in enumerate(entries)})
    listed = [dx.Values(name=f"a{k}", column=f"c{k}", values=("M", "F")) for k in range(300)]
    long = dx.Values(name="long", column="c0", values=("M", *map(str, range(1000))))
    counted = open_source(given).count(dx.Universe([*listed, long]))
    for axis, entry in enumerate([*entries, "M"]):
        table = counted.over([axis])
        found = [0] * 3
        for place, n in zip(table.along(axis).tolist(), table.counts.tolist(), strict=True):
            found[place] += n
        assert found == {"M": [2, 0, 0], "F": [1, 1, 0], "x": [1, 0, 1]}[entry]
    assert asked[0].count("LEFT JOIN") == 32
    assert "LEFT JOIN domain_r300" in asked[0]  # the longest list is looked up by a hash


def test_more_columns_than_a_server_selects_at_once_are_refused_before_anything_is_spent(server):
    given = server.table({f"c{k}": ("int", [1, 2]) for k in range(1000)})

    def wide(n):
        return dx.Universe([dx.Integers(name=f"a{k}", column=f"c{k % 1000}", low=0, high=3) for k in range(n)])

    source = open_source(given)
    source.check(wide(1600))
    assert source.count(wide(1600)).total == 2
    with pytest.raises(DataError, match=r"reads 1,660 columns, and the server selects at most 1,664 at once"):
        source.check(wide(1660))
