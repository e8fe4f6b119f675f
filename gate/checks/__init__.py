"""The checks a Gate can run."""
