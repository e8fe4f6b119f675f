"""Adapters that start an agent for a trial, one file each."""
