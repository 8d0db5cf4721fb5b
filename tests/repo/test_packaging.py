"""What is said about the package in several places is the same in all of them."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_the_same_everywhere():
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited.group(1) == PROJECT["project"]["version"] == version("dxprivacy")


def test_every_dependency_has_a_tested_range():
    extras = [one for some in PROJECT["project"]["optional-dependencies"].values() for one in some]
    for need in [*PROJECT["project"]["dependencies"], *extras]:
        assert ">=" in need, need
        assert "<" in need, need


def test_pins_have_digests_and_no_addresses():
    for path in ROOT.glob("requirements*.txt"):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text, path.name
        pinned = re.findall(r"^[\w.\[\]-]+==", text, re.MULTILINE)
        assert text.count("--hash=sha256:") >= len(pinned) > 0


def test_extras_are_pinned_too():
    text = (ROOT / "requirements-extras.txt").read_text(encoding="utf-8").lower()
    for some in PROJECT["project"]["optional-dependencies"].values():
        for need in some:
            assert re.search(rf"^{re.match(r'[a-z-]+', need).group()}\b.*==", text, re.MULTILINE), need


def test_what_a_newcomer_looks_for_is_there():
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "CODE_OF_CONDUCT.md",
        "SECURITY.md",
        "CITATION.cff",
        "CHANGELOG.md",
        "LICENSE",
    ):
        assert (ROOT / name).stat().st_size > 300, name
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([\w-]+)", contributing):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for link in re.findall(r"\]\(([^)#:]+)\)", contributing):
        assert (ROOT / link).exists(), link
