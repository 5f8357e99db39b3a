"""The operator console under /console: server-rendered pages that patch themselves while the journal moves.

Whatever a page shows, the step behind a button decides again under the conversation's lock: a stale page costs a
refusal that names the holder, never a wrong act.
"""

from onevoice.entrypoints.console.routes import console_routes
from onevoice.entrypoints.console.services import ConsoleServices

__all__ = ["ConsoleServices", "console_routes"]
