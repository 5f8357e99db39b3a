"""Real servers under random faults; the channel's own record is the only truth."""
