"""Suggestion: while a human owns the conversation the agent may propose; such a proposal is never sealed."""
