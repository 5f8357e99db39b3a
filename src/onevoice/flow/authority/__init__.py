"""Authority: who may speak in a conversation, under a version that goes up with every transition."""
