"""Skills: closed-loop motions with typed parameters."""
