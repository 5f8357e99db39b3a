"""The chat page that onevoice serves itself: only rows and a live stream lie between."""

from onevoice.adapters.channels.webchat.channel import WebchatChannel

__all__ = ["WebchatChannel"]
