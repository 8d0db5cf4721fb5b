"""`make mutants`: plants every bug of the table in a copy of the sources, and shows that its tests notice it.

With words behind it only the bugs of files whose names hold one of them.
"""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from mutants.planting import Copy, Mutant
from mutants.table import MUTANTS

_COPIES = 2


def main(words: list[str]) -> int:
    """The number of bugs that went unnoticed, as an exit code."""
    chosen = [m for m in MUTANTS if not words or any(word in m.file for word in words)]
    planted = [m for m in chosen if not m.harmless]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for k in range(_COPIES):
            copies.put(Copy(Path(folder) / str(k)))
        if not _sound(copies, planted):
            return 1
        with ThreadPoolExecutor(_COPIES) as pool:
            missed = [m for m, unnoticed in zip(planted, pool.map(lambda m: _tried(copies, m), planted)) if unnoticed]
    for mutant in chosen:
        if mutant.harmless:
            print(f"harmless    {mutant.name}\n            {mutant.harmless}")
    killed = len(planted) - len(missed)
    print(f"{len(planted)} planted, {killed} noticed, {len(missed)} not, in {time.monotonic() - started:.0f} s")
    return min(len(missed), 1)


def _sound(copies: "SimpleQueue[Copy]", planted: list[Mutant]) -> bool:
    """Without a bug all these tests pass; otherwise a failure would show nothing."""
    copy = copies.get()
    run = copy.run(tuple(dict.fromkeys(test for mutant in planted for test in mutant.tests)))
    copies.put(copy)
    if run.returncode:
        print(f"{run.stdout[-3000:]}\nthe tests fail without any bug")
    return run.returncode == 0


def _tried(copies: "SimpleQueue[Copy]", mutant: Mutant) -> list[str]:
    copy = copies.get()
    try:
        unnoticed = copy.try_out(mutant)
    finally:
        copies.put(copy)
    print(f"{'NOT NOTICED' if unnoticed else 'noticed    '} {mutant.name}", flush=True)
    for test in unnoticed:
        print(f"            by {test}", flush=True)
    return unnoticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
