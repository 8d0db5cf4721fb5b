"""Engines read tables and count records: they map entries to values by one set of typed expressions.

In reading order: `nearest_places`, `entries`, `packing`, `contribution_bounding`, `source`, `fit`, `distinct`,
`frames`, `beside_people`, `expressions`, `fields`, `spill`, `notices`, `time_zone_offsets`, `placement`, `sql`,
`placing`, `files`, `joined`, `open_source`, `rows_by_person`.
"""

from dxprivacy.engines.open_source import open_data, open_source
from dxprivacy.engines.source import Source

__all__ = ["Source", "open_data", "open_source"]
