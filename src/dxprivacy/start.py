"""Where the command line begins: nothing is loaded before Ctrl-C is understood."""

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Load the commands and run; whoever stops that, even while it loads, sees one word and no traceback."""
    # Our systems are small: more threads would wait for one another, many times longer beside other work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from dxprivacy.cli import main as run

        run()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
