"""Loops that put a language model in charge."""
