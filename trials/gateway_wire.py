"""Where a call goes, how much it may answer, and what its answer says about usage."""

from __future__ import annotations

import contextlib
import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from interlock.trials.spend import OUTPUT_TOKENS, read_usage

CALL_S = 600.0


LIMITS = {
    "/v1/messages": "max_tokens",
    "/v1/chat/completions": "max_completion_tokens",
    "/v1/responses": "max_output_tokens",
}


def shape(path: str, body: dict[str, Any], *, model: str) -> dict[str, Any]:
    """Return the request with our model and one answer of bounded length."""
    if path.startswith("/v1beta/"):
        settings = body.get("generationConfig")
        settings = settings if isinstance(settings, dict) else {}
        settings.pop("candidateCount", None)
        if not _is_limit(settings.get("maxOutputTokens")):
            settings["maxOutputTokens"] = OUTPUT_TOKENS
        return {**body, "generationConfig": settings}
    body = {key: value for key, value in body.items() if key not in ("n", "best_of")}
    body["model"] = model
    given = [name for name in LIMITS.values() if name in body]
    for name in given:
        if not _is_limit(body[name]):
            body[name] = OUTPUT_TOKENS
    if not given and path in LIMITS:
        body[LIMITS[path]] = OUTPUT_TOKENS
    if path == "/v1/chat/completions" and body.get("stream"):
        body["stream_options"] = {"include_usage": True}
    return body


def connect(url: str) -> http.client.HTTPConnection:
    """Return a connection to a provider, not yet opened."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.netloc, timeout=CALL_S)
    return http.client.HTTPConnection(parts.netloc, timeout=CALL_S)


def most_output(body: dict[str, Any]) -> int:
    """Return the most tokens a request lets the model answer."""
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    inner = (body.get("generationConfig") or {}).get("maxOutputTokens")
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


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
