"""Receipt: what the channel says of a message we sent, joined by external or correlation id, in any order."""
