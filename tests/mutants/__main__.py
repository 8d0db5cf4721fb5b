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
    """0 if every bug was noticed."""
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
            noticed = list(pool.map(lambda m: _noticed(copies, m), planted))
    for mutant in chosen:
        if mutant.harmless:
            print(f"harmless    {mutant.name}\n            {mutant.harmless}")
    missed = noticed.count(False)
    print(f"{len(planted)} planted, {sum(noticed)} noticed, {missed} not, in {time.monotonic() - started:.0f} s")
    return 1 if missed else 0


def _sound(copies: "SimpleQueue[Copy]", planted: list[Mutant]) -> bool:
    """Without a bug all these tests pass; otherwise a failure would show nothing."""
    copy = copies.get()
    run = copy.run(*dict.fromkeys(mutant.killer for mutant in planted))
    copies.put(copy)
    if run.returncode:
        print(f"{run.stdout[-3000:]}\nthe tests fail without any bug")
    return run.returncode == 0


def _noticed(copies: "SimpleQueue[Copy]", mutant: Mutant) -> bool:
    copy = copies.get()
    try:
        noticed = copy.notices(mutant)
    finally:
        copies.put(copy)
    print(f"{'noticed    ' if noticed else 'NOT NOTICED'} {mutant.name}\n            by {mutant.test}", flush=True)
    return noticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
