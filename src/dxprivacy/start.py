"""Where the command line begins: nothing is loaded before Ctrl-C is understood."""

import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Load the commands and run; whoever stops that, even while it loads, sees one word and no traceback."""
    # Our systems are small: more threads would wait for one another, many times longer beside other work.
    gc.set_threshold(200_000, 20, 50)  # a plan makes many small values that stay: nothing is gained by looking often
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_standard_streams()
    try:
        from dxprivacy.cli import main as run

        run()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)


def _open_standard_streams() -> None:
    """Open closed standard streams on the null device, so that no ledger is opened in place of one of them.

    `sys.stdout` stays None if standard output is closed: commands have to say so.
    """
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
