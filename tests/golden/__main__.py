"""Write or compare the golden file, with tests/ on the path: `python -m golden write`, `python -m golden compare [60]`.

With a number only the first models are compared.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from golden.models import random_model
from golden.stored import NUMBERS, PINNED, differences, stored, this_machine

MODELS = 2000
_CHUNK = 10


def line_of(seed: int) -> str:
    """A model of the golden file with its numbers, as one line of JSON."""
    from golden.adapter import numbers_of

    model = random_model(seed)
    with tempfile.TemporaryDirectory() as folder:
        numbers = numbers_of(model, Path(folder))
    return json.dumps({"model": model, "numbers": numbers}, separators=(",", ":"))


def write() -> None:
    """Write the file again: only where numbers are meant to change, which the changelog then says."""
    with ProcessPoolExecutor() as pool:
        lines = list(pool.map(line_of, range(MODELS), chunksize=_CHUNK))
    NUMBERS.write_text("\n".join([json.dumps(this_machine()), *lines]) + "\n")
    print(f"{len(lines):,} models, {NUMBERS.stat().st_size:,} bytes")


def compare(first: int | None = None) -> None:
    """Compare all models, or the first of them; print those that differ."""
    with ProcessPoolExecutor() as pool:
        found = [text for text in pool.map(differences, stored()[:first], chunksize=_CHUNK) if text]
    print("\n".join(found) or "no number differs")
    sys.exit(bool(found))


def main(words: list[str]) -> None:
    """Run in a process of its own, with the processor's features pinned before numpy is loaded."""
    if any(os.environ.get(name) != value for name, value in PINNED.items()):
        command = [sys.executable, "-m", "golden", *words]
        sys.exit(subprocess.run(command, env=os.environ | PINNED, check=False).returncode)
    match words:
        case ["write"]:
            write()
        case ["compare", *first]:
            compare(*map(int, first))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
