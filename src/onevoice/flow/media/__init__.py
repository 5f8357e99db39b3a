"""Media: the files of messages, downloaded at once and durably, because the channel's addresses expire."""
