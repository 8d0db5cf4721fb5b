"""The formats of our files: what each is called, which version is written, and which versions are read for good.

A new version is a new number here, and a way to read the old one beside the way to write the new one.  The verifier
has its own list: it shares no code with what it verifies.
"""

import importlib.metadata
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A kind of JSON file, and its versions.

    >>> PLAN.written, PLAN.reads("dxprivacy-plan/2"), PLAN.reads("dxprivacy-plan/1"), PLAN.reads(None)
    ('dxprivacy-plan/5', True, False, False)
    """

    name: str
    noun: str
    version: int = 1
    oldest: int = 1  # that is still read
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
        return any(text == self.numbered(k) for k in range(self.oldest, self.newest + 1))


WITH_RECONSTRUCTION = 6  # of plans and releases: they carry the way from what was counted to what was asked
RECONSTRUCTED = (4, WITH_RECONSTRUCTION)  # 3 and 4 differ from 5 and 6 in labels and in what releases mark
PLAN = Format("plan", "plan", 5, 2, WITH_RECONSTRUCTION)  # 2: that of 0.1.0, whose questions mean what they meant
RELEASE = Format("release", "release", 5, 1, WITH_RECONSTRUCTION)  # 1 and 2: intervals leave out what cells hide
CHOICE_PLAN = Format("choice-plan", "planned choice")
CHOICE = Format("choice", "released choice")
REPORT = Format("synthesis", "report on synthetic records")
JOURNAL, JOURNAL_VERSION = "dxprivacy journal", 1  # the first line of an exported ledger


def software() -> str:
    """Who wrote a file: this software, and its version."""
    return f"dxprivacy {importlib.metadata.version('dxprivacy')}"
