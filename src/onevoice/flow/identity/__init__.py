"""Identity: when two contacts turn out to be one, their conversations become one, under the stricter authority."""
