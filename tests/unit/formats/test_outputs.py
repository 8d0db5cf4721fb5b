"""Outputs never destroy inputs: one function opens every file for writing, and refuses what is not ours to replace."""

import ast
import errno
import os
import stat
from pathlib import Path

import pytest

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.formats import file_access as outputs
from dxprivacy.formats.file_access import (
    NEVER,
    PLAN,
    RELEASE,
    FileKind,
    file_to_write,
    ledger_files,
    require_place,
    write_file,
)

OURS = '{\n "format": "dxprivacy-plan/2"}'


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def write_meanwhile(path, kind, event):
    with file_to_write(path, kind) as file:
        file.write(b"new")
        event(path)


def fail(error):
    raise error


def test_a_new_file_is_written_whole_and_nothing_else_is_left(tmp_path):
    assert write_file(tmp_path / "a.json", OURS, PLAN) == tmp_path / "a.json"
    assert (tmp_path / "a.json").read_text() == OURS
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_what_is_ours_and_of_the_same_kind_is_replaced(tmp_path):
    write_file(tmp_path / "a.json", OURS, PLAN)
    write_file(tmp_path / "a.json", OURS + "\n", PLAN)
    assert (tmp_path / "a.json").read_text() == OURS + "\n"
    with pytest.raises(UsageError, match="is no release that dxp wrote"):
        write_file(tmp_path / "a.json", "{}", RELEASE)
    with pytest.raises(UsageError, match="is there already"):
        write_file(tmp_path / "a.json", "{}", PLAN, overwrite=False)


