"""SmallDB (Algorithm 1 of the paper, corrected): m records drawn so that they answer many questions like the data."""

from dxprivacy.mechanisms.smalldb.run import SmallDb, small_database, smalldb

__all__ = ["SmallDb", "small_database", "smalldb"]
