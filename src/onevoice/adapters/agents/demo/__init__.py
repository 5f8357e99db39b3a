"""The offline agent behind ``builtin:demo``: the front desk of a small clinic, in Portuguese and English."""
