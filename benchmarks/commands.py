"""`dxp` as somebody types it, in a process of its own: processor seconds from start to end, and peak memory."""

import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Failed, Figure, TooLong, alone, processor_time, within


class Took(NamedTuple):
    """Seconds and megabytes of a command, or why there are none."""

    seconds: float | None
    megabytes: float | None
    why: str = ""


def dxp(*arguments: str) -> float:
    """For `alone`: the command, then what this process took."""
    from dxprivacy.start import main

    sys.argv = ["dxp", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"dxp {arguments[0]} ended with {end.code}") from None  # its own words: stderr
    return processor_time()


def took(*arguments: str | Path, patience: float) -> Took:
    """A command's seconds and megabytes; where it failed or took too long, that."""
    try:
        done = alone("commands.dxp", *map(str, arguments), patience=patience)
    except (TooLong, Failed) as error:
        return Took(None, None, str(error))
    return Took(done.told, done.megabytes)


def judged(what: str, took: Took, limit: float, megabytes: float | None = None) -> list[Figure]:
    """Against the seconds that may pass, and against the memory that may be held; what did not end has missed both."""
    if took.seconds is None:
        return [Figure(what, None, limit, float("inf"), "≤ 1", note=took.why)]
    figures = [within(what, took.seconds, limit)]
    if megabytes is not None and took.megabytes is not None:
        figures.append(within(f"{what}: peak memory", took.megabytes, megabytes, "MB"))
    return figures
