"""The chat page at /chat/{channel}: messages over HTTP, a live stream back, one script tag to embed it."""

from onevoice.entrypoints.http.webchat.routes import webchat_routes
from onevoice.entrypoints.http.webchat.services import WebchatPage, WebchatServices
from onevoice.entrypoints.http.webchat.visitor import load_visitor_secret

__all__ = ["WebchatPage", "WebchatServices", "load_visitor_secret", "webchat_routes"]
