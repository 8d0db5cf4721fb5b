"""What a page tells a reader to type runs, or is understood where it needs a server.

Pages with `{code-cell}` and `{shell}` blocks run when the site is built (`make docs`); these are the others.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import dxprivacy as dx
from dxprivacy.cli import dxp

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
SERVERS = ("postgresql:", "service=", "spark:", "sc:")
FILES = {  # what people.csv holds, where a command is about files that look otherwise
    "--delimiter": "name;born;paid\nAnn;01.02.2000;17,5\n",
    "--no-header": "Ann,30,Ulm\nBob,40,Bonn\n",
}


def blocks(kind: str) -> list[tuple[str, str]]:
    """(page, text) of every block of a kind."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    found = ((p.name, re.findall(rf"^```{kind}\n(.*?)^```", p.read_text(encoding="utf-8"), re.M | re.S)) for p in pages)
    return [(name, text) for name, texts in found for text in texts]


COMMANDS = [(page, line) for page, text in blocks("sh") for line in text.splitlines() if line.startswith("dxp ")]
ELSEWHERE = ("coming-from.md",)  # programs beside their own data, and those of peers: tests/repo/test_coming_from.py
PROGRAMS = [(page, text) for page, text in blocks("python") if page not in ELSEWHERE]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A folder as the pages have it: a policy, its data in several forms, a plan."""
    folder = tmp_path_factory.mktemp("survey")
    for name in ("policy.toml", "people.csv"):
        shutil.copy(ROOT / "examples" / "household" / name, folder)
    import duckdb

    with duckdb.connect(folder / "survey.duckdb") as con:
        con.execute(f"CREATE TABLE people AS FROM read_csv('{folder}/people.csv', all_varchar = false)")
        con.execute(f"COPY people TO '{folder}/people.parquet'")
        (folder / "waves").mkdir()
        con.execute(f"COPY people TO '{folder}/waves/1.parquet'")
    policy = dx.Policy.load(folder / "policy.toml")
    dx.plan("count by sex", policy.metric, n_records=2000, budget="10%", dataset=policy.dataset).save(
        folder / "plan.json"
    )
    return folder


def run(command: list[str] | str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    return subprocess.run(
        command, cwd=folder, env=env, shell=isinstance(command, str), capture_output=True, text=True, check=False
    )


def understood(line: str) -> None:
    """The command and its options exist, without anything being done."""
    words = shlex.split(line, comments=True)[1:]
    with click.Context(dxp) as context:
        command = dxp.get_command(context, words[0])
        assert command is not None
        command.make_context(words[0], words[1:], parent=context)


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{p}:{k}" for k, (p, _) in enumerate(COMMANDS)])
def test_a_command_of_a_page_runs(page, line, survey, tmp_path):
    if any(word.startswith(SERVERS) for word in shlex.split(line, comments=True)):
        understood(line)  # tests/engines has such servers
        return
    folder = tmp_path / "here"
    shutil.copytree(survey, folder)
    text = next((text for option, text in FILES.items() if option in line), None)
    if text:
        (folder / "people.csv").write_text(text, encoding="utf-8")
        (folder / "policy.toml").unlink()
    if line.startswith("dxp synth"):
        line = line.replace("marginals 2", "marginals 2 of sex, native")
    first = "--new-ledger" if "--data" in line and line.split()[1] not in ("check", "inspect") else ""
    typed = line.partition("  #")[0].replace("> ", "> /dev/null #")  # nothing is written outside of the folder
    done = run(f"{typed} {first}", folder)
    assert done.returncode == 0, f"{page}: {line}\n{done.stderr}"


DEMO = "dx.Session('demo/policy.toml', 'demo/people.parquet', ledger='l.db', new_ledger=True)"
SETTING = {
    "pictures.md": f"import dxprivacy as dx\nsession = {DEMO}\n",
    "selections.md": "import dxprivacy as dx\nscores, d = [3, 5, 9], dx.metrics.constant(3, 1)\n",
}


@pytest.mark.parametrize(("page", "text"), PROGRAMS, ids=[f"{p}:{k}" for k, (p, _) in enumerate(PROGRAMS)])
def test_a_program_of_a_page_runs(page, text, survey, tmp_path):
    folder = tmp_path / "here"
    shutil.copytree(survey, folder)
    if page == "pictures.md":
        assert run("dxp demo --write demo", folder).returncode == 0
    text = text.replace('"marginals 2"', '"marginals 2 of sex, native"')
    done = run([sys.executable, "-c", SETTING.get(page, "import dxprivacy as dx\n") + text], folder)
    assert done.returncode == 0, f"{page}: {done.stderr}"


def test_there_is_something_to_run():
    assert len(COMMANDS) >= 10
    assert len(PROGRAMS) >= 4
