"""The formats of our files: what each is called, and which version is written and read.

The verifier has its own list: it shares no code with what it verifies.
"""

import importlib.metadata
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A kind of JSON file, and its versions.

    >>> PLAN.written, PLAN.reads("dxprivacy-plan/6"), PLAN.reads("dxprivacy-plan/4"), PLAN.reads(None)
    ('dxprivacy-plan/5', True, False, False)
    """

    name: str
    noun: str
    version: int = 1
    newest: int = 1  # for files that need what the usual version does not have

    @property
    def written(self) -> str:
        """What a file of the usual version says that it is."""
        return self.numbered(self.version)

    def numbered(self, version: int) -> str:
        """What a file of some version says that it is."""
        return f"dxprivacy-{self.name}/{version}"

    def reads(self, text: object) -> bool:
        """Whether a file that calls itself so can be read."""
        return any(text == self.numbered(k) for k in range(self.version, self.newest + 1))


WITH_RECONSTRUCTION = 6  # of plans and releases: they carry the way from what was counted to what was asked
PLAN = Format("plan", "plan", 5, WITH_RECONSTRUCTION)
RELEASE = Format("release", "release", 5, WITH_RECONSTRUCTION)
CHOICE_PLAN = Format("choice-plan", "planned choice")
CHOICE = Format("choice", "released choice")
REPORT = Format("synthesis", "report on synthetic records")
JOURNAL, JOURNAL_VERSION = "dxprivacy journal", 1  # the first line of an exported ledger


def software() -> str:
    """Who wrote a file: this software, and its version."""
    return f"dxprivacy {importlib.metadata.version('dxprivacy')}"
