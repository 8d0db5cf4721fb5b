"""No command destroys what it reads, follows a planted link, or takes a file for a folder."""

import json
import os

import pytest

from contracts.curator import CURATOR

INPUTS = ("ledger.db", "ledger.db.witness", "policy.toml", "people.csv", "places.csv", "ledger.db-wal", "ask.toml")


def kept(folder):
    """Every file's bytes; SQLite's own scratch files come and go."""
    scratch = ("ledger.db-shm", "ledger.db-wal")
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name not in scratch}


@pytest.fixture
def spent(town, dxp, planned):
    """A town with a release, and with the plan of a second one."""
    (town / "ask.toml").write_text('[[query]]\ntext = "count by sex"\n')
    dxp("release", planned("count by sex", "--budget", "20%").name, "--data", "people.csv", *CURATOR).fine()
    return planned("count by age", "--budget", "20%")


def unharmed(town, dxp, *call, words="works with|is there already|ends in|draw"):
    import re

    before = kept(town)
    called = dxp(*call)
    assert called.code == 2, (call, called)
    assert re.search(words, called.err), called.err
    assert kept(town) == before
    return called


@pytest.mark.parametrize("target", INPUTS)
@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_a_plan_never_replaces_what_it_was_made_from(town, dxp, spent, target, option):
    unharmed(town, dxp, "plan", "policy.toml", "--queries", "ask.toml", "--ledger", "ledger.db", option, target)
    for suffix in (".json", ".html"):  # under a name that fits the kind, by a hard link
        if (town / target).exists():
            os.link(town / target, town / f"linked{suffix}")
            call = (
                "plan",
                "policy.toml",
                "--queries",
                "ask.toml",
                "--ledger",
                "ledger.db",
                "--plot",
                f"linked{suffix}",
            )
            unharmed(town, dxp, *call)


def test_a_plan_that_names_no_ledger_still_leaves_one_alone(town, dxp, spent):
    for target in INPUTS:
        if (town / target).exists():
            unharmed(town, dxp, "plan", "policy.toml", "count by home", "--out", target)


def test_init_never_replaces_its_data_nor_anything_but_a_policy_of_its_own(town, dxp, spent):
    for target in ("people.csv", "places.csv", "ledger.db", "ledger.db.witness", "policy.toml"):
        for overwrite in ([], ["--overwrite"]):
            unharmed(town, dxp, "init", "people.csv", "--out", target, *overwrite)
    dxp("init", "people.csv", "--out", "new.toml").fine()
    unharmed(town, dxp, "init", "people.csv", "--out", "new.toml", words="--overwrite")
    dxp("init", "people.csv", "--out", "new.toml", "--overwrite").fine()


def test_synthetic_records_never_replace_data(town, dxp, spent):
    (town / "wave1.csv").write_bytes((town / "people.csv").read_bytes())  # other data, of the same columns
    for target in ("people.csv", "places.csv", "wave1.csv"):
        call = (
            "synth",
            "policy.toml",
            "count by home",
            "--data",
            "people.csv",
            "--budget",
            "10%",
            "--method",
            "direct",
        )
        unharmed(town, dxp, *call, "--out", target, "--overwrite")
        unharmed(town, dxp, *call, "--out", target)
    unharmed(town, dxp, *call, "--plot", "people.csv")
    assert json.loads(dxp("ledger", "ledger.db", "--json").fine().out)["entries"][1:] == []


def test_synthetic_records_may_replace_themselves(town, dxp, spent):
    call = ("synth", "policy.toml", "count by home", "--data", "people.csv", "--budget", "10%", "--method", "direct")
    call += ("--anyway",)
    dxp(*call, "--out", "s.csv").fine()
    dxp(*call, "--out", "s.csv", "--overwrite").fine()
    (town / "s.csv").write_text("sex,age,home\nF,1,1\n")
    unharmed(town, dxp, *call, "--out", "s.csv", "--overwrite", words="no file of synthetic records that dxp wrote")


@pytest.mark.parametrize("end", [".json", ".csv", ".html"])
def test_a_link_planted_under_the_name_of_a_release_is_not_followed(town, dxp, spent, end):
    """The attack that went through: the name can be known beforehand, and led to the data."""
    name = spent.stem.removeprefix("plan-")
    (town / f"release-{name}{end}").symlink_to("people.csv")
    call = ("release", spent.name, "--data", "people.csv", "--policy", "policy.toml", "--html")
    called = unharmed(town, dxp, *call, words="links are not followed")
    assert "Nothing spent, no data read." in called.err
    (town / f"release-{name}{end}").unlink()
    dxp(*call).fine()


def test_a_file_planted_under_the_name_of_a_release_is_not_replaced_and_nothing_is_spent(town, dxp, spent):
    name = spent.stem.removeprefix("plan-")
    (town / f"release-{name}.csv").write_text("precious\n")
    call = ("release", spent.name, "--data", "people.csv", "--policy", "policy.toml")
    unharmed(town, dxp, *call, words="is no table of released answers that dxp wrote")
    assert len(json.loads(dxp("ledger", "ledger.db", "--json").fine().out)["entries"]) == 1


