"""The key of a run: a file that only Gate and driver can read.

Whichever of the two comes first creates it. Policies run in a sandbox that hides the folder, or
under another user (``docs/security.md``); the key itself is never in an environment variable,
which every process of the same user could read.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from interlock.gate.errors import KeyFileError
from interlock.gate.seal import KEY_BYTES

KEY_FILE_VARIABLE = "INTERLOCK_KEY_FILE"


def key_folder() -> Path:
    """Return the folder of keys and sockets; a sandbox hides it as a whole."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        return Path(runtime) / "interlock"
    return Path("/tmp") / f"interlock-{os.getuid()}"


def key_path(run_id: str) -> Path:
    """Return where the key of a run is, or is to be created."""
    override = os.environ.get(KEY_FILE_VARIABLE)
    if override:
        return Path(override)
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", run_id) or run_id.startswith("."):
        raise KeyFileError(f"run id {run_id!r:.40} can't name a file; use letters, digits, . _ -")
    return key_folder() / f"{run_id}.key"


def run_key(run_id: str) -> bytes:
    """Return the key of a run, creating it if this is the first to ask.

    Raises:
        KeyFileError: If the file or its folder can be read or written by anybody else, or the
            file does not hold a key.
    """
    path = key_path(run_id)
    if not os.environ.get(KEY_FILE_VARIABLE):
        private_folder(path.parent)
    with suppress(FileExistsError):
        _create(path)
    return _read(path)


def forget_key(run_id: str) -> None:
    """Delete the key of a run that is over."""
    key_path(run_id).unlink(missing_ok=True)


def private_folder(folder: Path) -> None:
    """Create a folder of mode 0700, or check that an existing one is ours alone.

    Raises:
        KeyFileError: If it belongs to another user, is a link, or is open to others.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not ours or found.st_mode & 0o077:
        raise KeyFileError(
            f"{folder}: expected a folder of user {os.getuid()} with mode 0700, got mode "
            f"{stat.S_IMODE(found.st_mode):04o} of user {found.st_uid}. Remove it, or set "
            f"{KEY_FILE_VARIABLE}."
        )


def _create(path: Path) -> None:
    # Written aside and linked, so that the other one never reads half a key.
    aside = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise KeyFileError(f"can't create the key file {path}: {error.strerror}") from error
    try:
        os.write(descriptor, secrets.token_bytes(KEY_BYTES))
        os.close(descriptor)
        os.link(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _read(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise KeyFileError(f"can't read the key file {path}: {error.strerror}") from error
    try:
        found = os.fstat(descriptor)
        key = os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    private = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()
    if not private or found.st_mode & 0o077:
        raise KeyFileError(
            f"{path}: expected a file of user {os.getuid()} with mode 0600, got mode "
            f"{stat.S_IMODE(found.st_mode):04o} of user {found.st_uid}. Remove it."
        )
    if len(key) != KEY_BYTES:
        raise KeyFileError(
            f"{path}: expected a key of {KEY_BYTES} bytes, got {len(key)}. Remove it."
        )
    return key
