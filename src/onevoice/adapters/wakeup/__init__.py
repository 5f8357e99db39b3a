"""Ways to wake waiting workers; importing this package loads none of them."""
