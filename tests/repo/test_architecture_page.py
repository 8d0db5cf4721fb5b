"""docs/architecture.md is true: every package is in it, whatever it names exists, and every page is in the index."""

import re
from pathlib import Path

import pytest

import dxprivacy

ROOT = Path(__file__).parents[2]
SOURCES = Path(dxprivacy.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py(?:: [\w.]+)?)`", PAGE)))


def test_every_package_is_in_the_table_and_no_other():
    rooms = {p.stem for p in SOURCES.iterdir() if (p.is_dir() or p.suffix == ".py") and not p.stem.startswith("_")}
    tree = PAGE.split("## The path of one answer")[0]
    first_cells = [line.split("|")[1] for line in tree.splitlines() if line.startswith("| `")]
    told = {name.split("/")[0] for cell in first_cells for name in re.findall(r"`([a-z_]+)", cell)}
    assert told == rooms - {"start", "py"}


@pytest.mark.parametrize("named", NAMED)
def test_whatever_is_named_exists(named):
    path, _, name = named.partition(": ")
    file = ROOT / path if path.startswith("tests/") else SOURCES / path
    text = file.read_text(encoding="utf-8")
    for part in name.split(".") if name else ():
        assert re.search(rf"^\s*(def|class) {part}\b|^{part} =", text, re.MULTILINE), part


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    trees = "".join(re.findall(r"^```\{toctree\}\n(.*?)^```", index, re.MULTILINE | re.DOTALL))
    pages = {p.stem for p in (ROOT / "docs").glob("*.md")} - {"index"}
    assert set(re.findall(r"^([\w-]+)$", trees, re.MULTILINE)) == pages
    assert "adr/*" in (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")


def test_decisions_are_numbered_without_gaps():
    numbers = sorted(int(p.name[:4]) for p in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert numbers == list(range(1, len(numbers) + 1))
