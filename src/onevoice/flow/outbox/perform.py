"""The step's acts in their order: an attempt begins, it is finished, or nobody comes back and it expires."""

from onevoice.flow.outbox.begin import Begun, begin_sends
from onevoice.flow.outbox.expire import expire_sends
from onevoice.flow.outbox.finish import Finished, finish_sends

__all__ = ["Begun", "Finished", "begin_sends", "expire_sends", "finish_sends"]
