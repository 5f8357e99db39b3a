"""What carries and reads files: their store, and the way to bytes that somebody else's address names."""
