"""Reading a file that somebody named: regular files of a sensible size, and nothing else.

A device never ends, a pipe may never begin: neither is opened for long enough to wait for it.
"""

import os
import stat
from pathlib import Path

MOST_BYTES = 512 << 20
"""Of a policy, a plan, a file of points: a few times the largest that could be worked with."""


_CHUNK = 1 << 20


class NotReadable(OSError):
    """A file that is there, but that we do not read; `strerror` says why."""


def read_text(path: str | Path, *, encoding: str = "utf-8-sig") -> str:
    """The text of a regular file; raises OSError, UnicodeDecodeError, or ValueError for what cannot be a name.

    >>> read_text("/dev/zero")
    Traceback (most recent call last):
    dxprivacy.formats.reading_files.NotReadable: [Errno 22] it is not a regular file: '/dev/zero'
    """
    at = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(at, "rb") as file:
        found = os.fstat(at)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(21, "Is a directory", str(path))
        if not stat.S_ISREG(found.st_mode):
            raise NotReadable(22, "it is not a regular file", str(path))
        if found.st_size > MOST_BYTES:
            raise NotReadable(27, f"it has more than {MOST_BYTES >> 20} MB", str(path))
        content = bytearray()
        while len(content) <= MOST_BYTES and (chunk := file.read(_CHUNK)):  # a large read would take as much memory
            content += chunk
    if len(content) > MOST_BYTES:  # it has grown since, or says nothing of its size
        raise NotReadable(27, f"it has more than {MOST_BYTES >> 20} MB", str(path))
    return content.decode(encoding)
