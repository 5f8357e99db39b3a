"""The embedded PostgreSQL: a real server in `data_dir/postgres`, shared by the processes that use it.

It starts with the first of them, ends with the last, and survives none of them: who uses it is known by file
locks, which a killed process cannot keep.
"""

from onevoice.store.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer"]
