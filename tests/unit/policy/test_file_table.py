"""`[file]` in a policy: what it declares, errors at their line, and what a changed declaration does to a ledger."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contracts.unused_ledger import unused_ledger
from dxprivacy.errors import DxError, PolicyError, UsageError
from dxprivacy.policy import Policy
from dxprivacy.session import Session
from dxprivacy.universe.file_format import FileFormat
from dxprivacy.verify import verify

HEAD = 'title = "T"\ndataset = "t"\n'
SEX = '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1.0\n'
AGE = "[attributes.age]\nintegers = [0, 9]\nepsilon = 1.0\nper = 1\n"


def policy(table: str, attributes: str = SEX, top: str = "") -> Policy:
    return Policy.parse(HEAD + top + table + attributes)


@pytest.mark.parametrize("attributes", [SEX, SEX + AGE])
@pytest.mark.parametrize("top", ["", 'neighbors = "add-remove"\nepsilon_presence = 1\nmax_records = 100\n'])
def test_a_policy_declares_how_its_files_are_written(attributes, top):
    table = '[file]\ndelimiter = ";"\nencoding = "ISO-8859-1"\nheader = false\ncolumns = ["age", "sex"]\n'
    made = policy(table, attributes, top)
    assert made.universe.file == made.metric.universe.file == FileFormat(";", "latin-1", ("age", "sex"))
    plain = policy("", attributes, top)
    assert made.digest != plain.digest
    assert policy('[file]\nencoding = "utf8"\nheader = true\n', attributes, top).digest == plain.digest
    assert [s.what for s in plain.diff(made).settings] == ["file"]
    assert made.metric.exact(0, 1) == plain.metric.exact(0, 1)


def test_the_role_whose_rows_are_the_records_belongs_to_the_policy():
    made, plain = policy('row_security_role = "Änna x"\n'), policy("")
    assert made.universe.file == FileFormat(row_security_role="Änna x")
    assert made.digest != plain.digest != policy('row_security_role = "bob"\n').digest
    assert [(s.what, s.after) for s in plain.diff(made).settings] == [("file", "rows that role Änna x sees")]
    assert any("only rows that role Änna x sees" in notice.text for notice in made.check().warnings)
    assert FileFormat.from_spec(made.universe.file.spec()[0]) == made.universe.file


@pytest.mark.parametrize("role", ["", "a\nb", "x" * 64, "ä" * 32, 3])
def test_a_role_that_no_server_can_have_is_refused_in_a_spec(role):
    with pytest.raises(PolicyError, match="damaged"):
        FileFormat.from_spec({"kind": "file", "row_security_role": role})


def test_the_page_for_the_lawyer_says_on_what_line_breaks_rest():
    told = [n.text for n in policy("[file]\nquoted_line_breaks = true\n").check().warnings]
    assert any("may depend on one row" in text for text in told)
    assert not any("one row" in n.text for n in policy(SEMICOLON).check().warnings)


@pytest.mark.parametrize(
    ("table", "line", "words"),
    [
        ("file = 3\n", 3, "file is a table"),
        ('[file]\nseparator = ";"\n', 4, "unknown key “separator”"),
        ('[file]\ndelimiter = "||"\n', 4, "a delimiter is one character"),
        ('[file]\ndelimiter = "x"\n', 4, "occur in entries; they do not separate"),
        ("[file]\ndelimiter = '\"'\n", 4, "quotes enclose fields"),
        ("[file]\ndelimiter = 3\n", 4, "one character, in quotes"),
        ('[file]\ndelimiter = "\\n"\n', 4, "can be seen, or is a tab"),
        ('[file]\nencoding = "ebcdic"\n', 4, "no encoding “ebcdic”"),
        ("[file]\nencoding = 8\n", 4, "no encoding “8”"),
        ('[file]\nheader = "no"\n', 4, "header is true or false"),
        ("[file]\nheader = false\n", 4, "without a header, the policy must name the columns"),
        ('[file]\ncolumns = ["a"]\n', 4, "columns are named by the header"),
        ('[file]\nheader = false\ncolumns = "a"\n', 5, "columns is a list of names"),
        ('[file]\nheader = false\ncolumns = ["a", ""]\n', 5, "columns is a list of names"),
        ('[file]\nheader = false\ncolumns = ["a", "b", "a"]\n', 5, "columns 1 and 3 are both called “a”"),
        ('[file]\nquoted_line_breaks = "yes"\n', 4, "quoted_line_breaks is true or false"),
        ("row_security_role = true\n", 3, "row_security_role is the name of a role"),
        ('row_security_role = ""\n', 3, "row_security_role is the name of a role"),
        (f'row_security_role = "{"x" * 64}"\n', 3, "row_security_role is the name of a role"),
    ],
)
def test_errors_name_their_line(table, line, words):
    with pytest.raises(PolicyError) as error:
        policy(table)
    assert words in error.value.what
    assert error.value.where == f"policy.toml:{line}"
    assert error.value.hints


def people(folder, name, text, encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def test_a_plan_for_one_reading_is_not_released_under_another(tmp_path):
    data = people(tmp_path, "people.csv", "sex;age\nM;1\nF;2\n")
    with Session(policy('[file]\ndelimiter = ";"\n'), data, ledger=tmp_path / "a.db", new_ledger=True) as session:
        plan = session.plan("count by sex")
        session.release(plan, anyway=True)
    comma = people(tmp_path, "comma.csv", "sex,age\nM,1\nF,2\n")
    for other in ("", '[file]\nencoding = "latin-1"\n'):
        session = Session(policy(other), comma, ledger=tmp_path / f"{len(other)}.db", new_ledger=True)
        with session, pytest.raises(UsageError, match="another policy"):
            session.release(plan)
    with pytest.raises(DxError, match="policy"):
        Session(policy(""), comma, ledger=tmp_path / "a.db", new_ledger=True)


SEMICOLON = '[file]\ndelimiter = ";"\n'
NAMED = '[file]\nheader = false\ncolumns = ["sex", "age"]\n'


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (SEMICOLON, "", "the lines of a file are read otherwise"),
        ("", '[file]\nencoding = "latin-1"\n', "the lines of a file are read otherwise"),
        ("", NAMED, "the lines of a file are read otherwise|another position"),
        (NAMED, NAMED.replace('"sex", "age"', '"age", "sex"'), "sex is read from another position"),
        ("", "[file]\nquoted_line_breaks = true\n", "the lines of a file are read otherwise"),
        (NAMED, NAMED.replace('"sex", "age"', '"sex", "age", "more"'), ""),
        (SEMICOLON, SEMICOLON, ""),
    ],
)
def test_another_reading_is_adopted_only_where_nothing_was_spent(before, after, words, tmp_path):
    loose = SEX.replace("1.0", "0.9")
    with unused_ledger(tmp_path / "fresh.db", policy(before)) as ledger:
        assert ledger.adopt(policy(after, loose)).written is not None
    data = tmp_path / "people.parquet"
    pq.write_table(pa.table({"sex": ["M", "F"], "age": [1, 2]}), data)
    with Session(policy(before), data, ledger=tmp_path / "used.db", new_ledger=True) as session:
        session.release(session.plan("count by sex", budget="1%"), anyway=True)
        if words:
            with pytest.raises(PolicyError, match=words) as error:
                session.ledger.adopt(policy(after, loose))
            assert "Parquet" in str(error.value)
        else:
            assert session.ledger.adopt(policy(after, loose)).written is not None


def test_a_release_under_a_declared_file_and_spelling_is_verified_from_its_file_alone(tmp_path):
    spelt = SEX + 'trim = true\nfold_case = true\naliases = { M = ["male", 1], F = "female" }\n'
    data = people(tmp_path, "people.csv", "sex;age\n male ;1\nF;2\n1;3\n")
    with Session(policy(SEMICOLON, spelt + AGE), data, ledger=tmp_path / "a.db", new_ledger=True) as session:
        released = session.release(session.plan("count by sex", "count by age"), anyway=True)
        path = tmp_path / "release.json"
        released.save(path)
    for ledger in (None, tmp_path / "a.db"):
        assert len(list(verify(path, ledger))) > 3
