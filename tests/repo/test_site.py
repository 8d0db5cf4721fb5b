"""The site's own machinery, and the first tutorial followed by a script from an empty folder."""

import re
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
pytest.importorskip("sphinx", reason="Sphinx comes with `make docs`")
sys.path.insert(0, str(ROOT / "docs" / "_ext"))


def test_every_public_name_has_a_group_and_an_example():
    import public_names

    found = public_names.public()
    assert len(found) >= 120
    assert {name for _, names in public_names.groups(found).values() for name in names} == set(found)
    for name, value in found.items():
        assert public_names.page_of(name, value)


BLOCK = re.compile(r"^```\{(shell|shell-file)\} ?(\S*)\n((?::\w+:[^\n]*\n)*)(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_first_tutorial_can_be_followed_in_five_minutes(tmp_path, monkeypatch):
    from shell import commands_of, run

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    page = (ROOT / "docs" / "tutorials" / "first-release.md").read_text(encoding="utf-8")
    began, ran = time.monotonic(), 0
    for kind, name, options, text in BLOCK.findall(page):
        if kind == "shell-file":
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        for command in commands_of(text.splitlines()):
            code, said = run(command, tmp_path)
            assert (code != 0) == (":fails:" in options), f"{command}\n{said}"
            ran += 1
    assert ran >= 10
    assert time.monotonic() - began <= 300
    assert list(tmp_path.glob("release-*.csv"))


def test_a_command_that_fails_is_noticed(tmp_path):
    from shell import run

    assert run("dxp no-such-command", tmp_path)[0] != 0
