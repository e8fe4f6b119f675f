"""One request to an episode, on its way to the thread that serves it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlock.trials.verbs import Verb

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.trials.backend import Motion, World

#: What a policy does is logged as one request of this name; no agent can type it.
POLICY = Verb(name="policy", help="", moves=True)


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """One request on its way: what is asked, and the reply once it is there."""

    verb: Verb
    values: dict[str, Any]
    arrived_s: float
    started_s: float = 0.0
    steps_before: int = 0
    make: Callable[[World], Motion] | None = None
    reply: dict[str, Any] = field(default_factory=dict)
    answered: threading.Event = field(default_factory=threading.Event)
