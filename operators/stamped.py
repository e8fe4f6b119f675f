"""Values of the World: each with when it was observed and by whom."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.messages import MessageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlock.messages import Basis, WorldValue

#: Largest value that a person or a model may put in, as JSON text.
MAX_VALUE_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectPose:
    """Where one object is believed to be.

    Attributes:
        name: Its name, e.g. ``"cup_red"``.
        world_from_object: Pose, shape (7,): m, then quaternion w, x, y, z.
        confidence: 0 to 1.
    """

    name: str
    world_from_object: NDArray[np.float64]
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stamped:
    """A value with its origin.

    Attributes:
        key: Its name in the World.
        value: A RobotState, an ObjectPose, JSON data of a WorldValue, or another message.
        observed_ns: When the world was like this, in ns on the dataflow's clock.
        received_ns: When it was received, in ns.
        source: Node or person it comes from.
        basis: The message that carried it; None for a value set in this process.
    """

    key: str
    value: Any
    observed_ns: int
    received_ns: int
    source: str
    basis: Basis | None = None

    def age_ns(self, now_ns: int) -> int:
        """Return how old the observation is, in ns."""
        return now_ns - self.observed_ns


def parse_value(message: WorldValue, source: str) -> Any:
    """Return the data of a WorldValue.

    Raises:
        MessageError: If it is no JSON or too large.
    """
    if len(message.value) > MAX_VALUE_BYTES:
        raise MessageError(
            f"world value {message.key!r:.60} from {source!r}: {len(message.value)} bytes, "
            f"at most {MAX_VALUE_BYTES}"
        )
    try:
        return json.loads(message.value)
    except ValueError as error:
        raise MessageError(f"world value {message.key!r:.60} from {source!r}: {error}") from error
