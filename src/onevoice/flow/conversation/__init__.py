"""What all steps share: the conversation's row lock, its timers derived from rows, and the journal."""

from onevoice.flow.conversation.decide import Conversation, ConversationKey, Entry, Row
from onevoice.flow.conversation.perform import lock, record, refresh, set_authority, touch

__all__ = [
    "Conversation",
    "ConversationKey",
    "Entry",
    "Row",
    "lock",
    "record",
    "refresh",
    "set_authority",
    "touch",
]
