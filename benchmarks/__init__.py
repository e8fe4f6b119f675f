"""Figures about this product, each a command."""
