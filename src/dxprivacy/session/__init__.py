"""Sessions: the only orchestrator."""

from dxprivacy.session.session import Outcome, Session, policy_of, read_json, read_plan, write_plan

__all__ = ["Outcome", "Session", "policy_of", "read_json", "read_plan", "write_plan"]
