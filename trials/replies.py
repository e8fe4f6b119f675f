"""Replies that are no results: refusals with codes and a way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.trials.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from interlock.messages.errors import InterlockError


def refusal(error: InterlockError) -> dict[str, Any]:
    """Return the reply that an error becomes."""
    reply: dict[str, Any] = {"ok": False, "error": str(error)}
    if isinstance(error, RefusedError):
        reply["refused"] = {"codes": list(error.codes), "way_out": error.way_out}
    reply["exit"] = 2 if isinstance(error, UsageError) else 1
    return reply


def busy(limit: int) -> RefusedError:
    """Return the refusal of a request that too many others precede."""
    return RefusedError(
        f"{limit} requests of this kind are waiting already",
        way_out="Wait for their answers before you send more",
        codes=("busy",),
    )


def closed() -> RefusedError:
    """Return the refusal of a request to a closed episode."""
    return RefusedError(
        "the episode is closed", way_out="End your program", codes=("episode_closed",)
    )


def without_pictures(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply for the log, with the size of each picture in place of its data."""
    images = reply.get("result", {}).get("images")
    if not images:
        return reply
    short = [{**i, "png_base64": f"<{len(i['png_base64'])} characters>"} for i in images]
    return {**reply, "result": {**reply["result"], "images": short}}
