"""Attachment: what a message to the customer consists of besides text, looked up or kept before anything is sealed."""
