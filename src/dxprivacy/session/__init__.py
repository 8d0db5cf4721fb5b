"""Sessions: one path for every mechanism - reserve, count, run, record.

In reading order: `outcome`, `count_records`, `recorded_steps`, `synthesizing`, `timing`, `session`.
"""

from dxprivacy.session.outcome import Outcome
from dxprivacy.session.session import Session, read_json, read_plan

__all__ = ["Outcome", "Session", "read_json", "read_plan"]
