"""Entry point of the command line: nothing is loaded before Ctrl-C is handled."""

import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Load the commands and run; on Ctrl-C, even during loading, show one word and no traceback."""
    gc.set_threshold(200_000, 20, 50)  # a plan makes many small values that stay: frequent collections gain nothing
    # Our linear systems are small: more threads would wait for one another, much longer next to other work.
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

    `sys.stdout` stays None if standard output is closed; commands must report that.
    """
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
