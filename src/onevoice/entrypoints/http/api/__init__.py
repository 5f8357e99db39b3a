"""The operator API under /api/v1, and the probes beside it (docs/api.md)."""

from onevoice.entrypoints.http.api.app import create_api
from onevoice.entrypoints.http.api.services import ApiServices

__all__ = ["ApiServices", "create_api"]
