"""What the flow asks of the outside world: each port has at least two implementations that pass its contract."""
