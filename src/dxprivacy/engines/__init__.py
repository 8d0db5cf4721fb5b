"""Engines read tables and count records: they map entries to values by one set of typed expressions.

In reading order: `nearest_places`, `entries`, `fields`, `contribution_bounding`, `source`, `fit`, `frames`,
`beside_people`, `expressions`, `spill`, `placing`, `placement`, `sql`, `files`, `open_source`.
"""

from dxprivacy.engines.open_source import open_data, open_source
from dxprivacy.engines.source import Source

__all__ = ["Source", "open_data", "open_source"]
