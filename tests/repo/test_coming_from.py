"""docs/coming-from.md quotes programs as they are, and ours print what it shows, but for noise.

`python -m benchmarks.coming_from` runs the peers' programs in environments of their own; `make soak` does so, too.
"""

import re
import runpy
import shutil
from fractions import Fraction

import pytest
from benchmarks import coming_from, peers

import dxprivacy as dx
from contracts.long_forms import mostly_slow

pytestmark = pytest.mark.site

PAGE = coming_from.PAGE.read_text(encoding="utf-8")
QUOTED = coming_from.blocks(PAGE, "quotes")
PRINTED = coming_from.blocks(PAGE, "printed by")
PROGRAMS = [file for peer in (*coming_from.PEERS, "ours") for file in coming_from.programs(peer)]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
# How far two releases may lie apart: more than thirty times the scale of their noise, or nothing where there is none.
APART = {"budget.py": 0, "counts.py": 40, "mean.py": 10, "median.py": 15, "by_hand.py": 40}


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    for path in coming_from.FOLDER.iterdir():
        if path.suffix in (".csv", ".toml"):
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said_by(file, capsys):
    runpy.run_path(str(coming_from.FOLDER / file), run_name="__main__")
    return coming_from.shown(capsys.readouterr().out)


def alike(said, shown, **apart):
    """The same words in the same order, and numbers that lie no farther apart than that."""
    assert NUMBER.sub("#", said).split() == NUMBER.sub("#", shown).split()
    assert numbers(said) == pytest.approx(numbers(shown), **apart)


def numbers(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def test_every_program_and_its_output_are_on_the_page_and_no_others():
    assert {name for name in QUOTED if name.endswith(".py")} == set(PROGRAMS) == set(PRINTED)
    assert all(text.strip() for text in PRINTED.values())


@pytest.mark.parametrize("name", QUOTED)
def test_files_are_quoted_as_they_are(name):
    assert QUOTED[name] == coming_from.quoted(name)


def test_the_page_is_as_the_command_writes_it():
    assert coming_from.renewed(PAGE, PRINTED, {}) == PAGE
    assert [peer for peer, line in coming_from.RAN.findall(PAGE) if line] == [*coming_from.PEERS, "ours"]


def test_what_a_peer_printed_stays_where_it_cannot_run():
    first = "opendp/counts.py"
    page = coming_from.renewed(PAGE, {first: "new\n"}, {"opendp": "opendp 1"})
    assert coming_from.blocks(page, "printed by") == {**PRINTED, first: "new"}
    assert dict(coming_from.RAN.findall(page))["opendp"] == "opendp 1"


def test_the_table_is_what_its_program_writes(tmp_path):
    shutil.copy(coming_from.FOLDER / "make_people.py", tmp_path)
    runpy.run_path(str(tmp_path / "make_people.py"), run_name="__main__")
    assert (tmp_path / "people.csv").read_bytes() == (coming_from.FOLDER / "people.csv").read_bytes()


@pytest.mark.parametrize(
    "file",
    mostly_slow(
        [file for file in coming_from.programs("ours") if "graded" not in file], ["ours/counts.py", "ours/mean.py"]
    ),
)
def test_our_programs_print_what_the_page_shows_but_for_noise(file, workshop, capsys):
    alike(said_by(file, capsys), PRINTED[file], rel=0, abs=APART[file.split("/")[1]])


@pytest.mark.parametrize("file", [file for file in coming_from.programs("ours") if "graded" in file])
def test_errors_of_the_graded_policy_are_those_on_the_page(file, workshop, capsys):
    alike(said_by(file, capsys), PRINTED[file], rel=0.01)


def test_opendp_by_hand_runs_here_and_prints_what_the_page_shows_but_for_noise(workshop, capsys):
    pytest.importorskip("opendp.prelude")
    file = "opendp/by_hand.py"
    alike(said_by(file, capsys), PRINTED[file], rel=0, abs=APART["by_hand.py"])


@pytest.mark.parametrize(("policy", "apart"), [("plain.toml", 2), ("plain-replace.toml", 1)])
def test_the_plain_policies_have_one_epsilon_for_all_pairs(policy, apart):
    metric = dx.Policy.load(coming_from.FOLDER / policy).metric
    size = metric.universe.size
    records = range(0, size - (apart == 2), 17)
    assert {metric.exact(i, j) for i in records for j in records if i != j} == {Fraction(apart)}
    if apart == 2:
        assert {metric.exact(i, size - 1) for i in records} == {Fraction(1)}


@pytest.mark.soak
@pytest.mark.parametrize("file", [file for file in PROGRAMS if not file.startswith("ours/")])
def test_programs_of_peers_run_in_environments_of_their_own(file):
    try:
        said, _ = coming_from.output(file)
    except peers.Unavailable as error:
        pytest.skip(f"{file}: {error}")
    words = re.compile(r"[^\W\d_]+")
    assert words.findall(said) == words.findall(PRINTED[file])
