"""No import hides a cycle: inside the package functions import nothing of ours, and no module needs itself.

The only exceptions keep the start light: which command is called, which engine is needed, whether the verifier meets
so many places that it needs numpy, and whether a query is in SQL, for which sqlglot may be missing, is known late.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dxprivacy

SOURCES = Path(dxprivacy.__file__).parent
LIGHT = ("cli/", "start.py", "engines/open_source.py")
LATE = {
    "verify/directions.py": {"verify.moves"},
    "verify/distances.py": {"verify.spaces", "verify.walks"},
    "queries/sql/__init__.py": {"queries.sql.select"},
}
FILES = {str(p.relative_to(SOURCES)): p for p in SOURCES.rglob("*.py")}


def imported(tree):
    """The modules of ours that a piece of code imports from, also for types alone."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dxprivacy":
            inside = node.module.removeprefix("dxprivacy").lstrip(".")
            for name in node.names:
                both = (f"{inside}.{name.name}".lstrip("."), inside)
                found.add(next((module for module in both if module in MODULES), inside))
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix("dxprivacy.") for a in node.names if a.name.startswith("dxprivacy.")}
    return found - {""}


def module_of(name):
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


MODULES = {module_of(name): path for name, path in FILES.items() if name != "__init__.py"}


INSIDE = re.compile(r"^(?!from |import ).*\b(from|import)\s+dxprivacy", re.MULTILINE)


def trees(where=re.compile("")):
    """The code of all files whose text matches a pattern: to parse all of them takes seconds."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}
    return {name: ast.parse(text) for name, text in texts.items() if where.search(text)}


def test_functions_import_nothing_of_ours():
    found = {}
    for name, tree in trees(INSIDE).items():
        functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        found[name] = set().union(*(imported(f) for f in functions)) - LATE.get(name, set())
    assert not {name: modules for name, modules in found.items() if modules and not name.startswith(LIGHT)}
    assert any(found[name] for name in found if name.startswith("cli/")), "or this test looks for the wrong thing"


# Not made small: a cycle may go through any modules.
def test_no_module_needs_itself_not_even_for_types():
    graph = {module_of(n): imported(t) - {module_of(n)} for n, t in trees().items() if not n.startswith(LIGHT)}
    graph.pop("__init__")
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
    assert order.index("errors") < order.index("mechanisms.linear.plan") < order.index("session.session")
