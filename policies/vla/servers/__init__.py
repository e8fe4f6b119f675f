"""Policy servers to test against: they speak every wire and misbehave on request."""
