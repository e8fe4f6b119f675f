"""Tasks, harnesses, sandbox, scoring and sweeps."""
