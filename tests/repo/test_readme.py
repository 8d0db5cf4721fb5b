"""The README's commands and programs run as printed, in at most 12 lines of Python or 3 shell commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.long_forms import mostly_slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def workshop(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def run(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path},
    )


@pytest.mark.parametrize("code", mostly_slow([body for kind, body in BLOCKS if kind == "python"], slice(-1, None)))
def test_python_programs_run_as_printed(code, workshop):
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    result = run([sys.executable, "-W", "error", "-c", code], workshop)
    assert result.returncode == 0, result.stderr
    assert result.stdout


SHELL = [body.strip().splitlines() for kind, body in BLOCKS if kind == "sh" and "dxp" in body]


def last_of(commands, folder):
    """What the last of some commands printed."""
    assert len(commands) <= 3
    for command in commands:
        result = run(command, folder)
        assert result.returncode == 0, result.stderr
    return result.stdout


# Not made small: these are the first commands that anybody types.
def test_shell_commands_run_as_printed(workshop):
    assert "Guarantee" in last_of(SHELL[0], workshop)
    left = run("dxp ledger ledger.db --policy examples/household/policy.toml", workshop)
    assert left.returncode == 0
    assert "1 release" in left.stdout


def test_the_make_targets_that_the_readme_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"make (\w+)", README)) - {"target"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_links_in_the_documents_lead_somewhere():
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            if not link.startswith("http"):
                assert (document.parent / link).exists(), f"{document.name}: {link}"


def test_theorems_name_only_files_and_tests_that_exist():
    text = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / name).exists(), name
    sources = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}" in sources, name
    for name in re.findall(r"`((?:model|bounds|planning|ledger|release|mechanisms|paper)/[\w/]+\.py)", text):
        assert (ROOT / "src" / "dxprivacy" / name).exists(), name


@pytest.mark.slow  # short form: tests/unit/cli/test_cli_synth.py
def test_synthetic_records_are_written_as_printed(workshop):
    said = last_of(SHELL[1], workshop)
    assert "direct is expected to be better" in said
    assert "20,000 records by direct" in said
    assert "nothing spent" in said  # the demo released these answers
    assert "synthetic answers lie within the released 95 % intervals" in said
    assert len((workshop / "synthetic.csv").read_text(encoding="utf-8").splitlines()) == 20_001
    assert len(SHELL) == 2


LONG = ("least_noise.py", "pictures.py")  # they draw pictures, for up to half a minute
SHORT = ("adaptive.py", "correlation.py")


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            path,
            id=path.name,
            marks=[pytest.mark.soak] if path.name in LONG else [] if path.name in SHORT else [pytest.mark.slow],
        )
        for path in sorted((ROOT / "examples").glob("*.py"))
    ],
)
def test_examples_run(example, workshop):
    result = run([sys.executable, "-W", "error", str(example)], workshop)
    assert result.returncode == 0, result.stderr
    assert result.stdout
