"""Receipt: what the channel says of a message we sent, joined by external or correlation id, in any order."""

from onevoice.flow.receipt.perform import StatusReport, apply_statuses

__all__ = ["StatusReport", "apply_statuses"]
