"""Imports inside functions hide cycles: inside the package there are only those that keep the start light, and these.

What is listed is to be mended, not to grow: a module that words are made of should not have to know its words.
"""

import ast
from pathlib import Path

import dxprivacy

SOURCES = Path(dxprivacy.__file__).parent
LIGHT = ("cli/", "start.py", "engines/opening.py")  # which command is called, and which engine is needed, is known late

CYCLES = {
    "engines/frames.py": {"engines.arrow"},
}


def inner_imports(path):
    """What functions of a file import from the package."""
    found = set()
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = {n.module for n in ast.walk(function) if isinstance(n, ast.ImportFrom) and n.module}
            found |= {name.removeprefix("dxprivacy.") for name in names if name.startswith("dxprivacy.")}
    return found


def test_functions_import_nothing_of_ours_but_what_is_known():
    files = {str(p.relative_to(SOURCES)): p for p in SOURCES.rglob("*.py")}
    found = {name: inner_imports(path) for name, path in files.items() if not name.startswith(LIGHT)}
    assert {name: modules for name, modules in found.items() if modules} == CYCLES
