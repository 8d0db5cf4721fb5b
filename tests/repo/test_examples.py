"""Examples say what the documentation quotes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def output(name: str) -> str:
    done = subprocess.run([sys.executable, ROOT / "examples" / name], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(("example", "page"), [("correlation.py", "correlation.md"), ("blowfish.py", "blowfish.md")])
def test_a_page_quotes_its_example(example, page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert output(example).strip() in text
