"""Read what agents print: lines of JSON, each understood or skipped, never trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

TEXT_LIMIT = 20_000


def json_lines(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among the lines; anything else is skipped."""
    for line in text.splitlines():
        if not line.lstrip().startswith("{"):
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield data


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or parts with text; bounded."""
    if isinstance(content, str):
        return content[:TEXT_LIMIT]
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content if part)[:TEXT_LIMIT]
    if isinstance(content, Mapping):
        return text_of(content.get("text") or content.get("content") or "")
    return ""


def mapping(value: Any) -> dict[str, Any]:
    """Return a mapping as it is, JSON text of one as its content, anything else as ``value``."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        try:
            data = json.loads(value)
        except ValueError:
            return {"value": value[:TEXT_LIMIT]}
        return data if isinstance(data, dict) else {"value": data}
    return {}


def whole(value: Any) -> int | None:
    """Return a count, or None if it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
