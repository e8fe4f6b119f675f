"""Wires to policy servers, one file each."""
