"""Agents that implement ports/agent.py; importing this package loads none of them."""
