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
    ('dxprivacy-plan/3', True, False, False)
    """

    name: str
    noun: str
    version: int
    oldest: int  # that is still read
    carrying: int = 0  # the version of a file that carries its reconstruction: written only where there is one

    @property
    def written(self) -> str:
        """What a file of the present version says that it is."""
        return f"dxprivacy-{self.name}/{self.version}"

    @property
    def with_reconstruction(self) -> str:
        """What a file says that carries one."""
        return f"dxprivacy-{self.name}/{self.carrying}"

    def reads(self, text: object) -> bool:
        """Whether a file that calls itself so can be read."""
        last = max(self.version, self.carrying)
        return any(text == f"dxprivacy-{self.name}/{k}" for k in range(self.oldest, last + 1))


PLAN = Format("plan", "plan", 3, 2, 4)  # 2 is that of 0.1.0, whose questions mean what they meant
RELEASE = Format("release", "release", 3, 1, 4)  # 1 and 2: intervals leave out what cells hide
CHOICE_PLAN = Format("choice-plan", "planned choice", 1, 1)
CHOICE = Format("choice", "released choice", 1, 1)
REPORT = Format("synthesis", "report on synthetic records", 1, 1)
JOURNAL, JOURNAL_VERSION = "dxprivacy journal", 1  # the first line of an exported ledger


def software() -> str:
    """Who wrote a file: this software, and its version."""
    return f"dxprivacy {importlib.metadata.version('dxprivacy')}"
