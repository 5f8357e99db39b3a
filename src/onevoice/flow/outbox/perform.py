"""The step's acts in order: a file is uploaded, an attempt begins, it is finished, or nobody comes back for it."""

from onevoice.flow.outbox.begin import Begun, Upload, begin_sends
from onevoice.flow.outbox.expire import expire_sends
from onevoice.flow.outbox.finish import Finished, finish_sends
from onevoice.flow.outbox.upload import finish_upload, upload

__all__ = [
    "Begun",
    "Finished",
    "Upload",
    "begin_sends",
    "expire_sends",
    "finish_sends",
    "finish_upload",
    "upload",
]
