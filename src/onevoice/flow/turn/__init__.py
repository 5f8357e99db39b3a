"""Turn: one run of the agent over exactly the messages it claimed; its id is the fencing token."""
