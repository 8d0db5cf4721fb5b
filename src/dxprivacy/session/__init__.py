"""Sessions: one path for every mechanism: reserve, count, run, record.

In reading order: `recorded_steps`, `count_records`, `synthesizing`, `session`.
"""

from dxprivacy.session.recorded_steps import Outcome
from dxprivacy.session.session import Session, read_json, read_plan

__all__ = ["Outcome", "Session", "read_json", "read_plan"]
