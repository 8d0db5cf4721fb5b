"""What every way to synthetic records hands on: a histogram, and what was released of each answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dxprivacy.mechanisms.synthesis.synthetic_data import Synthetic
from dxprivacy.releases import Release, Row


@dataclass(frozen=True, eq=False)
class Made:
    """A synthetic histogram, one released row for each answer where there is one, and what a report says besides."""

    synthetic: Synthetic
    released: Sequence[Row | None] = field(repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    release: Release | None = field(default=None, repr=False)  # of a direct fit
