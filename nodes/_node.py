"""What a node is: a class with `on_<input>(message, now_ns) -> outputs`, no clock, no dora.

Two drivers run it: `_dora.py` (real processes, real time) and `_lockstep.py` (one process,
simulated time). A node file ends with ``NODE = ItsClass`` and ``main()``, which is ``run(NODE)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Output


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a node knows about the run it is in.

    Attributes:
        node_id: Its id in the dataflow; the ``source`` of its messages.
        run_id: Id of this run of the dataflow; seals and traces are bound to it.
        run_dir: Folder of this run: trace, logs, reports.
        seed: Seed of the run; derive generators from it and the node id (``rng_seed``).
        lockstep: True in simulated time.
        dataflow: The parsed dataflow, modules expanded.
        dataflow_dir: Folder of the YAML file; relative paths in settings start here.
    """

    node_id: str
    run_id: str
    run_dir: Path
    seed: int = 0
    lockstep: bool = False
    dataflow: dict[str, Any] = field(default_factory=dict)
    dataflow_dir: Path = field(default_factory=Path)


class Node:
    """Base of every node: declares its ports and ignores what it has no handler for.

    A handler ``on_<input>(received, now_ns)`` returns the outputs to send; ``received`` is a
    ``Received`` with the decoded message. Timer inputs are named ``tick`` or ``tick_<name>`` and
    their handlers get only ``now_ns``.

    Attributes:
        Settings: Frozen dataclass of what ``env:`` in the dataflow may set, in lower case there.
        inputs: Input id -> message type that it accepts.
        outputs: Output id -> message type that it sends.
        slow: True when a step may take long: it then reads the newest message of each input from
            a table that a pump thread fills, instead of a queue.
        nice: Scheduling priority that it asks the host for, -20 to 19, smaller is sooner; what the
            host does not permit is done without.
        finished: Set to a sentence when the node has nothing left to do; the run then ends well.
        failed: Set to a sentence when the node can't go on; the run then ends with exit code 1.
    """

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """No settings."""

    inputs: ClassVar[dict[str, type]] = {}
    outputs: ClassVar[dict[str, type]] = {}
    slow: ClassVar[bool] = False
    nice: ClassVar[int] = 0

    def __init__(self, settings: Any, context: Context) -> None:
        self.settings = settings
        self.context = context
        self.finished = ""
        self.failed = ""

    def on_start(self, now_ns: int) -> Iterable[Output]:
        """Called once before the first input."""
        return ()

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Called at every timer tick."""
        return ()

    def on_closed(self, input_id: str, reason: str, now_ns: int) -> Iterable[Output]:
        """Called when the node behind an input has ended or died (``reason`` says which)."""
        return ()

    def on_stop(self, now_ns: int) -> Iterable[Output]:
        """Called once when the run ends; outputs may no longer arrive anywhere."""
        return ()
