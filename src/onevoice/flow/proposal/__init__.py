"""Proposal: the agent is asked, outside any transaction; what it says is not yet an effect."""

from onevoice.flow.proposal.perform import Answer, ask

__all__ = ["Answer", "ask"]
