"""`import dxprivacy` and `dxp --help` load nothing heavy."""

import os
import subprocess
import sys
import time
from pathlib import Path

import dxprivacy

HEAVY = ("numpy", "scipy", "duckdb", "rich", "pandas", "polars", "pyarrow", "vl_convert", "sqlglot")
DXP = Path(sys.executable).with_name("dxp")


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(eval(out.stdout.strip().splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import dxprivacy") == set()


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['dxp', '--help']\nfrom dxprivacy.cli import main\ntry: main()\nexcept SystemExit: pass"
    )
    assert loaded_after(code) == set()


def test_help_takes_no_longer_than_importing_numpy():
    def seconds(command: list[str]) -> float:
        best = 9.0
        for _ in range(7):
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True, env=os.environ)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds([str(DXP), "--help"]) <= seconds([sys.executable, "-c", "import numpy"])


def test_every_public_name_can_be_loaded_and_has_a_docstring():
    for name in dxprivacy.__all__:
        assert getattr(dxprivacy, name).__doc__, name


def test_unknown_names_are_attribute_errors():
    assert not hasattr(dxprivacy, "nonsense")
    assert dir(dxprivacy) == dxprivacy.__all__
