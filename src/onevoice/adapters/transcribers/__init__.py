"""What turns voice messages into words: a provider over HTTP, or a function of the user."""