def test_choices_exports_and_pages_do_not_follow_links_either(town, dxp, spent):
    choose = ("select", "policy.toml", "most common sex", "--budget", "5%")
    chosen = json.loads(dxp(*choose, "--n-records", 400, "--json").fine().out)["name"]
    for name, call in [
        (f"selection-{chosen}.json", (*choose, "--data", "people.csv")),
        ("journal.jsonl", ("ledger", "ledger.db", "--export", "journal.jsonl")),
        ("ledger-town-1.html", ("ledger", "ledger.db", "--html")),
        ("check-town-1.html", ("check", "policy.toml", "--html")),
    ]:  # fmt: skip
        (town / name).symlink_to("people.csv")
        unharmed(town, dxp, *call, words="links are not followed|works with")
        (town / name).unlink()
        dxp(*call).fine()
    unharmed(town, dxp, "ledger", "ledger.db", "--export", "ledger.db-wal", words="works with|is there already")


def test_what_only_the_curator_needs_is_for_nobody_else_and_a_publication_for_everybody(town, dxp, spent):
    before = os.umask(0o022)
    try:
        dxp("ledger", "ledger.db", "--export", "journal.jsonl").fine()
        dxp("ledger", "ledger.db", "--html").fine()
        dxp("release", spent.name, "--data", "people.csv", "--policy", "policy.toml", "--out", "public").fine()
    finally:
        os.umask(before)
    modes = {p.name: p.stat().st_mode & 0o777 for p in (*town.iterdir(), *(town / "public").iterdir())}
    assert modes["journal.jsonl"] == modes["ledger-town-1.html"] == modes["ledger.db"] == 0o600
    assert {mode for name, mode in modes.items() if name.startswith("release-")} == {0o644}


@pytest.mark.parametrize("name", ["x.json", "x.csv", "x.HTML", "sub/x.json"])
def test_a_folder_that_looks_like_a_file_is_refused_with_the_remedy(town, dxp, spent, name):
    for call in (
        ("release", spent.name, "--data", "people.csv", "--policy", "policy.toml", "--out", name),
        ("select", "policy.toml", "most common sex", "--data", "people.csv", "--out", name),
        ("demo", "--write", name),
        ("reproduce", "fig1b", "--out", name),
    ):
        called = unharmed(town, dxp, *call, words="is a folder, and .* looks like a file")
        assert f"→ {call[-2]} " in called.err
        assert not (town / name).exists()


def test_a_name_that_stands_in_a_ledger_never_enters_a_path(town, dxp, spent, monkeypatch):
    """A stored release says what it is called; files are named after the plan, which is a digest."""
    from dxprivacy.releases.release import Release

    (town / "deep").mkdir()
    written = Release.to_json

    def renamed(self):
        data = json.loads(written(self))
        return json.dumps(data | {"name": "../../escaped"})

    call = ("release", spent.name, "--data", "../people.csv", "--policy", "../policy.toml")
    monkeypatch.chdir(town / "deep")
    with monkeypatch.context() as hostile:
        hostile.setattr(Release, "to_json", renamed)
        dxp("release", f"../{call[1]}", *call[2:]).fine()
    again = dxp("release", f"../{call[1]}", *call[2:], "--html").fine()
    assert "repeated" in again.out
    assert not list(town.rglob("*escaped*"))
    name = spent.stem.removeprefix("plan-")
    assert {p.name for p in (town / "deep").iterdir()} == {f"release-{name}{end}" for end in (".json", ".csv", ".html")}


@pytest.mark.slow  # short form: tests/unit/cli/test_cli_demo.py
def test_a_demo_is_replaced_only_where_all_of_it_is_a_demo(town, dxp):
    unharmed(town, dxp, "demo", "--write", town, "--overwrite", words="holds other files")
    dxp("demo", "--write", "demo").fine()
    text = (town / "demo" / "policy.toml").read_text()
    (town / "demo" / "policy.toml").write_text(text + "\n# edited\n")
    unharmed(town, dxp, "demo", "--write", "demo", "--overwrite", words="holds other files")
    (town / "demo" / "policy.toml").write_text(text)
    dxp("demo", "--write", "demo", "--overwrite").fine()


def test_an_export_that_is_there_already_is_refused_without_an_option_that_is_none(town, dxp, spent):
    called = dxp("ledger", "ledger.db", "--export", "people.csv")
    assert called.code
    assert "is there already" in called.err
    assert "--overwrite" not in called.err
    assert "another name" in called.err


@pytest.mark.parametrize("end", ["-wal", "-shm", ".witness"])
@pytest.mark.parametrize("new", [True, False])
def test_links_planted_for_a_ledgers_own_files_lead_nowhere(town, dxp, spent, end, new):
    before = (town / "people.csv").read_bytes()
    if new:
        for path in town.glob("ledger.db*"):
            path.unlink()
    (town / f"ledger.db{end}").unlink(missing_ok=True)
    (town / f"ledger.db{end}").symlink_to("people.csv")
    called = dxp("release", spent.name, "--data", "people.csv", *CURATOR, "--anyway")
    assert called.code in (0, 7), called  # SQLite removes a -wal file that is none
    assert (town / "people.csv").read_bytes() == before
