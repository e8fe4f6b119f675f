"""Sign a result with a key that no agent sees, and verify a folder later, on any machine.

The signed text is the result without its ``signature`` as JSON with sorted keys. The result holds
the SHA-256 of every other file of the folder, so the signature covers them all.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from interlock.trials.errors import VerdictError

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_FILE = "verdict_ed25519.key"


def state_folder() -> Path:
    """Return where this user's key lies: INTERLOCK_STATE, else ~/.local/state/interlock."""
    if folder := os.environ.get("INTERLOCK_STATE"):
        return Path(folder)
    return Path.home() / ".local" / "state" / "interlock"


def signing_key(folder: Path | None = None) -> Ed25519PrivateKey:
    """Return this user's key; make one, readable by the user alone, when there is none."""
    folder = folder or state_folder()
    path = folder / KEY_FILE
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = Ed25519PrivateKey.generate().private_bytes_raw()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return Ed25519PrivateKey.from_private_bytes(path.read_bytes())
    with os.fdopen(descriptor, "wb") as file:
        file.write(fresh)
    return Ed25519PrivateKey.from_private_bytes(fresh)


def sign(result: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, Any]:
    """Return the result with its signature and the public key."""
    unsigned = {name: value for name, value in result.items() if name != "signature"}
    signature = {
        "algorithm": "Ed25519",
        "public_key": key.public_key().public_bytes_raw().hex(),
        "value": key.sign(_signed_text(unsigned)).hex(),
    }
    return {**unsigned, "signature": signature}


def verify_folder(folder: Path) -> str:
    """Check signature and files of a trial folder; return the signer's public key, in hex.

    Raises:
        VerdictError: If the result or a file is not what was signed.
    """
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        signature = result.pop("signature")
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature["public_key"]))
        public.verify(bytes.fromhex(signature["value"]), _signed_text(result))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise VerdictError(f"{folder} has no readable signed result: {error!r}") from error
    except InvalidSignature as error:
        raise VerdictError(f"{folder}/result.json is not what was signed") from error
    found = file_digests(folder)
    if found != result["files"]:
        changed = sorted(set(found.items()) ^ set(result["files"].items()))
        names = sorted({name for name, _ in changed})
        raise VerdictError(f"{folder}: changed after it was signed: {', '.join(names)}")
    return str(signature["public_key"])


def file_digests(folder: Path) -> dict[str, str]:
    """Return relative path -> SHA-256 of every file but ``result.json``."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {str(path.relative_to(folder)): path for path in files}
    names.pop("result.json", None)
    return {name: digest(path.read_bytes()) for name, path in names.items()}


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def _signed_text(result: Mapping[str, Any]) -> bytes:
    return json.dumps(result, sort_keys=True, separators=(",", ":")).encode()