@pytest.mark.parametrize(
    "kind", [PLAN, RELEASE, outputs.ANSWERS, outputs.PAGE, outputs.POLICY, *outputs.PICTURES.values()]
)
@pytest.mark.parametrize(
    "content", [b"", b"precious", b"SQLite format 3\0", b"PAR1", b"sex,age\nM,1\n", b"{}", b"\x89PNG\r\n"]
)
def test_what_is_not_ours_stays(tmp_path, kind, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    for check in (require_place, lambda *a: write_file(a[0], b"new", a[1])):
        with pytest.raises(UsageError, match="is there already"):
            check(path, kind)
    assert path.read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 1


def test_what_we_write_is_known_again(tmp_path):
    """By every kind that has its own way of being known; else a second run would be refused."""
    policy = dx.Policy.parse('title = "T"\ndataset = "t"\n[attributes.a]\nvalues = ["x", "y"]\nepsilon = 1\n')
    (tmp_path / "d.csv").write_text("a\nx\ny\n")
    with dx.Session(policy, tmp_path / "d.csv", ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan("count by a", budget="20%")
        release = session.release(plan, anyway=True)
        selection = session.select(session.plan_selection("most common a", budget="20%"), anyway=True)
    for _ in range(2):
        plan.save(tmp_path / "plan.json")
        release.save(tmp_path / "r.json")
        release.save(tmp_path / "r.csv")
        selection.save(tmp_path / "c.json")
        for end in (".svg", ".png", ".html", ".json"):
            dx.plots.plan(plan).save(tmp_path / f"picture{end}")
        write_file(tmp_path / "page.html", dx.plots.plan_page(plan, policy=policy), outputs.PAGE)


@pytest.mark.parametrize(
    "name", ["ledger.db", "ledger.db.witness", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal"]
)
def test_a_ledgers_files_are_refused_whether_they_are_there_or_not(tmp_path, name):
    with pytest.raises(UsageError, match="works with"):
        require_place(tmp_path / name, PLAN, inputs=ledger_files(tmp_path / "ledger.db"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere" / "ledger.db")  # SQLite works where a link leads to
    with pytest.raises(UsageError, match="works with"):
        require_place(tmp_path / "elsewhere" / name, PLAN, inputs=ledger_files(tmp_path / "link.db"))


@pytest.mark.parametrize("how", ["itself", "hard link", "other spelling", "by a linked folder"])
def test_an_input_is_known_under_any_name(tmp_path, how):
    data = tmp_path / "data.json"
    data.write_text(OURS)  # even if it is of the kind that would be replaced
    target = data
    if how == "hard link":
        target = tmp_path / "other.json"
        os.link(data, target)
    elif how == "other spelling":
        (tmp_path / "x").mkdir()
        target = tmp_path / "x" / ".." / "data.json"
    elif how == "by a linked folder":
        (tmp_path / "x").symlink_to(tmp_path)
        target = tmp_path / "x" / "data.json"
    with pytest.raises(UsageError, match="works with"):
        write_file(target, "new", PLAN, inputs=[data])
    assert data.read_text() == OURS


@pytest.mark.parametrize("to", ["precious", "nothing", "ours", "folder"])
def test_links_are_not_followed(tmp_path, to):
    victim = tmp_path / "victim"
    if to == "folder":
        victim.mkdir()
    elif to != "nothing":
        victim.write_text(OURS if to == "ours" else "precious")
    (tmp_path / "plan.json").symlink_to(victim)
    with pytest.raises(UsageError, match="links are not followed"):
        write_file(tmp_path / "plan.json", "new", PLAN)
    assert not victim.is_file() or victim.read_text() in (OURS, "precious")
    assert victim.exists() == (to != "nothing")


def test_a_link_that_appears_while_we_write_is_not_followed_either(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    with pytest.raises(UsageError, match="not followed"):
        write_meanwhile(tmp_path / "plan.json", PLAN, lambda path: path.symlink_to(victim))
    assert victim.read_text() == "precious"


def test_a_file_that_appears_while_we_write_is_not_replaced(tmp_path):
    with pytest.raises(UsageError, match="is there already"):
        write_meanwhile(tmp_path / "a", NEVER, lambda path: path.write_text("precious"))
    assert (tmp_path / "a").read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 1


def test_the_folder_is_held_by_itself_and_not_by_its_name(tmp_path):
    """Whoever may rename the folder cannot make the file appear elsewhere."""
    (tmp_path / "out").mkdir()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "plan.json").write_text(OURS)
    with file_to_write(tmp_path / "out" / "plan.json", PLAN) as file:
        file.write(b"new")
        (tmp_path / "out").rename(tmp_path / "moved")
        (tmp_path / "out").symlink_to(tmp_path / "precious")
    assert (tmp_path / "precious" / "plan.json").read_text() == OURS
    assert (tmp_path / "moved" / "plan.json").read_text() == "new"


def test_names_while_writing_cannot_be_guessed(tmp_path):
    seen = set()
    for k in range(5):
        with file_to_write(tmp_path / f"{k}", PLAN):
            seen |= {p.name for p in tmp_path.iterdir() if p.name.endswith(".part")}
    assert len(seen) == 5
    assert all(len(name) > 16 for name in seen)


@pytest.mark.parametrize(("umask", "public"), [(0o022, 0o644), (0o077, 0o600), (0o000, 0o644), (0o027, 0o640)])
def test_files_are_for_everybody_at_most_to_read_and_private_ones_for_nobody_else(tmp_path, umask, public):
    before = os.umask(umask)
    try:
        write_file(tmp_path / "public", "x", PLAN)
        write_file(tmp_path / "private", "x", PLAN, private=True)
    finally:
        os.umask(before)
    assert (mode(tmp_path / "public"), mode(tmp_path / "private")) == (public, 0o600)


def test_what_breaks_off_leaves_the_old_file_and_nothing_else(tmp_path):
    write_file(tmp_path / "a", OURS, PLAN)
    for error in (OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError("x")):
        with pytest.raises((UsageError, KeyboardInterrupt, ValueError)):
            write_meanwhile(tmp_path / "a", PLAN, lambda _, e=error: fail(e))
    assert (tmp_path / "a").read_text() == OURS
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no/folder", "no such folder"),
        (".", "folder|directory"),
        ("..", "folder|directory"),
        ("x" * 300, "too long"),
        ("a\0b", "file name"),
        ("fifo", "not an ordinary file"),
    ],
)
def test_places_that_cannot_be_written_are_refused_in_plain_words(tmp_path, name, words):
    os.mkfifo(tmp_path / "fifo")
    for check in (require_place, lambda *a: write_file(a[0], b"new", a[1])):
        with pytest.raises(UsageError, match=f"(?i){words}"):
            check(f"{tmp_path}/{name}", PLAN)


def test_a_device_is_no_place():
    with pytest.raises(UsageError, match="not an ordinary file"):
        require_place("/dev/null", PLAN)


def test_kinds_by_digest_know_exactly_what_was_written(tmp_path):
    import hashlib

    write_file(tmp_path / "a", "one", NEVER)
    kind = FileKind.listed("figure", [hashlib.sha256(b"one").hexdigest()])
    write_file(tmp_path / "a", "two", kind)
    with pytest.raises(UsageError, match="no figure"):
        write_file(tmp_path / "a", "three", kind)


def test_no_other_file_of_the_software_opens_one_for_writing():
    """The class of the mistake: whoever writes a file writes it here, or to a folder of its own."""
    source = Path(dx.__file__).parent
    known = {
        "formats/file_access.py",
        "ledger/journal.py",  # the ledger itself: made once, exclusively, and then SQLite's
        "ledger/witness.py",  # appended to under its lock
        "engines/files/parquet.py",  # engines write by name, into a private folder
        "engines/sql/duckdb/duckdb_database.py",
        "engines/files/apart_reader.py",  # the pipe through which it answers
        "start.py",  # standard error, on the null device
    }
    found = []
    for path in source.rglob("*.py"):
        name = path.relative_to(source).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [*node.args, *(k.value for k in node.keywords)]
            modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            for_writing = any(len(m) < 4 and set(m) & set("wax+") for m in modes)
            opened = called in ("open", "fdopen") and for_writing
            writes = opened or called in ("write_text", "write_bytes", "touch")
            if writes and name not in known:
                found.append(f"{name}:{node.lineno} {called}")
    assert not found
