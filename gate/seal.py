"""The seal that makes an admitted command acceptable to the driver, and the check of it.

The seal is a keyed BLAKE2b over everything in the command: run, number, times, motion, gripper.
The key is known to Gate and driver only (``keyfile.py``).
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import struct
from collections import Counter

import numpy as np

from interlock.messages.command import AdmittedCommand

KEY_BYTES = 32
_MAC_BYTES = 32
#: More samples than this (200 s at 10 ms) is no command that a Gate sends.
MAX_SAMPLES = 20_000
_MATRICES = ("position", "velocity", "acceleration")
_INTEGERS = ("number", "start_ns", "continues", "period_ns", "stop_index", "not_after_ns")
_INT64 = 2**63


def mac_of(command: AdmittedCommand, key: bytes) -> str:
    """Return the seal of a command, as hex text."""
    digest = hashlib.blake2b(key=key, digest_size=_MAC_BYTES, person=b"interlock/1")
    for text in (command.run, command.task):
        data = text.encode("utf-8", "surrogatepass")
        digest.update(struct.pack("<q", len(data)) + data)
    digest.update(struct.pack("<6q", *(getattr(command, name) for name in _INTEGERS)))
    digest.update(struct.pack("<d", command.gripper_force_n))
    for array in (*(getattr(command, name) for name in _MATRICES), command.gripper_m):
        digest.update(struct.pack(f"<{1 + array.ndim}q", array.ndim, *array.shape))
        digest.update(np.ascontiguousarray(array, "<f8").data)
    return digest.hexdigest()


def seal(command: AdmittedCommand, key: bytes) -> AdmittedCommand:
    """Return the command with its seal."""
    return dataclasses.replace(command, mac=mac_of(command, key))


class Opener:
    """The driver's side: lets a command through only if it is whole, ours, new and in time.

    Nothing that arrives makes it raise.

    Attributes:
        refused: How often each reason was given, e.g. ``{"bad_seal": 3}``.
    """

    def __init__(self, key: bytes, *, run: str, n_joints: int) -> None:
        self._key = key
        self._run = run
        self._n_joints = n_joints
        self._newest = -1
        self.refused: Counter[str] = Counter()

    def open(self, command: object, now_ns: int) -> str | None:
        """Return why a command is refused, as ``code: sentence``; None when it is good."""
        reason = self._judge(command, now_ns)
        if reason is not None:
            self.refused[reason.partition(":")[0]] += 1
        return reason

    def _judge(self, command: object, now_ns: int) -> str | None:
        try:
            problem = _malformed(command, self._n_joints)
            if problem is not None:
                return f"malformed: {problem}"
            assert isinstance(command, AdmittedCommand)
            expected = mac_of(command, self._key)
        except Exception as error:  # a forged frame must not end the driver
            return f"malformed: {type(error).__name__} while it was read"
        if not hmac.compare_digest(expected.encode(), command.mac.encode("utf-8", "replace")):
            return "bad_seal: it was not sealed by this run's Gate"
        if command.run != self._run:
            return f"other_run: it is of run {command.run!r:.40}, this is {self._run!r:.40}"
        if command.number <= self._newest:
            return f"replay: number {command.number} after {self._newest}"
        self._newest = command.number
        if command.not_after_ns and now_ns > command.not_after_ns:
            late_ms = (now_ns - command.not_after_ns) / 1e6
            return f"old: it arrived {late_ms:.1f} ms after it was of use"
        return None


def _malformed(command: object, n_joints: int) -> str | None:
    if not isinstance(command, AdmittedCommand):
        return f"{type(command).__name__} is not an AdmittedCommand"
    for name in _INTEGERS:
        value = getattr(command, name)
        if type(value) is not int or not -_INT64 <= value < _INT64:
            return f"{name} is not a 64-bit integer"
    if not all(type(x) is str for x in (command.run, command.task, command.mac)):
        return "run, task and mac are texts"
    for name in (*_MATRICES, "gripper_m"):
        value = getattr(command, name)
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            return f"{name} is not an array of float64"
        if not np.isfinite(value).all():
            return f"{name} is not finite"
    return _misshapen(command, n_joints)


def _misshapen(command: AdmittedCommand, n_joints: int) -> str | None:
    samples = len(command.position)
    if not 1 <= samples <= MAX_SAMPLES:
        return f"{samples} samples, expected 1 to {MAX_SAMPLES}"
    for name in _MATRICES:
        shape = getattr(command, name).shape
        if shape != (samples, n_joints):
            return f"{name} has shape {shape}, expected {(samples, n_joints)}"
    if command.gripper_m.shape not in ((0,), (samples,)):
        return f"gripper_m has shape {command.gripper_m.shape}, expected (0,) or ({samples},)"
    if type(command.gripper_force_n) is not float or not 0 <= command.gripper_force_n < 1e4:
        return "gripper_force_n is not a force"
    if command.period_ns <= 0 or command.number < 0 or not 0 <= command.stop_index < samples:
        return "period_ns, number or stop_index is out of range"
    if command.velocity[-1].any() or command.acceleration[-1].any():
        return "it does not end at rest"
    return None
