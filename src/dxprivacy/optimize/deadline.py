"""When to stop before everything was tried, and who is told how it goes.

All work is limited by counts, so that a plan is the same on a fast machine and on a busy one.  Whoever cannot wait may
name a time: when it is up, the best plan so far is taken, and the plan says that the time was too short for the rest.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dxprivacy.errors import UsageError


@dataclass(frozen=True, eq=False)
class Watch:
    """A time that may be given to planning, and a listener for the gap: how far the error is above the best, at most.

    >>> Watch().over, Watch(60).over, Watch(60).cut_short
    (False, False, False)
    """

    seconds: float | None = None
    tell: Callable[[float], None] | None = None
    started: float = field(default_factory=time.monotonic)
    _late: list[bool] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        seconds = self.seconds
        if seconds is None:
            return
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
            raise UsageError(f"seconds is {seconds!r}; it must be more than 0", hints=["seconds=60"])

    @property
    def over(self) -> bool:
        """Whether the time is up; whoever asks stops then, and that is remembered."""
        if self.seconds is None or time.monotonic() - self.started <= self.seconds:
            return False
        self._late.append(True)
        return True

    @property
    def cut_short(self) -> bool:
        """Whether anything was left out for lack of time."""
        return bool(self._late)

    @property
    def left(self) -> float | None:
        """How many seconds are left; None for as many as it takes."""
        return None if self.seconds is None else max(self.started + self.seconds - time.monotonic(), 0.0)

    def gap(self, gap: float) -> None:
        """Tell how far from the best we are."""
        if self.tell is not None:
            self.tell(gap)
