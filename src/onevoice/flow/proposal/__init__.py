"""Proposal: the agent is asked, outside any transaction; what it says is not yet an effect."""
