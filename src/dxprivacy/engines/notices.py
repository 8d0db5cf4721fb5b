"""What somebody who waits should know, from inside a source: never about data, and never twice.

Whoever listens to the log `dxprivacy.notices`, or to one above it, hears it there; otherwise it is told on stderr.
"""

import logging
import sys
from contextlib import suppress

from dxprivacy.errors import one_line

_LOG = logging.getLogger("dxprivacy.notices")
_LOG.addHandler(logging.NullHandler())  # or Python tells it by itself


def notice(text: str) -> None:
    """Tell it once."""
    _LOG.warning("%s", one_line(text))
    if not _is_heard(_LOG):
        with suppress(OSError):  # a count must not fail because nobody can be told
            print(one_line(text), file=sys.stderr)


def _is_heard(logger: logging.Logger | None) -> bool:
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
