"""Bytes of another encoding as UTF-8, while they are read: everything behind sees UTF-8 alone.

A bad byte becomes U+FFFD.  In every encoding that a policy may name a line feed is a character of its own, so that
what one row holds never reaches the next.
"""

import codecs
import io
from typing import BinaryIO

_CHUNK = 1 << 20


class _Recoded(io.RawIOBase):
    def __init__(self, handle: BinaryIO, codec: str) -> None:
        self._handle = handle
        self._decoder = codecs.getincrementaldecoder(codec)(errors="replace")
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: "memoryview | bytearray") -> int:  # type: ignore[override]
        while not self._ready:
            chunk = self._handle.read(_CHUNK)
            self._ready = memoryview(self._decoder.decode(chunk, final=not chunk).encode("utf-8"))
            if not chunk and not self._ready:
                return 0
        taken = self._ready[: len(into)]
        into[: len(taken)] = taken
        self._ready = self._ready[len(taken) :]
        return len(taken)

    def close(self) -> None:
        self._handle.close()
        super().close()


def recoded(handle: BinaryIO, codec: str) -> BinaryIO:
    """The same characters in UTF-8.

    >>> recoded(io.BytesIO("été\\n".encode("latin-1")), "latin-1").readline().decode()
    'été\\n'
    """
    return io.BufferedReader(_Recoded(handle, codec), _CHUNK)
