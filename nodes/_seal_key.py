"""The key that Gate and driver share in one run."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from interlock.gate.keyfile import run_key
from interlock.gate.seal import KEY_BYTES

if TYPE_CHECKING:
    from interlock.nodes._node import Context


def seal_key(context: Context) -> bytes:
    """Return the key of this run.

    Under dora it is random and lies in a file that only Gate and driver can read. In lockstep,
    where everything is one process and runs must be bit-identical, it follows from run id and seed.
    """
    if not context.lockstep:
        return run_key(context.run_id)
    text = f"{context.run_id} {context.seed}".encode()
    return hashlib.blake2b(text, digest_size=KEY_BYTES, person=b"lockstep").digest()
