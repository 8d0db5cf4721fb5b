"""Sessions: the only orchestrator."""

from dxprivacy.session.session import Outcome, Session, read_json, read_plan

__all__ = ["Outcome", "Session", "read_json", "read_plan"]
