"""Planning: how much noise each answer gets.  Blind to data."""

from dxprivacy.planning.certificate import Certificate, certify
from dxprivacy.planning.plan import Plan, load_plan
from dxprivacy.planning.planner import METHODS, make_plan, parse_share

__all__ = ["METHODS", "Certificate", "Plan", "certify", "load_plan", "make_plan", "parse_share"]
