"""docs/nist-800-226.md claims only what something in the repository shows."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "nist-800-226.md").read_text(encoding="utf-8")
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
PYRAMID = (
    "Privacy parameters", "Unit of privacy", "Algorithms and correctness", "Utility and accuracy", "Bias",
    "Trust model and queries", "Side channels", "Security and access control", "Data collection exposure",
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(test_\w+)`", PAGE))))
def test_every_named_test_exists(name):
    assert f"def {name}(" in SOURCES


def test_every_part_of_the_pyramid_is_there_in_order():
    assert [h for h in re.findall(r"^## (.*)$", PAGE, re.MULTILINE) if h.startswith(PYRAMID)] == [
        next(h for h in re.findall(r"^## (.*)$", PAGE, re.MULTILINE) if h.startswith(part)) for part in PYRAMID
    ]


def test_every_part_says_what_is_not_done():
    for part in PAGE.split("\n## ")[1:-1]:
        assert "Not done" in part or part.startswith(("Bias", "Data collection"))


def test_every_named_command_and_target_exists():
    commands = (ROOT / "src" / "dxprivacy" / "cli" / "__init__.py").read_text(encoding="utf-8")
    for command in set(re.findall(r"`dxp (\w+)", PAGE)):
        assert f'"{command}":' in commands
    for target in set(re.findall(r"`make (\w+)`", PAGE)):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
