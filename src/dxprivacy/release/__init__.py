"""Releases: what leaves the house."""

from dxprivacy.release.build import build_release, promise, rehearse
from dxprivacy.release.release import Release, Row, from_json
from dxprivacy.release.words import release_lines

__all__ = ["Release", "Row", "build_release", "from_json", "promise", "rehearse", "release_lines"]
