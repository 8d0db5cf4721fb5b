"""`dxp reproduce`: figures, report, resuming, and what is refused."""

import json
import re
import sys

import pytest

from dxprivacy.paper.experiment import Settings
from dxprivacy.paper.figure_folder import ENDINGS
from dxprivacy.paper.figures import NAMES
from dxprivacy.paper.reproducing import reproduce

FEW = ("--universes", "2", "--quick")
SETTINGS = Settings(universes=2, quick=True)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two figures, measured by one process."""
    folder = tmp_path_factory.mktemp("made") / "out"
    return reproduce(["fig1a", "fig4"], out=folder, settings=SETTINGS, processes=1)


def test_every_figure_is_written_in_four_forms_and_the_report_holds_them(made):
    for name in ("fig1a", "fig4"):
        for ending in ENDINGS:
            assert (made.folder / f"{name}{ending}").stat().st_size > 100
        assert json.loads((made.folder / f"{name}.vl.json").read_text())["config"]
    page = made.report.read_text(encoding="utf-8")
    assert page.count("<section") == page.count("<svg") == 2
    assert "dxp reproduce fig4 --universes 2 --seed 2020 --quick" in page
    assert "one universe" not in page.lower().partition("fig. 1a")[0]
    assert "for T = 2 Blowfish is better than smooth" in page
    assert made.figures["fig4"].found.split(";")[0] in page
    assert not re.search(r"<(script|link|img|iframe)|src=|@import", page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.slow  # three runs; the other tests of this file are the short forms
def test_the_same_seed_gives_the_same_csv_files_whatever_the_number_of_processes(made, tmp_path):
    again = reproduce(["fig4", "fig1a"], out=tmp_path / "two", settings=SETTINGS, processes=2)
    for name in ("fig1a", "fig4"):
        assert (again.folder / f"{name}.csv").read_bytes() == (made.folder / f"{name}.csv").read_bytes()
    other = reproduce(["fig1a"], out=tmp_path / "seed", settings=Settings(2, 7, quick=True))
    assert (other.folder / "fig1a.csv").read_bytes() != (made.folder / "fig1a.csv").read_bytes()


def test_the_screen_says_what_was_found_and_ends_with_the_next_command(here, dxp):
    called = dxp("reproduce", "fig1b", *FEW, "--out", "my figures").fine()
    assert called.lines[0] == "✓ 1 figure · 2 universes, seed 2020, quick · my figures"
    assert "Mean factor of a universe" in called.out
    assert called.lines[-1] == "Next: python -m webbrowser 'my figures/report.html'"
    assert (here / "my figures" / "report.html").exists()
    kept = dxp("reproduce", "fig1b", *FEW, "--out", "my figures").fine()
    assert "(kept)" in kept.out
    told = json.loads(dxp("reproduce", "fig1b", *FEW, "--out", "my figures", "--json").fine().out)
    assert told["kept"] == ["fig1b"]
    assert told["figures"]["fig1b"]["facts"]["median_of_means"] > 1


@pytest.mark.slow  # a run of its own; the other tests of this file are the short forms
def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    out = tmp_path / "out"

    def stop(name, done, total):
        if name != "fig1a":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(["fig1a", "fig1c"], out=out, settings=SETTINGS, processes=1, progress=stop)
    assert sorted(p.name for p in out.glob("fig*.csv")) == ["fig1a.csv"]
    assert not list(out.glob(".*"))
    seen = []
    done = reproduce(
        ["fig1a", "fig4"], out=out, settings=SETTINGS, processes=1, progress=lambda name, *_: seen.append(name)
    )
    assert done.kept == ("fig1a",)
    assert set(seen) == {"fig4"}


def test_a_damaged_or_missing_file_is_made_again(made, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for file in made.folder.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    good = (out / "fig1a.csv").read_bytes()
    (out / "fig1a.csv").write_bytes(good + b"1,2\n")
    done = reproduce(["fig1a", "fig4"], out=out, settings=SETTINGS)
    assert done.kept == ("fig4",)
    assert (out / "fig1a.csv").read_bytes() == good


def test_an_unknown_figure_is_refused_with_the_known_ones(here, dxp):
    called = dxp("reproduce", "fig1", "--out", "x")
    assert called.code == 2
    assert "no figure “fig1”" in called.err
    for name in NAMES:
        assert name in called.err
    assert "did you mean this?" in called.err
    assert not (here / "x").exists()


@pytest.mark.parametrize(
    "wrong",
    [("--universes", "0"), ("--universes", "-3"), ("--universes", "many"), ("--universes", "1000000"), ("--seed", "-1"),
     ("--seed", str(2**63)), ("--seed", "x"), ("--quik",)],
)  # fmt: skip
def test_numbers_that_make_no_sense_are_refused(wrong, here, dxp):
    called = dxp("reproduce", "fig1a", *wrong)
    assert called.code == 2
    assert called.err.startswith("✗")
    assert not (here / "reproduction").exists()


def test_a_folder_with_other_files_is_refused_and_they_are_never_touched(here, dxp):
    out = here / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    called = dxp("reproduce", "fig1a", *FEW, "--out", "out")
    assert called.code == 2
    assert "out is not empty" in called.err
    assert "--overwrite" in called.err
    assert [p.name for p in out.iterdir()] == ["thesis.txt"]
    dxp("reproduce", "fig1a", *FEW, "--out", "out", "--overwrite").fine()
    assert (out / "thesis.txt").read_text() == "mine"
    assert (out / "fig1a.png").exists()


@pytest.mark.slow  # a run of its own; the other tests of this file are the short forms
def test_a_run_with_other_parameters_is_replaced_only_with_overwrite(made, here, dxp):
    out = here / "out"
    out.mkdir()
    for file in made.folder.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    called = dxp("reproduce", "fig1a", *FEW, "--seed", "5", "--out", "out")
    assert called.code == 2
    assert "other parameters" in called.err
    assert "seed 2020" in called.err
    dxp("reproduce", "fig1a", *FEW, "--seed", "5", "--out", "out", "--overwrite").fine()
    assert not (out / "fig4.csv").exists()  # of the other run
    assert set(json.loads((out / "manifest.json").read_text())["figures"]) == {"fig1a"}


@pytest.mark.slow  # a run of its own; the other tests of this file are the short forms
def test_overwrite_measures_anew_what_was_asked_for_and_keeps_the_rest(made, here, dxp):
    out = here / "out"
    out.mkdir()
    for file in made.folder.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    told = json.loads(dxp("reproduce", "fig1a", *FEW, "--out", "out", "--overwrite", "--json").fine().out)
    assert told["kept"] == []
    assert set(json.loads((out / "manifest.json").read_text())["figures"]) == {"fig1a", "fig4"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"format": "dxprivacy reproduction 1"}', '{"format": 7, "figures": {}}']
)
def test_a_manifest_that_is_not_ours_makes_a_folder_one_of_other_files(text, here, dxp):
    (here / "out").mkdir()
    (here / "out" / "manifest.json").write_text(text)
    called = dxp("reproduce", "fig1a", *FEW, "--out", "out")
    assert (called.code, "not empty" in called.err) == (2, True)


@pytest.mark.parametrize("out", ["file", "file/inside"])
def test_a_folder_that_cannot_be_written_is_refused(out, here, dxp):
    (here / "file").write_text("x")
    called = dxp("reproduce", "fig1a", *FEW, "--out", out)
    assert called.code == 2
    assert "bug" not in called.err


def test_without_the_extra_nothing_is_begun(here, dxp, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    called = dxp("reproduce", "fig1a", *FEW)
    assert called.code == 2
    assert "dxprivacy[plots]" in called.err
    assert not (here / "reproduction").exists()


def test_help_lists_all_figures(here, dxp):
    called = dxp("reproduce", "--help").fine()
    for name in NAMES:
        assert re.search(rf"^ +(Figures: +)?{name} ", called.out, re.MULTILINE), name
