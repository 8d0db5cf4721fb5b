"""Sessions: the only orchestrator."""

from dxprivacy.session.outcome import Outcome
from dxprivacy.session.session import Session, read_json, read_plan

__all__ = ["Outcome", "Session", "read_json", "read_plan"]
