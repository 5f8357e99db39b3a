"""Outbox: sealed messages leave in order, one at a time per conversation, and every outcome is recorded."""
