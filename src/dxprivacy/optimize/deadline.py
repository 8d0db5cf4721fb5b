"""A time limit for planning, and a listener for its progress.

All work is limited by iteration counts, so that a plan is the same on a fast and on a busy machine.  A user may also
set a time limit: when it is reached, the best plan so far is used, and the plan notes that it was cut short.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dxprivacy.errors import UsageError


@dataclass(frozen=True, eq=False)
class Watch:
    """A time limit for planning, and a listener for the gap: a bound on the distance of the error from the optimum.

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
        """Whether the time is up; callers stop then, so this is recorded for `cut_short`."""
        if self.seconds is None or time.monotonic() - self.started <= self.seconds:
            return False
        self._late.append(True)
        return True

    @property
    def cut_short(self) -> bool:
        """Whether any work was skipped for lack of time."""
        return bool(self._late)

    @property
    def left(self) -> float | None:
        """The number of seconds left; None without a limit."""
        return None if self.seconds is None else max(self.started + self.seconds - time.monotonic(), 0.0)

    def gap(self, gap: float) -> None:
        """Report a gap to the listener."""
        if self.tell is not None:
            self.tell(gap)
