"""How long planning may take, and who is told how it goes.

What is planned never depends on the clock as long as the time suffices: all work is limited by counts.  The time is a
guard: when it is up, the best plan so far is taken, with what is known about its distance from the best.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dxprivacy.errors import UsageError

SECONDS = 60.0


@dataclass(frozen=True)
class Watch:
    """A guard on the time, and a listener for the gap: how far the error is above the best, at most."""

    seconds: float = SECONDS
    tell: Callable[[float], None] | None = None
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, (int, float)) or not self.seconds > 0:
            raise UsageError(f"seconds is {self.seconds!r}; it must be more than 0", hints=["seconds=60"])

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() - self.started > self.seconds

    @property
    def left(self) -> float:
        """How much time is left."""
        return max(self.started + self.seconds - time.monotonic(), 0.0)

    def gap(self, gap: float) -> None:
        """Tell how far from the best we are."""
        if self.tell is not None:
            self.tell(gap)
