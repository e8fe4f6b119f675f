"""Errors of trials: a task that cannot be used, a set-up that cannot start, a refused request."""

from __future__ import annotations

from interlock.messages.errors import InterlockError, SettingsError


class TaskError(SettingsError):
    """A task file that breaks the schema, or a task id that does not exist."""


class PreflightError(InterlockError):
    """Something known before the simulator starts that would spoil the trial."""


class UsageError(InterlockError):
    """A request that is not well formed: unknown verb, wrong number of values, bad option."""


class RefusedError(InterlockError):
    """A well-formed request that the episode or the Gate refuses.

    Args:
        text: What is wrong, with the value and the limit.
        way_out: What the caller can do instead.
        codes: Machine-readable reasons, e.g. the codes of the Gate's verdict.
    """

    def __init__(self, text: str, *, way_out: str, codes: tuple[str, ...] = ()) -> None:
        super().__init__(f"{text}. {way_out}")
        self.text = text
        self.way_out = way_out
        self.codes = codes


class InvalidSetupError(InterlockError):
    """Harness, policy and task do not fit each other: the trial is invalid, not a failure."""


class VerdictError(InterlockError):
    """A trial folder whose verdict does not verify."""
