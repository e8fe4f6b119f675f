"""What the trace is on disk, and how it is written, read and explained."""
