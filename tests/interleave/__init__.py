"""Every order of events, tried: the explorer and what it is let loose on."""
