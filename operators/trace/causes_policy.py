"""A cause that lies in what a served policy answers: not finite, all zero, saturated, constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.messages import Event
from interlock.operators.trace.causes_control import refusal
from interlock.operators.trace.view import Finding, details

if TYPE_CHECKING:
    from interlock.messages import Received
    from interlock.operators.trace.reader import Trace
    from interlock.operators.trace.view import View


def poor_answers(view: View) -> Finding | None:
    """The policy answered in time, and with nothing that could have solved the task."""
    found = [e for e in view.within(Event) if is_remark(e)]
    if not found:
        return None
    event, refused = found[-1], refusal(view)
    text = f"{_capital(event.message.text)}. {values(event)}"
    if refused is not None:
        text = f"{text} {refused.text}"
    return Finding(
        cause="policy_output", text=text, rests_on=event if refused is None else refused.rests_on
    )


def remarks(trace: Trace) -> list[str]:
    """Return what there is to say about policies of a run that did not fail."""
    return [f"{_capital(e.message.text)}. {values(e)}" for e in trace.of(Event) if is_remark(e)]


def is_remark(event: Received[Any]) -> bool:
    """Return True for a policy node's warning about its own policy."""
    return event.message.kind == "warning" and bool(details(event.message.data).get("conduct"))


def values(event: Received[Any]) -> str:
    """Say what was last requested, sent and measured."""
    data = details(event.message.data)
    parts = [
        f"{name} {part['last']}"
        for name in ("requested", "sent", "measured")
        if isinstance(part := data.get(name), dict) and part.get("last")
    ]
    return f"Last values: {', '.join(parts)}." if parts else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
