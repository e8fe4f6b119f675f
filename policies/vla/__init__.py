"""Policies served by a vision-language-action model elsewhere."""
