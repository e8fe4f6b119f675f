"""Where a call goes, how much it may answer, and what its answer says about usage."""

from __future__ import annotations

import contextlib
import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from interlock.trials.spend import OUTPUT_TOKENS, read_usage

CALL_S = 600.0


def connect(url: str) -> http.client.HTTPConnection:
    """Return a connection to a provider, not yet opened."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.netloc, timeout=CALL_S)
    return http.client.HTTPConnection(parts.netloc, timeout=CALL_S)


def most_output(body: dict[str, Any]) -> int:
    """Return the most tokens a request lets the model answer."""
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    inner = body.get("generationConfig", {}).get("maxOutputTokens")
    given = [body[name] for name in names if isinstance(body.get(name), int)]
    return max([*given, inner or 0]) or OUTPUT_TOKENS


def usage_in(data: bytes) -> tuple[int, int] | None:
    """Return the largest usage reported in a JSON answer or in the events of a stream."""
    found: list[tuple[int, int]] = []
    for line in [data, *data.splitlines()]:
        with contextlib.suppress(ValueError):
            if usage := read_usage(json.loads(line.removeprefix(b"data:"))):
                found.append(usage)
    if not found:
        return None
    return max(u[0] for u in found), max(u[1] for u in found)
