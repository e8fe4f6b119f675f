"""Why a skill ended without doing what it should: each error has a code for machines."""

from __future__ import annotations

from interlock.messages import InterlockError, StaleDataError


class SkillError(InterlockError):
    """A skill could not do what it was asked for."""

    code = "failed"


class EmptyGraspError(SkillError):
    """The fingers closed on nothing."""

    code = "empty_grasp"


class SlippedError(SkillError):
    """The object left the fingers."""

    code = "slipped"


class UnreachableError(SkillError):
    """No joint positions reach the pose."""

    code = "unreachable"


class GateRefusedError(SkillError):
    """The Gate refused the motion and no slower or other way was found.

    Args:
        sentence: What the Gate said.
        codes: Its machine-readable reasons.
    """

    code = "refused"

    def __init__(self, sentence: str, codes: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.codes = codes


class AuthorityError(SkillError):
    """The task was not given the arm, or lost it."""

    code = "authority_lost"


class TimeoutSkillError(SkillError):
    """The skill took longer than it may."""

    code = "timeout"


class CancelledSkillError(SkillError):
    """The task was cancelled; the arm is at rest."""

    code = "cancelled"


class RestError(SkillError):
    """The arm was not seen at rest after a cancel."""

    code = "not_at_rest"


class ProgramError(SkillError):
    """A program that can't be loaded, or that broke its rules."""

    code = "program"


def code_of(error: BaseException) -> str:
    """Return the machine-readable code of an error."""
    if isinstance(error, SkillError):
        return error.code
    return "stale_data" if isinstance(error, StaleDataError) else "error"


def describe(error: BaseException) -> str:
    """Return an error as one line."""
    if isinstance(error, InterlockError):
        return str(error)
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
