"""When a run is over for the Gate: nobody is left to command, and the arm is at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.nodes._node import Context

#: Longest wait for the arm to be measured at rest, in ns.
REST_WAIT_NS = 3_000_000_000


def sources(context: Context) -> dict[str, str]:
    """Return input id -> node that feeds it, as the dataflow wires the node of a context."""
    nodes = context.dataflow.get("nodes") or ()
    own: dict[str, Any] = next((n for n in nodes if n.get("id") == context.node_id), {})
    specs = (own.get("inputs") or {}).items()
    texts = {name: str(s["source"] if isinstance(s, dict) else s) for name, s in specs}
    return {name: text.rpartition("/")[0] for name, text in texts.items()}


class Commanders:
    """Counts the command inputs of the Gate that are still open.

    Args:
        inputs: Input ids of the Gate in the dataflow.
    """

    def __init__(self, inputs: Iterable[str]) -> None:
        self._open = {i for i in inputs if i == "command" or i.startswith("command_")}
        self._last = ""
        self._died = ""
        self._closed_ns = 0

    def closed(self, input_id: str, source: str, reason: str, now_ns: int) -> None:
        """Take note that the node behind an input has ended (``reason``) or died."""
        if input_id not in self._open:
            return
        self._open.discard(input_id)
        self._last, self._closed_ns = source, now_ns
        if reason != "ended":
            self._died = self._died or f"node {source} {reason}"

    def end(self, *, at_rest: bool, now_ns: int) -> tuple[str, str]:
        """Return why the Gate has finished and why it failed; both empty while it goes on."""
        waited = now_ns - self._closed_ns >= REST_WAIT_NS
        if self._open or not self._last or not (at_rest or waited):
            return "", ""
        if self._died:
            return "", f"nobody is left to command: {self._died}"
        return f"node {self._last} has ended and nobody else commands", ""
