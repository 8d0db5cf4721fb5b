"""Examples say what the documentation quotes."""

import subprocess
import sys
from pathlib import Path

import pytest

from contracts.long_forms import mostly_slow

ROOT = Path(__file__).parents[2]


def output(name: str) -> str:
    done = subprocess.run([sys.executable, ROOT / "examples" / name], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("example", "page"), mostly_slow([("correlation.py", "correlation.md"), ("blowfish.py", "blowfish.md")], 1)
)
def test_a_page_quotes_its_example(example, page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert output(example).strip() in text
