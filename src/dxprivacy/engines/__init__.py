"""Engines: from a file or a data frame to a histogram, each row by itself.

`open_source` finds the engine by what it is given: `.parquet` and frames go to DuckDB, files of lines to our own
readers.  The third-party packages are imported on use.
"""

from dxprivacy.engines.opening import open_data, open_source
from dxprivacy.engines.source import Source

__all__ = ["Source", "open_data", "open_source"]
