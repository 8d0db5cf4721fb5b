"""docs/theorems.md covers every numbered item of the paper, and everything that it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import dxprivacy as dx

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")

ITEMS = {
    *(f"Definition {k}" for k in range(1, 12)),
    *(f"Theorem {k}" for k in range(1, 12)),
    *(f"Algorithm {k}" for k in range(1, 4)),
    *(f"Figure {k}" for k in ("1a", "1b", "1c", "1d", "2a", "2b", "3a", "3b", "4a", "4b")),
    *(f"Correction {k}" for k in range(1, 18)),
    "Fact 1.1", "Fact 1.2", "Fact 1.3", "Example 1", "Proposition 1", "Appendix A", "Appendix B", "Appendix C",
}  # fmt: skip


def rows(page: str) -> list[list[str]]:
    """The lines of all tables, each in cells."""
    lines = [line for line in page.splitlines() if line.startswith("|") and not set(line) <= set("|- ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def named(page: str) -> set[str]:
    """The items that stand in bold at the front of a line."""
    return {item for row in rows(page) for item in re.findall(r"\*\*([A-Z][a-z]+ [0-9A-Z][0-9a-z.]*)\*\*", row[0])}


def test_every_numbered_item_of_the_paper_stands_on_the_page():
    assert named(PAGE) == ITEMS


@pytest.mark.parametrize("item", sorted(ITEMS))
def test_the_page_would_miss_an_item_that_is_removed(item):
    without = "\n".join(line for line in PAGE.splitlines() if f"**{item}**" not in line)
    assert item not in named(without)


def codes(column: int) -> list[str]:
    found = [code for row in rows(PAGE) if row[0] != "statement" for code in re.findall(r"`([^`]+)`", row[column])]
    assert len(found) > 30
    return sorted(set(found))


def defined(file: Path) -> set[str]:
    """Functions, classes and Class.method of a file."""
    out: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            out.add(node.name)
        if isinstance(node, ast.ClassDef):
            out |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return out


def exists(code: str) -> bool:
    """A path below src/dxprivacy, the project or tests, perhaps with names in it; or a public name."""
    path, _, names = code.partition(": ")
    if "/" in path or path.endswith(".py"):
        places = [p for p in (ROOT / "src" / "dxprivacy" / path, ROOT / path) if p.exists()]
        if not places:
            return False
        return not names or all(name.strip() in defined(places[0]) for name in names.split(","))
    owner: object = dx
    for part in path.removeprefix("dx.").split("."):
        owner = getattr(owner, part, None)
    return owner is not None


@pytest.mark.parametrize("code", codes(1))
def test_every_named_function_exists(code):
    assert exists(code)


@cache
def all_tests() -> set[str]:
    found = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        found |= set(re.findall(r"def (test_\w+)\(", file.read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize("code", codes(2))
def test_every_named_test_exists(code):
    assert code in all_tests() if code.startswith("test_") and not code.endswith(".py") else (ROOT / code).exists()
