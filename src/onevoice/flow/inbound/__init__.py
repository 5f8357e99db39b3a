"""Inbound: what the customer sent is durable, counted once for ever, and has armed the timer."""

from onevoice.flow.inbound.amend import amend
from onevoice.flow.inbound.perform import Received, receive

__all__ = ["Received", "amend", "receive"]
