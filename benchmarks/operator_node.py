"""A person at the Gate, for experiments: at a set time stops the robot or ends whoever holds it.

Inputs:   grant, tick.
Outputs:  stop (Stop), cancel (Cancel).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from interlock.messages import Cancel, Grant, Output, Stop
from interlock.nodes._node import Context, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.messages import Received


class OperatorNode(Node):
    """Acts once."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """What the dataflow may set.

        Attributes:
            at_s: When, in s after the start.
            action: ``stop`` latches; ``cancel`` ends the task that holds the robot.
        """

        at_s: float = 1.0
        action: Literal["stop", "cancel"] = "stop"

    inputs: ClassVar = {"grant": Grant}
    outputs: ClassVar = {"stop": Stop, "cancel": Cancel}

    def __init__(self, settings: Settings, context: Context) -> None:
        super().__init__(settings, context)
        self._token = ""
        self._acted = False
        self._begin_ns: int | None = None

    def on_grant(self, received: Received[Grant], now_ns: int) -> Iterable[Output]:
        """Remember who may move the robot."""
        if received.message.state == "granted":
            self._token = received.message.task
        return ()

    def on_tick(self, now_ns: int) -> Iterable[Output]:
        """Act when it is time."""
        self._begin_ns = now_ns if self._begin_ns is None else self._begin_ns
        if self._acted or now_ns - self._begin_ns < self.settings.at_s * 1e9:
            return
        self._acted = True
        if self.settings.action == "stop":
            yield Output(output="stop", message=Stop(by="an operator", reason="drill"))
        elif self._token:
            cancel = Cancel(task=self._token, reason="ended by the operator")
            yield Output(output="cancel", message=cancel)


NODE = OperatorNode
