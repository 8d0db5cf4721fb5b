"""What comes out when a mechanism is carried out."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came out, whether it was answered before (then nothing was spent), and its entries in the ledger."""

    made: T
    replayed: bool
    entries: tuple[int, ...]

    @property
    def release(self) -> T:
        """What leaves the house."""
        return self.made

    @property
    def entry(self) -> int:
        """The first of its entries."""
        return self.entries[0]
