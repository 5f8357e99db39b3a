"""Outbox: sealed messages leave in order, one at a time per conversation, and every outcome is recorded."""

from onevoice.flow.outbox.begin import Begun, begin_sends
from onevoice.flow.outbox.expire import expire_sends
from onevoice.flow.outbox.finish import Finished, finish_sends

__all__ = ["Begun", "Finished", "begin_sends", "expire_sends", "finish_sends"]
