"""Transcription: a voice message becomes words, or a reason why not; its turn waits for either."""
