"""A figure: what was measured, ours beside its peer or its limit, their ratio, the target, and whether it was met.

Processor time throughout, the best of several runs: a busy machine takes longer, but hardly computes more.  Both sides
of a ratio are measured in one run.  Peak memory is that of a process of its own, with those that it started (the sum of
their peaks, which is at least the peak of their sum).  Both are read from Linux.
"""

import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One line of the table; `unit` is that of `ours` and `peer`.

    >>> Figure("walk", 2.0, 30.0, 15.0, "≥ 8").met
    True
    >>> Figure("memory", 1800.0, 1500.0, 1.2, "≤ 1", "MB").met, Figure("seen", 1.0, 1.0, 1.0, "none").met
    (False, None)
    """

    what: str
    ours: float | None
    peer: float | None
    ratio: float | None
    target: str = "none"
    unit: str = "s"
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target was reached; None where there is none, or nothing was measured."""
        found = re.match(r"([≤≥]) ([0-9.]+)", self.target)
        if found is None or self.ratio is None:
            return None
        limit = float(found[2])
        return self.ratio <= limit if found[1] == "≤" else self.ratio >= limit

    def content(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "met": self.met}

    @classmethod
    def of(cls, row: "Figure | Mapping[str, Any]") -> "Figure":
        """Also from a mapping with what, ours_s, peer_s, ratio and target."""
        if isinstance(row, Figure):
            return row
        return cls(row["what"], row["ours_s"], row["peer_s"], row["ratio"], row["target"], row.get("unit", "s"))


def within(what: str, seconds: float | None, limit: float, unit: str = "s", note: str = "") -> Figure:
    """Ours against what may be waited for, or be held."""
    return Figure(what, seconds, limit, None if seconds is None else seconds / limit, "≤ 1", unit, note)


def faster(what: str, ours: float, peer: float, target: str) -> Figure:
    """How many times faster ours is."""
    return Figure(what, ours, peer, peer / ours, target)


def skipped(what: str, why: str, target: str = "none") -> Figure:
    """A figure that could not be had here."""
    return Figure(what, None, None, None, target, note=f"skipped: {why}")


def processor_time() -> float:
    """Of this process, of those that it has waited for, and of those beside it: files are read in one that stays."""
    return time.process_time() + _others()


def _others() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(_clock(pid) for pid in descendants())


def peak_megabytes() -> float:
    """The most memory that this process held, and those beside it; what it was started from does not count."""
    return sum(_peak(pid) for pid in (os.getpid(), *descendants()))


def descendants() -> list[int]:
    """The processes that were started from here, and from there, and still run."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):  # it may just have ended
            parents.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
    found = list(parents.get(os.getpid(), []))
    for pid in found:
        found += parents.get(pid, [])
    return found


def _clock(pid: int) -> float:
    try:
        return time.clock_gettime(~pid << 3 | 2)  # the processor clock of another process: man 3 clock_getcpuclockid
    except OSError:
        return 0.0


def _peak(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1000
    return 0.0


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Processor seconds, the least of several runs."""
    return min(timed(work)[0] for _ in range(times))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what came out; looking for other processes is not part of it."""
    others = _others()
    start = time.process_time()
    found = work()
    own = time.process_time() - start
    return own + _others() - others, found


@dataclass(frozen=True)
class Alone:
    """What a function told from a process of its own, and the most memory that this process held."""

    told: Any
    megabytes: float


class TooLong(Exception):
    """A process of its own was ended: it took longer than anybody waits for."""


class Failed(Exception):
    """A process of its own ended with an error."""


def alone(function: str, *arguments: Any, patience: float = 600) -> Alone:
    """`module.function(*arguments)` of this package, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.child", function, json.dumps(arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        raise TooLong(f"more than {patience:,.0f} s") from None
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or ["no reason given"])[-1][:200])
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return Alone(told["told"], told["megabytes"])
