"""Effect: a write tool's call passes the gate before it begins, and its outcome is kept until the customer knows."""
