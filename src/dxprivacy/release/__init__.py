"""Releases: what leaves the house."""

from dxprivacy.release.release import Release, Row, from_json

__all__ = ["Release", "Row", "from_json"]
