"""Pure operations on streams of messages."""
