"""Errors of the Gate. Refusing a command is not one of them: that is a Verdict."""

from __future__ import annotations

from interlock.messages.errors import InterlockError, SettingsError


class GateError(InterlockError):
    """The Gate can't do what it was asked to."""


class GateConfigError(GateError, SettingsError):
    """A Gate configuration that would protect less than it says; the Gate does not start."""


class KeyFileError(GateError):
    """The key that Gate and driver share is missing, readable by others or damaged."""


class GraphError(GateError, ValueError):
    """A dataflow that is not one, or that has a way to the driver past the Gate."""
