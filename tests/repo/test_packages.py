"""Layout of the package: module names occur once, packages have a readable size, each lists a reading order."""

import ast
import re
from collections import Counter
from pathlib import Path

import dxprivacy

SOURCES = Path(dxprivacy.__file__).parent
PACKAGES = [p.parent for p in sorted(SOURCES.rglob("__init__.py")) if "verify" not in p.parts]
"""All but the verifier, which has a layout of its own."""
AT_MOST = 20


def modules_of(package):
    """The modules and packages that a package holds."""
    files = {p.stem for p in package.glob("*.py")} - {"__init__", "__main__"}
    return files | {p.parent.name for p in package.glob("*/__init__.py")}


def test_every_package_lists_its_modules_in_reading_order():
    for package in PACKAGES:
        if package == SOURCES:
            continue
        text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
        listed = re.findall(r"`(\w+)`", text.partition("In reading order:")[2])
        assert sorted(listed) == sorted(modules_of(package)), package.relative_to(SOURCES)


def test_no_two_modules_have_one_name_but_plan_and_run_of_mechanisms():
    files = [p for package in PACKAGES for p in package.glob("*.py") if p.stem not in ("__init__", "__main__")]
    names = Counter(p.stem for p in files if (p.parents[1].name, p.stem) not in MECHANISMS)
    assert not {name for name, times in names.items() if times > 1}


MECHANISMS = {("mechanisms", "plan"), ("mechanisms", "run")}


def test_packages_are_of_a_readable_size():
    assert not {str(package) for package in PACKAGES if len(list(package.glob("*.py"))) - 1 > AT_MOST}
