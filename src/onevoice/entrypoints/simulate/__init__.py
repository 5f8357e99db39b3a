"""`onevoice simulate`: scenarios over real HTTP against servers of its own, with loopback stand-ins.

Each scenario is a conversation between a customer, an agent, a channel and operators. It says what must have
happened; the timeline shows what did, and why.
"""
