"""Inbound: what the customer sent is durable, counted once for ever, and has armed the timer."""
