"""Planting a bug: a copy of the sources with one small change, and the tests that have to notice it."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "dxprivacy"


@dataclass(frozen=True)
class Mutant:
    """One planted bug: in `file`, the only place that reads `before` becomes `after`; then a test must fail.

    `harmless` says why none can, for a change that moves no guarantee.
    """

    file: str
    before: str
    after: str
    tests_in: str = ""
    test: str = ""
    harmless: str = ""

    @property
    def killer(self) -> str:
        """The test, as pytest calls it."""
        return f"{self.tests_in}::{self.test}"

    @property
    def name(self) -> str:
        """For the table."""
        return f"{self.file}: {_line(self.before)}  =>  {_line(self.after)}"

    def planted(self, text: str) -> str:
        """The file's text with the bug in it."""
        if text.count(self.before) != 1:
            raise ValueError(
                f"{self.file} has {text.count(self.before)} places that read {self.before!r}; one is needed"
            )
        return text.replace(self.before, self.after)


def _line(text: str) -> str:
    return " ".join(text.split())


class Copy:
    """The sources in a folder of their own, which tests import instead of the real ones."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "src"
        shutil.copytree(SOURCES, self.source / "dxprivacy", ignore=shutil.ignore_patterns("__pycache__"))

    def run(self, *tests: str) -> subprocess.CompletedProcess[str]:
        """Run the short forms of some tests against the copy: `make test` must notice each bug."""
        options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow and not soak"]
        words = [sys.executable, "-m", "pytest", *options, *tests]
        known = os.environ | {"PYTHONPATH": str(self.source), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
        return subprocess.run(words, cwd=ROOT, env=known, capture_output=True, text=True, timeout=600, check=False)

    def notices(self, mutant: Mutant) -> bool:
        """Whether its test fails with the bug."""
        path = self.source / "dxprivacy" / mutant.file
        sound = path.read_text(encoding="utf-8")
        path.write_text(mutant.planted(sound), encoding="utf-8")
        try:
            return _noticed(self.run(mutant.killer))
        finally:
            path.write_text(sound, encoding="utf-8")


def _noticed(run: subprocess.CompletedProcess[str]) -> bool:
    """Whether a test failed.  Anything else (an error while collecting, nothing run) shows nothing."""
    return run.returncode == 1 and " failed" in run.stdout
