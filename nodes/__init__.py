"""Dora processes: thin event loops; the only place that reads a clock or imports dora."""
